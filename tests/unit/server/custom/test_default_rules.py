# ruff: noqa: E501 - what upstream says stands on one line each
from __future__ import annotations

from typing import Any

import pytest

from dray.server.custom.default_rules import default_errors
from dray.server.custom.structural import parse


def told(schema: dict[str, Any]) -> list[str]:
    whole = {"type": "object", "properties": {"a": schema}}
    return [str(error) for error in default_errors(parse(whole), "s")]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"type": "integer", "default": "x"},
            's.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
        ),
        (
            {"type": "object", "properties": {"b": {"type": "string"}}, "default": {"b": 1}},
            's.properties[a].default.b: Invalid value: "integer": b in body must be of type string: "integer"',
        ),
        (
            {"type": "object", "default": {"b": 1}},
            's.properties[a].default: Invalid value: {"b":1}: must not have unknown fields',
        ),
        (
            {"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self > 2"}]},
            "s.properties[a].default: Invalid value: 1: failed rule: self > 2",
        ),
        (
            {"type": "array", "items": {"type": "string", "default": 1}},
            's.properties[a].items.default: Invalid value: "integer":  in body must be of type string: "integer"',
        ),
    ],
)
def test_a_default_is_what_its_schema_would_accept(schema: dict[str, Any], expected: str) -> None:
    assert told(schema) == [expected]


def test_good_defaults_are_fine() -> None:
    assert (
        told(
            {
                "type": "object",
                "default": {},
                "properties": {"b": {"type": "integer", "default": 5}},
            }
        )
        == []
    )


def test_embedded_defaults_are_objects() -> None:
    schema = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    assert told({**schema, "default": {"kind": "Pod"}}) == [
        "s.properties[a].default.apiVersion: Required value"
    ]
    assert len(told({**schema, "default": {"metadata": {"labels": 1}}})) == 1
