from __future__ import annotations

import pytest

from dray.cel import Environment, compile_selector
from dray.cel._references import Reference, only_asked_for, references

STORED = Environment(stored=True)


def read_by(text: str) -> list[str]:
    compilation = compile_selector(text, STORED)
    assert compilation.checked is not None, compilation.error
    return sorted(map(str, references(compilation.checked)))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('device.driver == "x"', ["device.driver"]),
        (
            'device.attributes["d"].model == "a" && device.capacity["d"].mem.isInteger()',
            ['device.attributes["d"].model', 'device.capacity["d"].mem'],
        ),
        (
            'cel.bind(d, device.attributes["d"], d.a == 1 && d.?b.orValue(2) == 2)',
            ['device.attributes["d"].a', 'device.attributes["d"].b'],
        ),
        ('cel.bind(d, device, d.driver == "x")', ["device.driver"]),
        ("has(device.attributes.d.x)", ['device.attributes["d"].x']),
        ('device.attributes["d"].list.exists(x, x == 1)', ['device.attributes["d"].list']),
        ('device.attributes["d"].?x.?y.orValue(1) == 1', ['device.attributes["d"].x']),
        ('"x" in device.attributes["d"]', ['device.attributes["d"].x']),
        ('device.attributes["d"]["in"] == 1', ['device.attributes["d"]["in"]']),
        ('device.attributes["d"]["a-b"] == 1', ['device.attributes["d"]["a-b"]']),
        ("true", []),
    ],
)
def test_a_path_is_read_where_it_ends(text: str, places: list[str]) -> None:
    assert read_by(text) == places


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('"d" in device.attributes', ['device.attributes["d"]']),
        ('device.attributes["d"].all(k, k != "a")', ['device.attributes["d"]']),
        ('device.attributes.all(d, d != "a")', ["device.attributes"]),
        ("device.attributes[device.driver].x == 1", ["device.attributes", "device.driver"]),
        (
            'device.attributes["d"].x == 1 && size(device.attributes["d"]) == 1',
            ['device.attributes["d"]'],
        ),
        (
            'device.attributes["d"].x == 1 && device == device',
            [
                "device.allowMultipleAllocations",
                "device.attributes",
                "device.capacity",
                "device.driver",
            ],
        ),
    ],
)
def test_what_is_computed_reads_the_whole_part(text: str, places: list[str]) -> None:
    assert read_by(text) == places


def test_a_variable_that_hides_the_device_is_not_the_device() -> None:
    assert read_by("[{'driver': 1}].all(device, device.driver == 1)") == []


def test_a_whole_covers_its_parts() -> None:
    assert Reference("attributes", "d").covers(Reference("attributes", "d", "x"))
    assert not Reference("attributes", "d").covers(Reference("capacity", "d", "x"))
    assert not Reference("attributes", "d", "x").covers(Reference("attributes", "d"))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('!("x" in device.attributes["d"])', ['device.attributes["d"].x']),
        ("has(device.attributes.d.x)", ['device.attributes["d"].x']),
        ('has(device.attributes.d.x) && device.attributes["d"].x == 1', []),
        ('device.attributes["d"].?x.orValue(1) == 1', []),
        ('"a" in device.attributes["d"].x', []),
    ],
)
def test_presence_and_value_are_told_apart(text: str, places: list[str]) -> None:
    compilation = compile_selector(text, STORED)
    assert compilation.checked is not None, compilation.error
    assert sorted(map(str, only_asked_for(compilation.checked))) == places
