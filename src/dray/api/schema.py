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


class ListType(Enum):
    """How lists of different managers come together."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class PatchStrategy(Enum):
    """What a strategic merge patch does with a field; without any it replaces."""

    MERGE = "merge"
    RETAIN_KEYS = "retainKeys"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts."""

    primitive: Primitive


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON at all, which its owner owns as a whole."""


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


@dataclass(frozen=True, slots=True)
class StructOf:
    """An object with named fields. `fields` is by JSON name, inline structs already spread out.

    A struct that refers to itself, as JSON schemas do, resolves lazily: ask `fields`, not `load`.
    """

    name: str  # as in OpenAPI, io.k8s.api.core.v1.PodSpec; empty if it has none
    load: Callable[[], Mapping[str, Field]] = field(compare=False, repr=False)
    atomic: bool = False
    # Fields nobody declared are kept and owned like those of a map (custom resources).
    preserves_unknown: bool = False

    @property
    def fields(self) -> Mapping[str, Field]:
        return self.load()


Schema: TypeAlias = Scalar | Anything | MapOf | ListOf | StructOf

ANYTHING: Final = Anything()
