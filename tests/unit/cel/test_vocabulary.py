from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.cel import DeviceView, Reference
from dray.cel._vocabulary import Vocabulary, nearest, nearest_value

GPU = DeviceView.of(
    "gpu.example.com",
    Device(
        attributes={
            "model": DeviceAttribute(string_value="A"),
            "x.io/numa": DeviceAttribute(int_value=0),
        },
        capacity={"memory": DeviceCapacity(value=Quantity.parse("1Gi"))},
    ),
)
WORDS = Vocabulary([GPU, GPU, DeviceView(None, "broken")])


@pytest.mark.parametrize(
    ("name", "near"),
    [("modle", "model"), ("Model", "model"), ("model", None), ("zzz", None), ("m" * 10_000, None)],
)
def test_the_nearest_name_is_the_one_probably_meant(name: str, near: str | None) -> None:
    assert nearest(name, ["model", "memory"]) == near


def test_names_are_known_by_place() -> None:
    assert WORDS.device_count == 2
    assert WORDS.drivers == {"gpu.example.com": 2}
    assert WORDS.domains("attributes") == ["gpu.example.com", "x.io"]
    assert WORDS.names("capacity", "gpu.example.com") == ["memory"]
    assert WORDS.named("numa") == [Reference("attributes", "x.io", "numa")]
    assert Reference("attributes", "gpu.example.com", "model") in WORDS
    assert WORDS.example(Reference("attributes", "gpu.example.com", "model")) == "A"
    assert WORDS.example(Reference("attributes", "gpu.example.com", "nope")) is None


@pytest.mark.parametrize(
    ("field", "domain", "name", "meant"),
    [
        ("attributes", "gpu.example.com", "modle", 'device.attributes["gpu.example.com"].model'),
        ("attributes", "other.com", "model", 'device.attributes["gpu.example.com"].model'),
        ("attributes", "gpu.example.com", "memory", 'device.capacity["gpu.example.com"].memory'),
        ("attributes", "gpu.exampel.com", "modle", 'device.attributes["gpu.example.com"].model'),
        ("attributes", "gpu.example.com", "zzz", None),
        ("attributes", "gpu.example.com", None, None),
        ("driver", None, None, None),
    ],
)
def test_what_was_meant_is_found_near_what_was_written(
    field: str, domain: str | None, name: str | None, meant: str | None
) -> None:
    found = WORDS.meant(Reference(field, domain, name))
    assert (None if found is None else str(found)) == meant


@pytest.mark.parametrize(
    ("value", "known", "meant"),
    [
        ("h100", ["A100", "H100"], "H100"),
        ("A100", ["H100"], None),
        ("L40", ["L40S"], None),
        ("gpu.exmaple.com", ["nic.example.com", "gpu.example.com"], "gpu.example.com"),
        ("node-12", ["node-21"], None),
    ],
)
def test_a_value_is_meant_only_if_it_is_nearly_the_same(
    value: str, known: list[str], meant: str | None
) -> None:
    assert nearest_value(value, known) == meant
