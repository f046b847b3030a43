"""Schemas as OpenAPI writes them: one definition a named struct, references between them.

Both versions of OpenAPI say the same in slightly different words: version 2 knows no alternatives
and, as upstream writes it, no defaults; version 3 allows nothing beside a reference, which is
therefore wrapped. Upstream counterpart: kube-openapi's builder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from dray.api.schema import (
    ABSENT,
    AnyForm,
    Anything,
    Field,
    ListOf,
    ListType,
    MapOf,
    Primitive,
    Scalar,
    Schema,
    StructOf,
)
from dray.server.openapi.operations import GroupVersionKind

__all__ = ["Definitions", "Dialect"]


class Dialect(Enum):
    """A version of OpenAPI; the value is where it keeps definitions."""

    V2 = "#/definitions/"
    V3 = "#/components/schemas/"


_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

_INLINE: Final[Mapping[Primitive, Mapping[str, str]]] = {
    Primitive.STRING: {"type": "string"},
    Primitive.BOOLEAN: {"type": "boolean"},
    Primitive.INT32: {"type": "integer", "format": "int32"},
    Primitive.INT64: {"type": "integer", "format": "int64"},
    Primitive.NUMBER: {"type": "number", "format": "double"},
    Primitive.BYTES: {"type": "string", "format": "byte"},
}

_DATE_TIME: Final = {"type": "string", "format": "date-time"}

# Types that have a name and a definition although they have no fields: by version 2 and 3.
_LEAVES: Final[Mapping[Primitive | AnyForm, tuple[str, Mapping[str, Any], Mapping[str, Any]]]] = {
    Primitive.QUANTITY: (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"type": "string"},
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    Primitive.INT_OR_STRING: (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"type": "string", "format": "int-or-string"},
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    Primitive.TIME: (f"{_META}Time", _DATE_TIME, _DATE_TIME),
    Primitive.MICRO_TIME: (f"{_META}MicroTime", _DATE_TIME, _DATE_TIME),
    Primitive.DURATION: (f"{_META}Duration", {"type": "string"}, {"type": "string"}),
    AnyForm.RAW_EXTENSION: (
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        {"type": "object"},
        {"type": "object"},
    ),
    AnyForm.FIELDS_V1: (f"{_META}FieldsV1", {"type": "object"}, {"type": "object"}),
    AnyForm.JSON: (f"{_EXTENSIONS}JSON", {}, {}),
    AnyForm.SCHEMA_OR_BOOLEAN: (f"{_EXTENSIONS}JSONSchemaPropsOrBool", {}, {}),
    AnyForm.SCHEMA_OR_ARRAY: (f"{_EXTENSIONS}JSONSchemaPropsOrArray", {}, {}),
    AnyForm.SCHEMA_OR_STRINGS: (f"{_EXTENSIONS}JSONSchemaPropsOrStringArray", {}, {}),
}


class Definitions:
    """The definitions of one document, gathered while it refers to them."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        kinds: Mapping[str, tuple[GroupVersionKind, ...]],
        describe: Callable[[str], str],
        describe_field: Callable[[StructOf, str], str],
    ) -> None:
        """`kinds` says by name which definitions are kinds.

        `describe` and `describe_field` say what there is to say about a definition, and about the
        fields that do not describe themselves.
        """
        self._dialect = dialect
        self._kinds = kinds
        self._describe = describe
        self._describe_field = describe_field
        self._found: dict[str, dict[str, Any]] = {}

    def as_json(self) -> dict[str, dict[str, Any]]:
        return dict(sorted(self._found.items()))

    def refer(self, struct: StructOf) -> dict[str, Any]:
        """A reference to a struct, whose definition the document then has."""
        name = struct.name
        if not name:
            return self._object(struct)
        if name not in self._found:
            self._found[name] = {}  # structs refer to themselves
            self._found[name] = self._define(struct, name)
        return self._reference(name)

    def _reference(self, name: str) -> dict[str, Any]:
        return {"$ref": f"{self._dialect.value}{name}"}

    def _define(self, struct: StructOf, name: str) -> dict[str, Any]:
        definition = self._object(struct)
        description = self._describe(name)
        if description:
            definition["description"] = description
        if name in self._kinds:
            definition["x-kubernetes-group-version-kind"] = [
                kind.as_json() for kind in self._kinds[name]
            ]
        return definition

    def _object(self, struct: StructOf) -> dict[str, Any]:
        fields = struct.fields
        written: dict[str, Any] = {"type": "object"}
        if struct.description:
            written["description"] = struct.description
        if fields:
            written["properties"] = {
                name: self._property(field, field.description or self._describe_field(struct, name))
                for name, field in sorted(fields.items())
            }
        required = sorted(name for name, field in fields.items() if field.required)
        if required:
            written["required"] = required
        if struct.atomic:
            written["x-kubernetes-map-type"] = "atomic"
        if struct.preserves_unknown:
            written["x-kubernetes-preserve-unknown-fields"] = True
        return written

    def _property(self, field: Field, description: str) -> dict[str, Any]:
        written = self._type(field.schema)
        beside: dict[str, Any] = {}
        if description:
            beside["description"] = description
        if field.default is not ABSENT and self._dialect is Dialect.V3:
            beside["default"] = field.default
        if field.patch_merge_key:
            beside["x-kubernetes-patch-merge-key"] = field.patch_merge_key
        if field.patch_strategies:
            beside["x-kubernetes-patch-strategy"] = ",".join(
                sorted(strategy.value for strategy in field.patch_strategies)
            )
        if beside and "$ref" in written and self._dialect is Dialect.V3:
            return {"allOf": [written], **beside}
        return written | beside

    def _type(self, schema: Schema) -> dict[str, Any]:
        match schema:
            case Scalar(primitive=primitive) if primitive in _INLINE:
                return dict(_INLINE[primitive])
            case Scalar(primitive=primitive):
                return self._leaf(primitive)
            case Anything(form=AnyForm.PLAIN):
                return {"x-kubernetes-preserve-unknown-fields": True}
            case Anything(form=form):
                return self._leaf(form)
            case ListOf():
                return self._list(schema)
            case MapOf(values=values, atomic=atomic):
                written = {"type": "object", "additionalProperties": self._type(values)}
                return written | ({"x-kubernetes-map-type": "atomic"} if atomic else {})
            case StructOf():
                return self.refer(schema)

    def _leaf(self, leaf: Primitive | AnyForm) -> dict[str, Any]:
        name, in_v2, in_v3 = _LEAVES[leaf]
        self._found[name] = dict(in_v2 if self._dialect is Dialect.V2 else in_v3)
        return self._reference(name)

    def _list(self, schema: ListOf) -> dict[str, Any]:
        written: dict[str, Any] = {"type": "array", "items": self._type(schema.items)}
        # What is not said is atomic, here as in upstream's documents.
        if schema.list_type is not ListType.ATOMIC:
            written["x-kubernetes-list-type"] = schema.list_type.value
        if schema.keys:
            written["x-kubernetes-list-map-keys"] = list(schema.keys)
        return written
