from __future__ import annotations

from typing import Any

import pytest

from dray.api.schema import ABSENT
from dray.server.custom.structural import parse
from dray.server.custom.values import Check, predecessors


def errors(value: Any, schema: dict[str, Any], *, old: Any = ABSENT) -> list[str]:
    whole = {"type": "object", "properties": {"a": schema}}
    before = ABSENT if old is ABSENT else {"a": old}
    return [str(error) for error in Check(parse(whole)).errors({"a": value}, old=before)]


@pytest.mark.parametrize(
    ("value", "schema", "told"),
    [
        (
            "x",
            {"type": "integer"},
            'Invalid value: "string": a in body must be of type integer: "string"',
        ),
        (
            True,
            {"type": "string"},
            'Invalid value: "boolean": a in body must be of type string: "boolean"',
        ),
        (
            None,
            {"type": "string"},
            'Invalid value: "null": a in body must be of type string: "null"',
        ),
        (
            True,
            {"x-kubernetes-int-or-string": True},
            'Invalid value: "boolean": a in body must be of type integer,string: "boolean"',
        ),
        (
            0,
            {"type": "integer", "minimum": 1},
            "Invalid value: 0: a in body should be greater than or equal to 1",
        ),
        (
            11,
            {"type": "integer", "maximum": 10},
            "Invalid value: 11: a in body should be less than or equal to 10",
        ),
        (
            1,
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            "Invalid value: 1: a in body should be greater than 1",
        ),
        (
            1.5,
            {"type": "number", "maximum": 1.5, "exclusiveMaximum": True},
            "Invalid value: 1.5: a in body should be less than 1.5",
        ),
        (
            0.3,
            {"type": "number", "multipleOf": 0.5},
            "Invalid value: 0.3: a in body should be a multiple of 0.5",
        ),
        (
            3,
            {"type": "integer", "multipleOf": 2},
            "Invalid value: 3: a in body should be a multiple of 2",
        ),
        (
            "a",
            {"type": "string", "minLength": 2},
            'Invalid value: "a": a in body should be at least 2 chars long',
        ),
        ("abc", {"type": "string", "maxLength": 2}, "Too long: may not be more than 2 bytes"),
        (
            "ABC",
            {"type": "string", "pattern": "^[a-z]+$"},
            "Invalid value: \"ABC\": a in body should match '^[a-z]+$'",
        ),
        (
            "soon",
            {"type": "string", "format": "date-time"},
            'Invalid value: "soon": a in body must be of type date-time: "soon"',
        ),
        (
            5,
            {"type": "string", "format": "date-time"},
            'Invalid value: "int64": a in body must be of type date-time: "int64"',
        ),
        (
            "green",
            {"type": "string", "enum": ["red", "blue"]},
            'Unsupported value: "green": supported values: "red", "blue"',
        ),
        (2, {"type": "integer", "enum": [1]}, 'Unsupported value: 2: supported values: "1"'),
        (
            [1],
            {"type": "array", "items": {"type": "integer"}, "minItems": 2},
            "Invalid value: 1: a in body should have at least 2 items",
        ),
        (
            [1, 2],
            {"type": "array", "items": {"type": "integer"}, "maxItems": 1},
            "Too many: 2: must have at most 1 item",
        ),
        (
            [1, 1],
            {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
            'Invalid value: "": a in body shouldn\'t contain duplicates',
        ),
        (
            {},
            {"type": "object", "minProperties": 1},
            "Invalid value: 0: a in body should have at least 1 properties",
        ),
        (
            {"b": 1, "c": 1},
            {"type": "object", "maxProperties": 1},
            "Too many: 2: must have at most 1 item",
        ),
        (
            {"b": 1},
            {"type": "object", "additionalProperties": False},
            'Invalid value: "b": a.b in body is a forbidden property',
        ),
    ],
)
def test_a_broken_rule_is_told_in_upstreams_words(value: Any, schema: Any, told: str) -> None:
    assert errors(value, schema) == [f"a: {told}"]


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (2, {"type": "number"}),
        (2.0, {"type": "integer"}),
        (None, {"type": "string", "nullable": True}),
        ("80", {"x-kubernetes-int-or-string": True}),
        ("x", {"type": "string", "format": "colour"}),
        ("ü", {"type": "string", "maxLength": 1}),
        (5, {"type": "integer", "format": "int32"}),
        ({"k": 1}, {"type": "object", "additionalProperties": {"type": "integer"}}),
        ("x", {"type": "string", "not": {"enum": ["y"]}}),
        ("x", {"type": "string", "anyOf": [{"enum": ["y"]}, {"maxLength": 1}]}),
    ],
)
def test_what_fits_is_not_mentioned(value: Any, schema: Any) -> None:
    assert errors(value, schema) == []


