from __future__ import annotations

from typing import Any

import pytest

from dray.server.custom.list_rules import ListRules
from dray.server.custom.structural import parse

SET = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["id"],
    "items": {"type": "object", "properties": {"id": {"type": "string"}, "inner": SET}},
}
PAIRS = {**MAP, "x-kubernetes-list-map-keys": ["id", "port"]}


def told(value: Any, schema: dict[str, Any]) -> list[str]:
    rules = ListRules.of(parse({"type": "object", "properties": {"a": schema}}))
    assert rules is not None
    return [str(error) for error in rules.duplicates({"a": value})]


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        (["x", "y"], SET, []),
        (["x", "x", "x"], SET, ['a[1]: Duplicate value: "x"']),
        ([{"id": "x"}, {"id": "x"}], MAP, ['a[1]: Duplicate value: {"id":"x"}']),
        ([{}, {}], MAP, ["a[1]: Duplicate value: {}"]),
        ([{"id": "x", "port": 1}, {"id": "x", "port": 2}], PAIRS, []),
        ([{"id": "x", "inner": ["q", "q"]}], MAP, ['a[0].inner[1]: Duplicate value: "q"']),
        (["x"], MAP, ['a[0]: Invalid value: "x": must be an object for an array of list-type map']),
    ],
)
def test_nothing_is_in_a_set_or_a_map_twice(value: Any, schema: Any, expected: list[str]) -> None:
    assert told(value, schema) == expected


def test_lists_are_found_inside_values_of_maps() -> None:
    schema = {"type": "object", "additionalProperties": SET}
    assert told({"k": ["x", "x"]}, schema) == ['a[k][1]: Duplicate value: "x"']


def test_a_schema_without_such_lists_need_not_be_asked() -> None:
    assert ListRules.of(parse({"type": "array", "items": {"type": "string"}})) is None
    nested = {"type": "object", "properties": {"a": {"type": "array", "items": SET}}}
    assert ListRules.of(parse(nested)) is not None


def test_one_is_not_true() -> None:
    numbers = {"type": "array", "items": {}, "x-kubernetes-list-type": "set"}
    assert told([1, True, "1", {"a": "b"}, ["a", "b"]], numbers) == []
    assert told([{"a": 1}, {"a": 1}], numbers) == ['a[1]: Duplicate value: {"a":1}']
