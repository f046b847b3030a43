# ruff: noqa: E501 - what upstream says stands on one line each
from __future__ import annotations

from typing import Any

import pytest

from dray.server.custom.structure_rules import structure_errors


def told(schema: dict[str, Any]) -> list[str]:
    return [str(error) for error in structure_errors(schema, "s")]


def inside(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "s.type: Required value: must not be empty at the root"),
        (
            {"type": "array", "items": {"type": "string"}},
            's.type: Invalid value: "array": must be object at the root',
        ),
        (
            inside({}),
            "s.properties[a].type: Required value: must not be empty for specified object fields",
        ),
        (
            inside({"type": "array", "items": {}}),
            "s.properties[a].items.type: Required value: must not be empty for specified array items",
        ),
        (inside({"type": "array"}), "s.properties[a].items: Required value: must be specified"),
        (
            {"type": "object", "additionalProperties": True},
            "s.additionalProperties: Forbidden: must not be used at the root",
        ),
        (
            inside({"type": "string", "pattern": "("}),
            's.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`',
        ),
        (
            inside(
                {
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            ),
            "s.properties[a].type: Required value: must be object if x-kubernetes-embedded-resource is true",
        ),
        (
            inside({"type": "object", "x-kubernetes-embedded-resource": True}),
            "s.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ),
        (
            inside(
                {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}
            ),
            "s.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ),
        (
            inside({"type": "string", "anyOf": [{"type": "string"}]}),
            "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            inside({"type": "string", "not": {"default": "x"}}),
            "s.properties[a].not.default: Forbidden: must be undefined to be structural",
        ),
        (
            {"type": "object", "allOf": [{"properties": {"b": {"maxLength": 1}}}]},
            "s.properties[b]: Required value: because it is defined in s.allOf[0].properties[b]",
        ),
        (
            {"type": "object", "properties": {"kind": {"type": "integer"}}},
            's.properties[kind].type: Invalid value: "integer": must be string',
        ),
        (
            {
                "type": "object",
                "properties": {
                    "metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}
                },
            },
            "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
        ),
    ],
)
def test_a_schema_that_is_not_structural_is_told_why(schema: dict[str, Any], expected: str) -> None:
    assert told(schema) == [expected]


@pytest.mark.parametrize(
    "schema",
    [
        inside({"type": "string"}),
        inside(
            {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
        ),
        inside(
            {
                "x-kubernetes-int-or-string": True,
                "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"maximum": 3}],
            }
        ),
        inside({"x-kubernetes-preserve-unknown-fields": True}),
        {
            "type": "object",
            "properties": {
                "metadata": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "maxLength": 3}},
                }
            },
        },
        {
            "type": "object",
            "properties": {"b": {"type": "string"}},
            "oneOf": [{"required": ["b"]}, {"properties": {"b": {"maxLength": 1}}}],
        },
    ],
)
def test_a_structural_schema_is_fine(schema: dict[str, Any]) -> None:
    assert told(schema) == []


def test_items_that_are_judged_must_be_there() -> None:
    schema = inside({"type": "object", "anyOf": [{"items": {"maxLength": 1}}]})
    assert told(schema) == []  # only the root's alternatives are looked at for this
    root = {"type": "object", "anyOf": [{"items": {"maxLength": 1}}]}
    assert told(root) == ["s.items: Required value: because it is defined in s.anyOf[0].items"]


def test_alternatives_do_not_speak_of_metadata() -> None:
    schema = {
        "type": "object",
        "properties": {"metadata": {"type": "object"}},
        "not": {"properties": {"metadata": {"required": ["x"]}}},
    }
    assert told(schema) == [
        "s.not.properties[metadata]: Forbidden: must not be specified in a nested context"
    ]
