from __future__ import annotations

from typing import Any

import pytest

from dray.errors import DecodeError
from dray.server.custom.keywords import cleaned


def test_known_keywords_stay_as_they_are() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["a"],
        "additionalProperties": True,
        "properties": {"a": {"type": "array", "items": {"enum": [1, None]}, "default": None}},
        "anyOf": [{"required": ["a"]}],
        "x-kubernetes-validations": [{"rule": "true"}],
        "externalDocs": {"url": "x"},
    }
    unknown: list[str] = []
    assert cleaned(schema, "s", unknown) == schema
    assert unknown == []


def test_unknown_keywords_are_dropped_and_named() -> None:
    schema = {
        "x-own": 1,
        "properties": {"a": {"colour": "red"}},
        "x-kubernetes-validations": [{"rule": "true", "rules": 1}],
    }
    unknown: list[str] = []
    assert cleaned(schema, "s", unknown) == {
        "properties": {"a": {}},
        "x-kubernetes-validations": [{"rule": "true"}],
    }
    assert unknown == ["s.x-own", "s.properties.a.colour", "s.x-kubernetes-validations[0].rules"]


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("x", "s"),
        ({"type": 5}, "s.type"),
        ({"maxLength": "5"}, "s.maxLength"),
        ({"maxLength": True}, "s.maxLength"),
        ({"nullable": "yes"}, "s.nullable"),
        ({"required": "a"}, "s.required"),
        ({"required": [1]}, "s.required[0]"),
        ({"properties": []}, "s.properties"),
        ({"properties": {"a": 1}}, "s.properties.a"),
        ({"items": [1]}, "s.items[0]"),
        ({"not": 1}, "s.not"),
        ({"x-kubernetes-validations": ["true"]}, "s.x-kubernetes-validations[0]"),
    ],
)
def test_a_keyword_of_another_type_cannot_be_read(schema: Any, path: str) -> None:
    with pytest.raises(DecodeError) as refused:
        cleaned(schema, "s", [])
    assert refused.value.path == path


def test_nulls_say_nothing_unless_they_are_defaults() -> None:
    assert cleaned({"type": None, "default": None}, "s", []) == {"default": None}