def test_parts_are_named_by_their_paths() -> None:
    schema = {
        "type": "object",
        "required": ["id"],
        "properties": {"list": {"type": "array", "items": {"type": "object", "required": ["x"]}}},
        "additionalProperties": {"type": "integer"},
    }
    assert sorted(errors({"list": [{}], "k": "v"}, schema)) == [
        "a.id: Required value",
        'a.k: Invalid value: "string": a.k in body must be of type integer: "string"',
        "a.list[0].x: Required value",
    ]


def test_a_number_that_is_none_of_its_type_is_told_twice() -> None:
    assert errors(1.5, {"type": "integer"}) == [
        'a: Invalid value: "number": a in body must be of type integer: "number"',
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in a',
    ]
    assert errors(2**40, {"type": "integer", "format": "int32"}) == [
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a'
    ]


ONE_ONLY = '<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf).'


def test_alternatives_tell_how_they_failed() -> None:
    choice: dict[str, Any] = {"type": "object"}
    required = [{"required": ["one"]}, {"required": ["two"]}]
    assert errors({}, {**choice, "oneOf": required}) == [
        f"{ONE_ONLY} Found none valid",
        "a.one: Required value",
    ]
    assert errors({"one": 1, "two": 2}, {**choice, "oneOf": required}) == [
        f"{ONE_ONLY} Found 2 valid alternatives"
    ]
    assert errors({}, {**choice, "anyOf": required}) == [
        '<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)',
        "a.one: Required value",
    ]
    assert errors({"one": 1}, {**choice, "allOf": required}) == [
        "a.two: Required value",
        '<nil>: Invalid value: "": "a" must validate all the schemas (allOf)',
    ]
    assert errors({"one": 1}, {**choice, "not": required[0]}) == [
        '<nil>: Invalid value: "": "a" must not validate the schema (not)'
    ]


def test_what_did_not_change_is_not_held_against_an_update() -> None:
    schema = {"type": "object", "required": ["b"], "properties": {"c": {"type": "integer"}}}
    assert errors({"c": "x"}, schema, old={"c": "x"}) == []
    assert errors({"c": "x", "d": 1}, schema, old={"c": "x"}) == ["a.b: Required value"]
    assert errors({"c": "y"}, schema, old={"c": "x"}) != []


def test_items_with_keys_are_compared_with_those_of_the_same_key() -> None:
    schema = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        "items": {"type": "object", "properties": {"id": {}, "n": {"type": "integer"}}},
    }
    old = [{"id": "x", "n": "bad"}, {"id": "y", "n": 1}]
    assert errors([{"id": "y", "n": 2}, {"id": "x", "n": "bad"}], schema, old=old) == []
    assert errors([{"id": "z", "n": "bad"}], schema, old=old) != []


def test_items_without_keys_have_no_predecessor() -> None:
    schema = parse({"type": "array", "items": {"type": "string"}})
    assert predecessors(schema, ["a"])("a") is ABSENT


def test_a_status_is_judged_alone_and_told_in_its_place() -> None:
    check = Check(parse({"type": "object", "properties": {"n": {"type": "integer"}}}))
    assert [error.field for error in check.status_errors({"n": "x"}, None)] == ["status.n"]
    assert [error.field for error in check.status_errors("x", None)] == ["status"]
