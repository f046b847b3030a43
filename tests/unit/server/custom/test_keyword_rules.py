# ruff: noqa: E501 - what upstream says stands on one line each
from __future__ import annotations

from typing import Any

import pytest

from dray.server.custom.keyword_rules import keyword_errors


def told(schema: dict[str, Any]) -> list[str]:
    return [str(error) for error in keyword_errors(schema, "s")]


def inside(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


KEYED = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]}
ITEM = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"type": "colour"},
            'type: Unsupported value: "colour": supported values: "array", "boolean", "integer", "number", "object", "string"',
        ),
        ({"$ref": "x"}, "$ref: Forbidden: $ref is not supported"),
        ({"dependencies": {"a": ["b"]}}, "dependencies: Forbidden: dependencies is not supported"),
        ({"items": [{}]}, "items: Forbidden: items must be a schema object and not an array"),
        (
            {"uniqueItems": True},
            "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            {"properties": {"b": {}}, "additionalProperties": {}},
            "additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            {"x-kubernetes-preserve-unknown-fields": False},
            "x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            {"x-kubernetes-map-type": "atomic"},
            "type: Required value: must be object if x-kubernetes-map-type is specified",
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "odd"},
            'x-kubernetes-map-type: Unsupported value: "odd": supported values: "atomic", "granular"',
        ),
        (
            {"type": "string", "x-kubernetes-list-type": "set"},
            'type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
        ),
        (
            {"type": "array", "x-kubernetes-list-type": "odd"},
            'x-kubernetes-list-type: Unsupported value: "odd": supported values: "atomic", "set", "map"',
        ),
        (
            {"x-kubernetes-list-map-keys": ["a"]},
            "x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
        ),
        (
            {"type": "array", "x-kubernetes-list-type": "map", "items": ITEM},
            "x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (KEYED, "items: Required value: must have a schema if x-kubernetes-list-type is map"),
        (
            {**KEYED, "items": {"type": "string"}},
            'items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
        ),
        (
            {**KEYED, "items": {"type": "object"}},
            'x-kubernetes-list-map-keys: Invalid value: ["id"]: entries must all be names of item properties',
        ),
        (
            {**KEYED, "items": {**ITEM, "required": []}},
            "items.properties[id].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
        (
            {**KEYED, "items": {**ITEM, "nullable": True}},
            "items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map",
        ),
        (
            {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
            "items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
        (
            {"x-kubernetes-validations": [{"rule": " "}]},
            "x-kubernetes-validations[0].rule: Required value: rule is not specified",
        ),
        (
            {"x-kubernetes-validations": [{"rule": "true", "message": " "}]},
            'x-kubernetes-validations[0].message: Invalid value: " ": must be non-empty if specified',
        ),
        (
            {"x-kubernetes-validations": [{"rule": "true", "message": "a\nb"}]},
            'x-kubernetes-validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
        ),
        (
            {"x-kubernetes-validations": [{"rule": "true\n&& true"}]},
            "x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks",
        ),
        (
            {"x-kubernetes-validations": [{"rule": "true", "messageExpression": " "}]},
            "x-kubernetes-validations[0].messageExpression: Required value: messageExpression must be non-empty if specified",
        ),
        (
            {"x-kubernetes-validations": [{"rule": "true", "fieldPath": ".b"}]},
            'x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path',
        ),
    ],
)
def test_keywords_have_their_rules(schema: dict[str, Any], expected: str) -> None:
    assert told(inside(schema)) == [f"s.properties[a].{expected}"]


def test_reasons_are_known() -> None:
    (said,) = told(inside({"x-kubernetes-validations": [{"rule": "true", "reason": "Mood"}]}))
    assert said.endswith(
        'supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", '
        '"FieldValueRequired"'
    )


def test_null_is_no_type() -> None:
    assert len(told(inside({"type": "null"}))) == 2


def test_what_every_object_has_gets_no_default() -> None:
    schema = {"type": "object", "properties": {"kind": {"type": "string", "default": "x"}}}
    assert told(schema) == [
        "s.properties[kind].default: Forbidden: must not be set in top-level kind"
    ]


def test_alternatives_are_looked_into() -> None:
    schema = inside({"anyOf": [{"uniqueItems": True}], "not": {"$ref": "x"}})
    assert [each.partition(":")[0] for each in told(schema)] == [
        "s.properties[a].not.$ref",
        "s.properties[a].anyOf[0].uniqueItems",
    ]


def test_a_good_schema_is_fine() -> None:
    assert told(inside({**KEYED, "items": ITEM})) == []
