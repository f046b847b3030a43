"""The shape of everything on the wire: fields, their types, how lists and maps merge.

The structs of dray.api say what dray itself reads. Patches, server-side apply, OpenAPI documents
and protobuf bodies need to know more: the inside of parts that are merely carried, which lists are
sets or maps, under which number a field travels. That is data, kept here as trees of the types
below, one per kind, and equally made from the schema of a custom resource.

A schema never judges values; validation does. Upstream counterparts: kube-openapi's schema, the
struct tags and markers of k8s.io/api.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias

__all__ = [
    "ABSENT",
    "ANYTHING",
    "AnyForm",
    "Anything",
    "Field",
    "ListOf",
    "ListType",
    "MapOf",
    "PatchStrategy",
    "Primitive",
    "Scalar",
    "Schema",
    "StructOf",
]

# Stands for a default that is not there: None is a default of its own.
ABSENT: Final = object()


class Primitive(Enum):
    """What a scalar is in JSON and on the wire; the value is its name in schema files."""

    STRING = "string"
    BOOLEAN = "bool"
    INT32 = "int32"
    INT64 = "int64"
    NUMBER = "double"
    BYTES = "bytes"  # base64 in JSON
    QUANTITY = "quantity"
    INT_OR_STRING = "intstr"
    TIME = "time"
    MICRO_TIME = "microtime"
    DURATION = "duration"


class AnyForm(Enum):
    """What upstream's type for any JSON is, which shows in protobuf and in OpenAPI only."""

    PLAIN = "anything"
    RAW_EXTENSION = "raw"
    FIELDS_V1 = "fields"
    JSON = "json"
    # A JSON schema, or what may stand in its place.
    SCHEMA_OR_BOOLEAN = "schemaOrBool"
    SCHEMA_OR_ARRAY = "schemaOrArray"
    SCHEMA_OR_STRINGS = "schemaOrStrings"


class ListType(Enum):
    """How lists of different managers come together."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class PatchStrategy(Enum):
    """What a strategic merge patch does with a field; without any it merges objects only."""

    MERGE = "merge"
    REPLACE = "replace"  # even an object
    RETAIN_KEYS = "retainKeys"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts."""

    primitive: Primitive


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON at all, which its owner owns as a whole. Its form is upstream's name for it."""

    form: AnyForm = AnyForm.PLAIN


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object whose keys are data."""

    values: Schema
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list; `keys` name the fields that tell items of a MAP apart."""

    items: Schema
    list_type: ListType = ListType.ATOMIC
    keys: tuple[str, ...] = ()
    # Protobuf has the list in a message of its own, as field 1: only so can a map hold lists.
    message: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct."""

    name: str  # in JSON
    schema: Schema
    number: int = 0  # in protobuf, 0 if it has none
    required: bool = False  # in OpenAPI
    # Whether Go leaves out the field's zero value when it writes JSON, and whether it can tell a
    # zero from an absent value (a pointer): what protobuf's explicit zeros mean depends on both.
    omit_empty: bool = True
    pointer: bool = False
    # Go embeds the field's struct: JSON has its fields in place of it, protobuf has a message.
    inline: bool = False
    default: Any = ABSENT  # as the API documents it, e.g. the protocol of a port
    patch_strategies: frozenset[PatchStrategy] = frozenset()
    patch_merge_key: str = ""
    description: str = ""


def _no_messages() -> tuple[Field, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class StructOf:
    """An object with named fields. `fields` is by JSON name, inline structs already spread out.

    A struct that refers to itself, as JSON schemas do, resolves lazily: ask `fields`, not `load`.
    One struct is one instance, except that a field may make its own copy atomic: what is computed
    from a struct can be kept by its name.
    """

    name: str  # as in OpenAPI, io.k8s.api.core.v1.PodSpec; empty if it has none
    load: Callable[[], Mapping[str, Field]] = field(compare=False, repr=False)
    atomic: bool = False
    # Fields nobody declared are kept and owned like those of a map (custom resources).
    preserves_unknown: bool = False
    description: str = field(default="", compare=False, repr=False)
    declare: Callable[[], tuple[Field, ...]] = field(
        default=_no_messages, compare=False, repr=False
    )

    @property
    def fields(self) -> Mapping[str, Field]:
        return self.load()

    @property
    def declared(self) -> tuple[Field, ...]:
        """The fields as protobuf has them: an inline struct is still one. Empty without any."""
        return self.declare()


Schema: TypeAlias = Scalar | Anything | MapOf | ListOf | StructOf

ANYTHING: Final = Anything()
