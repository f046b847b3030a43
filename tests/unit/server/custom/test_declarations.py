from __future__ import annotations

from typing import Any

import pytest

from dray.cel.objects import Declared
from dray.server.custom.declarations import declared, escaped, with_type_and_metadata
from dray.server.custom.structural import parse


def seen(schema: dict[str, Any]) -> Declared:
    found = declared(parse(schema), "self")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "known_as"),
    [
        ("plain", "plain"),
        ("namespace", "__namespace__"),
        ("with-dash", "with__dash__dash"),
        ("with.dot", "with__dot__dot"),
        ("with/slash", "with__slash__slash"),
        ("two__underscores", "two__underscores__underscores"),
        ("$dollar", None),
        ("1digit", None),
        ("", None),
    ],
)
def test_names_are_escaped_where_they_can_be(name: str, known_as: str | None) -> None:
    assert escaped(name) == known_as


@pytest.mark.parametrize(
    ("schema", "type_", "size", "size_min"),
    [
        ({"type": "string"}, "string", 3145726, 2),
        ({"type": "string", "maxLength": 5}, "string", 20, 2),
        ({"type": "string", "enum": ["a", "abc"]}, "string", 3, 2),
        ({"type": "string", "format": "byte", "maxLength": 5}, "bytes", 5, 2),
        ({"type": "string", "format": "duration"}, "google.protobuf.Duration", 32, 3),
        ({"type": "string", "format": "date"}, "google.protobuf.Timestamp", 12, 12),
        ({"type": "string", "format": "date-time"}, "google.protobuf.Timestamp", 32, 21),
        ({"type": "integer"}, "int", 0, 1),
        ({"type": "number"}, "double", 0, 1),
        ({"type": "boolean"}, "bool", 0, 4),
        ({"x-kubernetes-int-or-string": True}, "dyn", 3145726, 1),
        ({"type": "array", "items": {"type": "boolean"}}, "list(bool)", 629145, 2),
        ({"type": "array", "items": {"type": "boolean"}, "maxItems": 3}, "list(bool)", 3, 2),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            "map(string, int)",
            449389,
            2,
        ),
    ],
)
def test_parts_have_a_type_and_a_size(
    schema: dict[str, Any], type_: str, size: int, size_min: int
) -> None:
    found = seen(schema)
    assert str(found.type) == type_
    assert found.shape.size_max == size
    assert found.size_min == size_min


@pytest.mark.parametrize(
    "schema",
    [
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array"},
        {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}},
        {"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}},
    ],
)
def test_what_has_no_type_cannot_be_seen(schema: dict[str, Any]) -> None:
    assert declared(parse(schema), "self") is None


def test_an_object_has_the_fields_that_can_be_seen() -> None:
    found = seen(
        {
            "type": "object",
            "required": ["a-b", "$c"],
            "properties": {
                "a-b": {"type": "integer"},
                "$c": {"type": "boolean"},
                "d": {"x-kubernetes-preserve-unknown-fields": True},
            },
        }
    )
    assert list(found.fields) == ["a__dash__b"]
    assert found.size_min == 2 + (3 + 1 + 4) + (2 + 4 + 4)


def test_every_object_has_a_kind_and_a_name() -> None:
    found = declared(parse({"type": "object"}), "self", is_resource=True)
    assert found is not None
    assert set(found.fields) == {"apiVersion", "kind", "metadata"}
    assert set(found.fields["metadata"].fields) == {"name", "generateName"}


def test_a_schema_may_shorten_names_but_not_lengthen_them() -> None:
    metadata = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 10}}}
    schema = with_type_and_metadata(parse({"type": "object", "properties": {"metadata": metadata}}))
    names = schema.properties["metadata"].properties
    assert names["name"].max_length == 10
    assert names["generateName"].max_length == 252


def test_embedded_objects_are_objects_too() -> None:
    schema = {
        "type": "object",
        "properties": {"e": {"type": "object", "x-kubernetes-embedded-resource": True}},
    }
    assert "kind" in seen(schema).fields["e"].fields
