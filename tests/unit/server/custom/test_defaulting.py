from __future__ import annotations

from typing import Any

import pytest

from dray.server.custom.defaulting import copied, defaulter, drop_nulls
from dray.server.custom.structural import parse


def filled(value: Any, schema: dict[str, Any]) -> Any:
    fill = defaulter(parse(schema))
    if fill is not None:
        fill(value)
    return value


TEXT = {"type": "string", "default": "x"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, {"a": "x"}),
        ({"a": "y"}, {"a": "y"}),
        ({"a": None}, {"a": "x"}),
    ],
    ids=["absent", "there", "null"],
)
def test_a_field_gets_its_default(value: Any, expected: Any) -> None:
    assert filled(value, {"type": "object", "properties": {"a": TEXT}}) == expected


def test_a_nullable_field_stays_null() -> None:
    schema = {"type": "object", "properties": {"a": {**TEXT, "nullable": True}}}
    assert filled({"a": None}, schema) == {"a": None}


def test_defaults_are_given_defaults_themselves() -> None:
    deep = {"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 5}}}
    assert filled({}, {"type": "object", "properties": {"deep": deep}}) == {"deep": {"b": 5}}


def test_absent_objects_without_a_default_stay_absent() -> None:
    deep = {"type": "object", "properties": {"b": {"type": "integer", "default": 5}}}
    assert filled({}, {"type": "object", "properties": {"deep": deep}}) == {}


def test_items_and_values_get_theirs() -> None:
    part = {"type": "object", "properties": {"a": TEXT}}
    schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": part},
            "map": {"type": "object", "additionalProperties": part},
            "texts": {"type": "array", "items": {"type": "string", "default": "d"}},
        },
    }
    value = {"list": [{}], "map": {"k": {}}, "texts": [None, "t"]}
    assert filled(value, schema) == {
        "list": [{"a": "x"}],
        "map": {"k": {"a": "x"}},
        "texts": ["d", "t"],
    }


def test_a_default_is_nobodys_but_its_objects() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object", "default": {"b": [1]}}}}
    fill = defaulter(parse(schema))
    assert fill is not None
    one: dict[str, Any] = {}
    other: dict[str, Any] = {}
    fill(one)
    one["a"]["b"].append(2)
    fill(other)
    assert other == {"a": {"b": [1]}}


def test_a_schema_without_defaults_has_nothing_to_fill_in() -> None:
    assert defaulter(parse({"type": "object", "properties": {"a": {"type": "string"}}})) is None


def test_nulls_that_mean_nothing_are_dropped() -> None:
    schema = parse(
        {
            "type": "object",
            "properties": {
                "plain": {"type": "string"},
                "nullable": {"type": "string", "nullable": True},
                "defaulted": TEXT,
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {}}}},
            },
        }
    )
    value = {
        "plain": None,
        "nullable": None,
        "defaulted": None,
        "unknown": None,
        "list": [{"a": None}],
    }
    drop_nulls(value, schema)
    assert value == {"nullable": None, "defaulted": None, "unknown": None, "list": [{}]}


def test_a_copy_shares_nothing() -> None:
    value: Any = {"a": [{"b": 1}]}
    copy = copied(value)
    copy["a"][0]["b"] = 2
    assert value == {"a": [{"b": 1}]}
