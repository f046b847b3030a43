"""The names an expression may use besides functions: the device, the types, protobuf's messages.

CEL knows a few protobuf messages by heart and Kubernetes does not take them away, so
`google.protobuf.Int32Value{value: 1} == 1` is an expression here too. Type names come from two
places that upstream asks in turn: the types that exist at run time, and the message types. A name
of the latter kind alone type-checks but cannot be planned, which is upstream's quirk and kept.

Upstream counterparts: cel-go common/types/provider.go and common/types/pb, apiserver
pkg/cel/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.cel import _types as types
from dray.cel._types import Kind, Type

__all__ = [
    "ENUMERATION_VALUES",
    "MESSAGES",
    "RUNTIME_TYPES",
    "WELL_KNOWN_NAMES",
    "message_type",
]

_ANY_LIST: Final = types.list_of(types.DYN)
_ANY_MAP: Final = types.map_of(types.DYN, types.DYN)
_EMPTY: Final = types.struct("google.protobuf.Empty")

RUNTIME_TYPES: Final[Mapping[str, Type]] = {
    known.name: known
    for known in (
        types.BOOL,
        types.BYTES,
        types.DOUBLE,
        types.DURATION,
        types.INT,
        _ANY_LIST,
        _ANY_MAP,
        types.NULL,
        types.STRING,
        types.TIMESTAMP,
        types.TYPE,
        types.UINT,
        types.optional_of(types.DYN),
        types.IP,
        types.CIDR,
        _EMPTY,
    )
}
"""Type names that are values at run time, so that `type(x) == net.IP` can be evaluated."""

ENUMERATION_VALUES: Final[Mapping[str, int]] = {"google.protobuf.NullValue.NULL_VALUE": 0}


def _wrapper(of: Type) -> Type:
    return Type(of.kind, of.name, of.parameters, nullable=True)


_VALUE: Final = types.DYN
_STRUCT: Final = types.map_of(types.STRING, types.DYN)

MESSAGES: Final[Mapping[str, tuple[Type, Mapping[str, Type]]]] = {
    "google.protobuf.Any": (types.ANY, {"type_url": types.STRING, "value": types.BYTES}),
    "google.protobuf.BoolValue": (_wrapper(types.BOOL), {"value": types.BOOL}),
    "google.protobuf.BytesValue": (_wrapper(types.BYTES), {"value": types.BYTES}),
    "google.protobuf.DoubleValue": (_wrapper(types.DOUBLE), {"value": types.DOUBLE}),
    "google.protobuf.FloatValue": (_wrapper(types.DOUBLE), {"value": types.DOUBLE}),
    "google.protobuf.Int32Value": (_wrapper(types.INT), {"value": types.INT}),
    "google.protobuf.Int64Value": (_wrapper(types.INT), {"value": types.INT}),
    "google.protobuf.StringValue": (_wrapper(types.STRING), {"value": types.STRING}),
    "google.protobuf.UInt32Value": (_wrapper(types.UINT), {"value": types.UINT}),
    "google.protobuf.UInt64Value": (_wrapper(types.UINT), {"value": types.UINT}),
    "google.protobuf.Duration": (types.DURATION, {"seconds": types.INT, "nanos": types.INT}),
    "google.protobuf.Timestamp": (types.TIMESTAMP, {"seconds": types.INT, "nanos": types.INT}),
    "google.protobuf.Empty": (_EMPTY, {}),
    "google.protobuf.ListValue": (_ANY_LIST, {"values": _ANY_LIST}),
    "google.protobuf.Struct": (_STRUCT, {"fields": _STRUCT}),
    "google.protobuf.Value": (
        _VALUE,
        {
            "null_value": types.INT,
            "number_value": types.DOUBLE,
            "string_value": types.STRING,
            "bool_value": types.BOOL,
            "struct_value": _STRUCT,
            "list_value": _ANY_LIST,
        },
    ),
}
"""Message types by name: the type of such a message, and its fields."""

_SCALARS: Final[Mapping[str, Type]] = {
    "bool": types.BOOL,
    "bytes": types.BYTES,
    "double": types.DOUBLE,
    "duration": types.DURATION,
    "int": types.INT,
    "null_type": types.NULL,
    "string": types.STRING,
    "timestamp": types.TIMESTAMP,
    "uint": types.UINT,
    "list": types.list_of(types.ANY),
    "map": types.map_of(types.ANY, types.ANY),
}
"""Kubernetes' own names for simple types, which count as message types without fields."""

WELL_KNOWN_NAMES: Final[Mapping[Kind, str]] = {
    Kind.ANY: "google.protobuf.Any",
    Kind.BOOL: "google.protobuf.BoolValue",
    Kind.BYTES: "google.protobuf.BytesValue",
    Kind.DOUBLE: "google.protobuf.DoubleValue",
    Kind.DURATION: "google.protobuf.Duration",
    Kind.DYN: "google.protobuf.Value",
    Kind.INT: "google.protobuf.Int64Value",
    Kind.LIST: "google.protobuf.ListValue",
    Kind.NULL: "google.protobuf.NullValue",
    Kind.MAP: "google.protobuf.Struct",
    Kind.STRING: "google.protobuf.StringValue",
    Kind.TIMESTAMP: "google.protobuf.Timestamp",
    Kind.UINT: "google.protobuf.UInt64Value",
}
"""The message whose fields count when a message of such a type is written out."""


def message_type(name: str, device: Mapping[str, Type]) -> Type | None:
    """The type a message-type name stands for; `device` has the types the device is made of."""
    found = device.get(name) or _SCALARS.get(name)
    if found is not None:
        return found
    message = MESSAGES.get(name)
    return message[0] if message is not None else None
