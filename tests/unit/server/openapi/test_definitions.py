"""Schemas as OpenAPI writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from dray.api.schema import (
    ANYTHING,
    AnyForm,
    Anything,
    Field,
    ListOf,
    ListType,
    MapOf,
    PatchStrategy,
    Primitive,
    Scalar,
    Schema,
    StructOf,
)
from dray.server.openapi.definitions import Definitions, Dialect
from dray.server.openapi.operations import GroupVersionKind

TEXT = Scalar(Primitive.STRING)


def struct(name: str, *fields: Field, **options: Any) -> StructOf:
    return StructOf(name, lambda: {field.name: field for field in fields}, **options)


def definitions_of(
    dialect: Dialect,
    *,
    kinds: Mapping[str, tuple[GroupVersionKind, ...]] = MappingProxyType({}),
    describe: Callable[[str], str] = lambda name: "",
    describe_field: Callable[[StructOf, str], str] = lambda struct, field: "",
) -> Definitions:
    return Definitions(dialect, kinds=kinds, describe=describe, describe_field=describe_field)


def define(dialect: Dialect, *fields: Field, **options: Any) -> dict[str, Any]:
    definitions = definitions_of(dialect)
    definitions.refer(struct("Thing", *fields, **options))
    return definitions.as_json()


def property_of(dialect: Dialect, field: Field) -> dict[str, Any]:
    written: dict[str, Any] = define(dialect, field)["Thing"]["properties"][field.name]
    return written


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        (TEXT, {"type": "string"}),
        (Scalar(Primitive.INT32), {"type": "integer", "format": "int32"}),
        (Scalar(Primitive.BYTES), {"type": "string", "format": "byte"}),
        (
            Scalar(Primitive.QUANTITY),
            {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"},
        ),
        (MapOf(TEXT), {"type": "object", "additionalProperties": {"type": "string"}}),
        (
            MapOf(TEXT, atomic=True),
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "x-kubernetes-map-type": "atomic",
            },
        ),
        (ListOf(TEXT), {"type": "array", "items": {"type": "string"}}),
        (
            ListOf(TEXT, ListType.MAP, ("name",)),
            {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
        ),
        (ANYTHING, {"x-kubernetes-preserve-unknown-fields": True}),
        (
            Anything(AnyForm.RAW_EXTENSION),
            {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"},
        ),
        (StructOf("", dict), {"type": "object"}),
        (StructOf("Other", dict), {"$ref": "#/components/schemas/Other"}),
    ],
)
def test_every_schema_has_its_words(schema: Schema, written: dict[str, Any]) -> None:
    assert property_of(Dialect.V3, Field("x", schema)) == written


def test_what_stands_beside_a_reference_wraps_it_in_version_3_alone() -> None:
    field = Field("x", StructOf("Other", dict), default={})
    assert property_of(Dialect.V3, field) == {
        "allOf": [{"$ref": "#/components/schemas/Other"}],
        "default": {},
    }
    assert property_of(Dialect.V2, field) == {"$ref": "#/definitions/Other"}


def test_strategies_and_descriptions_are_told() -> None:
    field = Field(
        "x",
        ListOf(TEXT),
        patch_strategies=frozenset({PatchStrategy.RETAIN_KEYS, PatchStrategy.MERGE}),
        patch_merge_key="name",
        description="What it is.",
    )
    assert property_of(Dialect.V2, field) == {
        "type": "array",
        "items": {"type": "string"},
        "description": "What it is.",
        "x-kubernetes-patch-strategy": "merge,retainKeys",
        "x-kubernetes-patch-merge-key": "name",
    }


def test_version_2_knows_no_alternatives() -> None:
    field = Field("x", Scalar(Primitive.INT_OR_STRING))
    name = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
    assert define(Dialect.V2, field)[name] == {"type": "string", "format": "int-or-string"}
    assert "oneOf" in define(Dialect.V3, field)[name]


def test_a_struct_says_what_it_requires_and_how_it_merges() -> None:
    definition = define(
        Dialect.V3, Field("x", TEXT, required=True), atomic=True, preserves_unknown=True
    )["Thing"]
    assert definition["required"] == ["x"]
    assert definition["x-kubernetes-map-type"] == "atomic"
    assert definition["x-kubernetes-preserve-unknown-fields"] is True


def test_a_struct_that_contains_itself_is_defined_once() -> None:
    def load() -> dict[str, Field]:
        return {"inner": Field("inner", recursive)}

    recursive = StructOf("Nested", load)
    definitions = definitions_of(Dialect.V2, describe=lambda name: f"about {name}")
    assert definitions.refer(recursive) == {"$ref": "#/definitions/Nested"}
    assert definitions.as_json() == {
        "Nested": {
            "type": "object",
            "description": "about Nested",
            "properties": {"inner": {"$ref": "#/definitions/Nested"}},
        }
    }


@pytest.mark.parametrize("dialect", list(Dialect))
def test_a_field_without_words_of_its_own_is_described(dialect: Dialect) -> None:
    inner = struct("Inner")
    definitions = definitions_of(
        dialect, describe_field=lambda struct, field: f"{field} of {struct.name}."
    )
    definitions.refer(
        struct("Thing", Field("a", TEXT), Field("b", TEXT, description="Own."), Field("c", inner))
    )
    properties = definitions.as_json()["Thing"]["properties"]
    told = {name: written["description"] for name, written in properties.items()}
    assert told == {"a": "a of Thing.", "b": "Own.", "c": "c of Thing."}


def test_kinds_say_that_they_are_kinds() -> None:
    kind = GroupVersionKind("example.com", "v1", "Thing")
    definitions = definitions_of(Dialect.V3, kinds={"Thing": (kind,)})
    definitions.refer(struct("Thing"))
    assert definitions.as_json()["Thing"]["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "kind": "Thing", "version": "v1"}
    ]
