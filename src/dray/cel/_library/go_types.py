"""What upstream's implementation calls the types of values.

Some errors show it: a crash names the type Go could not use, a loop over a number what it got. The
names are part of the text, and nothing else here depends on them.
"""

from __future__ import annotations

from typing import Final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel import _types as types
from dray.cel._types import Type
from dray.cel._values import (
    LISTS,
    MAPS,
    NONE,
    ConcatenatedList,
    DerivedQuantity,
    Duration,
    MapWithDefault,
    Optional,
    Timestamp,
    UInt,
    Value,
)

__all__ = ["go_type", "native_go_type"]


def go_type(value: Value) -> str:
    """The type that stands for the value while an expression is evaluated."""
    known = _GO_TYPES.get(type(value))
    # What is no value of CEL's or Kubernetes' own is a protobuf message.
    return known or _OPAQUE_GO_TYPES.get(value.cel_type, "*types.protoObj")


_GO_TYPES: Final[dict[type, str]] = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    Type: "*types.Type",
    Optional: "*types.Optional",
    Quantity: "cel.Quantity",
    DerivedQuantity: "*cel.Quantity",
    Semver: "cel.Semver",
    **dict.fromkeys(LISTS, "*types.baseList"),
    ConcatenatedList: "*types.concatList",
    **dict.fromkeys(MAPS, "*types.baseMap"),
    MapWithDefault: "cel.mapper",
}
_OPAQUE_GO_TYPES: Final[dict[Type, str]] = {
    types.IP: "cel.IP",
    types.CIDR: "cel.CIDR",
    types.URL: "cel.URL",
    types.FORMAT: "cel.Format",
}


def native_go_type(value: Value) -> str:
    """The type of the plain Go value, which is what an evaluation hands out."""
    while type(value) is Optional:
        if value is NONE:
            return "<nil>"
        value = value.value
    known = _NATIVE_GO_TYPES.get(type(value))
    return known or _OPAQUE_NATIVE_GO_TYPES.get(value.cel_type, "*dynamicpb.Message")


_NATIVE_GO_TYPES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int64",
    UInt: "uint64",
    float: "float64",
    str: "string",
    bytes: "[]uint8",
    type(None): "structpb.NullValue",
    Duration: "time.Duration",
    Timestamp: "time.Time",
    Type: "string",
    Quantity: "*resource.Quantity",
    DerivedQuantity: "*resource.Quantity",
    Semver: "semver.Version",
    **dict.fromkeys(LISTS, "[]ref.Val"),
    **dict.fromkeys(MAPS, "map[ref.Val]ref.Val"),
    MapWithDefault: "map[string]interface {}",
}
_OPAQUE_NATIVE_GO_TYPES: Final[dict[Type, str]] = {
    types.IP: "netip.Addr",
    types.CIDR: "netip.Prefix",
    types.URL: "*url.URL",
    types.FORMAT: "cel.Format",
}
