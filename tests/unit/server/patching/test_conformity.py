from __future__ import annotations

from typing import Any

import pytest

from dray.server.patching.conformity import misfits
from tests.unit.server.patching.schemas import THING


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"foo": 1}, ".foo: field not declared in schema"),
        ({"inner": {"z": 1}}, ".inner.z: field not declared in schema"),
        ({"part": {"z": 1}}, ".part.z: field not declared in schema"),
        ({"number": "1"}, ".number: expected numeric (int or float), got string"),
        ({"text": 7}, ".text: expected string, got &value.valueUnstructured{Value:7}"),
        ({"flag": "yes"}, ".flag: expected boolean, got &{yes}"),
        ({"data": ["a"]}, ".data: expected map, got &{[a]}"),
        ({"tags": "a"}, ".tags: expected list, got &{a}"),
        ({"words": [1]}, ".words[0]: expected string, got &value.valueUnstructured{Value:1}"),
        ({"tags": ["a", "a"]}, '.tags: duplicate entries for key [="a"]'),
        (
            {"items": [{"value": 1}]},
            (
                ".items: element 0: associative list with keys has an element that omits all key "
                'fields ["name"] (and doesn\'t have default values for any key fields)'
            ),
        ),
        ({"items": [{"name": "a", "z": 1}]}, '.items[name="a"].z: field not declared in schema'),
    ],
)
def test_a_misfit_is_named_with_its_place(document: dict[str, Any], message: str) -> None:
    assert misfits(document, THING) == message


def test_several_are_listed() -> None:
    assert misfits({"number": "1", "flag": 1}, THING) == (
        "errors:\n  .flag: expected boolean, got &{1}\n"
        "  .number: expected numeric (int or float), got string"
    )


def test_null_fits_everywhere_and_anything_fits_anything() -> None:
    document = {"text": None, "items": None, "raw": {"a": [1, {}]}, "open": {"x": {"y": [1]}}}
    assert misfits(document, THING) == ""


def test_stored_lists_may_name_an_item_twice() -> None:
    assert misfits({"tags": ["a", "a"]}, THING, duplicates=True) == ""
