"""A custom schema in the words that patches, server-side apply and OpenAPI know.

Only structure comes along: what values must be like is nobody's business but the checks'. An object
whose schema says nothing about its fields is deduced from its value, as upstream does; a field of
no type at all is owned as a whole. Upstream counterparts: the OpenAPI builder of
apiextensions-apiserver, kube-openapi's schemaconv.
"""

from __future__ import annotations

from typing import Final

from dray.api.schema import (
    ABSENT,
    ANYTHING,
    Field,
    ListOf,
    ListType,
    MapOf,
    Primitive,
    Scalar,
    Schema,
    StructOf,
)
from dray.api.schemas import schema_of
from dray.server.custom.structural import Structural

__all__ = ["published"]

_SCALARS: Final = {
    "string": Scalar(Primitive.STRING),
    "boolean": Scalar(Primitive.BOOLEAN),
    "integer": Scalar(Primitive.INT64),
    "number": Scalar(Primitive.NUMBER),
}
_INT32: Final = Scalar(Primitive.INT32)
_INT_OR_STRING: Final = Scalar(Primitive.INT_OR_STRING)
_LIST_TYPES: Final = {"set": ListType.SET, "map": ListType.MAP}


def published(schema: Structural, group: str, version: str, kind: str) -> StructOf:
    """The schema of a kind at a version, under the name that OpenAPI has for it."""
    domain = ".".join(reversed(group.split(".")))
    return _struct(schema, f"{domain}.{version}.{kind}", is_resource=True)


def _struct(schema: Structural, name: str = "", *, is_resource: bool) -> StructOf:
    fields = {
        field: Field(
            field,
            _schema(part),
            required=field in schema.required,
            default=part.default if part.has_default else ABSENT,
            description=part.description,
        )
        for field, part in schema.properties.items()
    }
    if is_resource:
        fields = _type_fields() | fields | {"metadata": _metadata_field()}
    unknown = schema.preserves_unknown or schema.additional is True or not fields
    return StructOf(
        name,
        lambda: fields,
        atomic=schema.map_type == "atomic",
        preserves_unknown=unknown,
        description=schema.description,
    )


def _type_fields() -> dict[str, Field]:
    known = schema_of("", "v1", "ConfigMap").fields
    return {name: known[name] for name in ("apiVersion", "kind")}


def _metadata_field() -> Field:
    return schema_of("", "v1", "ConfigMap").fields["metadata"]


def _schema(schema: Structural) -> Schema:
    if schema.int_or_string:
        return _INT_OR_STRING
    if schema.type == "object":
        if schema.values is not None:
            return MapOf(_schema(schema.values), atomic=schema.map_type == "atomic")
        return _struct(schema, is_resource=schema.embedded)
    if schema.type == "array" and schema.items is not None:
        list_type = _LIST_TYPES.get(schema.list_type or "", ListType.ATOMIC)
        return ListOf(_schema(schema.items), list_type, schema.list_keys)
    if schema.type == "integer" and schema.format == "int32":
        return _INT32
    return _SCALARS.get(schema.type, ANYTHING)
