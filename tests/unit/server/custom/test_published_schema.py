from __future__ import annotations

from typing import Any

from dray.api.schema import ANYTHING, ListOf, ListType, MapOf, Primitive, Scalar, StructOf
from dray.server.custom.published_schema import published
from dray.server.custom.structural import parse


def fields(**properties: Any) -> dict[str, Any]:
    schema = parse({"type": "object", "properties": properties, "required": ["a"]})
    return dict(published(schema, "stable.example.com", "v1", "Widget").fields)


def test_a_kind_has_the_name_that_open_api_gives_it() -> None:
    struct = published(parse({"type": "object"}), "stable.example.com", "v1", "Widget")
    assert struct.name == "com.example.stable.v1.Widget"
    assert {"apiVersion", "kind", "metadata"} <= set(struct.fields)


def test_scalars_are_what_they_are() -> None:
    found = fields(
        a={"type": "string", "description": "a text"},
        b={"type": "integer", "format": "int32"},
        c={"type": "number"},
        d={"x-kubernetes-int-or-string": True},
        e={"x-kubernetes-preserve-unknown-fields": True},
    )
    assert found["a"].schema == Scalar(Primitive.STRING)
    assert found["a"].required
    assert found["a"].description == "a text"
    assert found["b"].schema == Scalar(Primitive.INT32)
    assert found["c"].schema == Scalar(Primitive.NUMBER)
    assert found["d"].schema == Scalar(Primitive.INT_OR_STRING)
    assert found["e"].schema is ANYTHING


def test_lists_merge_as_they_say() -> None:
    item = {"type": "object", "properties": {"id": {"type": "string", "default": "x"}}}
    found = fields(
        a={"type": "array", "items": {"type": "string"}},
        b={"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        c={
            "type": "array",
            "items": item,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
        },
    )
    assert found["a"].schema.list_type is ListType.ATOMIC
    assert found["b"].schema.list_type is ListType.SET
    keyed = found["c"].schema
    assert isinstance(keyed, ListOf)
    assert keyed.keys == ("id",)
    assert isinstance(keyed.items, StructOf)
    assert keyed.items.fields["id"].default == "x"


def test_objects_may_be_owned_as_a_whole_or_keep_what_nobody_declared() -> None:
    found = fields(
        a={"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"b": {}}},
        b={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        c={"type": "object", "additionalProperties": {"type": "boolean"}},
        d={"type": "object", "properties": {"x": {"type": "string"}}},
        e={"type": "object", "x-kubernetes-embedded-resource": True},
    )
    assert found["a"].schema.atomic
    assert found["b"].schema.preserves_unknown
    assert isinstance(found["c"].schema, MapOf)
    assert not found["d"].schema.preserves_unknown
    assert "metadata" in found["e"].schema.fields
