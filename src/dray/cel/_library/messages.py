"""Message literals: `google.protobuf.Int32Value{value: 1}` and the few others CEL knows by heart.

None of them stays a message. A wrapper is the value it holds, a Duration is a duration, a Struct
is a map of what JSON could hold. Only Empty is something of its own. Nobody writes these in a
selector; they are here because Kubernetes does not take them away.

Upstream counterparts: NewValue and NativeToValue in cel-go common/types/provider.go,
ConvertToNative of its types for JSON.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from dray.cel import _types as types
from dray.cel._failures import Failure
from dray.cel._library.conversions import convert
from dray.cel._types import Type
from dray.cel._values import (
    LISTS,
    MAPS,
    Duration,
    Key,
    Timestamp,
    UInt,
    Value,
    decode_key,
    type_of,
)

__all__ = ["Empty", "make_message"]

_SAFE_INTEGER_MAX: Final = 2**53 - 1
"""Integers beyond are not exact as JSON numbers; protobuf writes them as text."""

_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Empty:
    """google.protobuf.Empty, which has no fields and equals itself."""

    cel_type: ClassVar[Type] = types.struct("google.protobuf.Empty")

    def cel_equal(self, other: Value) -> bool:
        return type(other) is Empty


def make_message(name: str, fields: Mapping[str, Value]) -> Value:
    """The value of a message literal; a Failure where upstream cannot make it."""
    if name in _WRAPPERS:
        return _wrapped(name, fields)
    make = _MESSAGES.get(name)
    if make is None:
        raise Failure(f"unknown type '{name}'")
    return make(fields)


def _wrapped(name: str, fields: Mapping[str, Value]) -> Value:
    kind, default, narrow = _WRAPPERS[name]
    if "value" not in fields:
        return default
    return narrow(_field(name, "value", fields["value"], kind))


def _field(message: str, field: str, value: Value, kind: type) -> Value:
    if type(value) is not kind:
        name = type_of(value).name
        why = f"unsupported native conversion from {name} to '{_NATIVE[kind]}'"
        if type(value) in (int, UInt):
            why = f"unsupported type conversion from '{name}' to {_NATIVE[kind]}"
        raise Failure(f"field type conversion error for {message}.{field} value type: {why}")
    return value


_NATIVE: Final[dict[type, str]] = {
    bool: "bool",
    bytes: "[]uint8",
    float: "float64",
    int: "int64",
    str: "string",
    UInt: "uint64",
}


def _same(value: Value) -> Value:
    return value


def _int32(value: int) -> int:
    if not -(2**31) <= value < 2**31:
        raise _narrowed("Int32Value", "integer overflow")
    return value


def _uint32(value: UInt) -> UInt:
    if value >= 2**32:
        raise _narrowed("UInt32Value", "unsigned integer overflow")
    return value


def _narrowed(message: str, why: str) -> Failure:
    return Failure(
        f"field type conversion error for google.protobuf.{message}.value value type: {why}"
    )


def _float32(value: float) -> float:
    try:
        narrowed: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return narrowed


_WRAPPERS: Final[dict[str, tuple[type, Value, Callable[[Value], Value]]]] = {
    "google.protobuf.BoolValue": (bool, False, _same),
    "google.protobuf.BytesValue": (bytes, b"", _same),
    "google.protobuf.DoubleValue": (float, 0.0, _same),
    "google.protobuf.FloatValue": (float, 0.0, _float32),
    "google.protobuf.Int32Value": (int, 0, _int32),
    "google.protobuf.Int64Value": (int, 0, _same),
    "google.protobuf.StringValue": (str, "", _same),
    "google.protobuf.UInt32Value": (UInt, UInt(0), _uint32),
    "google.protobuf.UInt64Value": (UInt, UInt(0), _same),
}


def _duration(fields: Mapping[str, Value]) -> Value:
    name = "google.protobuf.Duration"
    seconds = _field(name, "seconds", fields.get("seconds", 0), int)
    return Duration(seconds * _NANOSECONDS + _field(name, "nanos", fields.get("nanos", 0), int))


def _timestamp(fields: Mapping[str, Value]) -> Value:
    name = "google.protobuf.Timestamp"
    seconds = _field(name, "seconds", fields.get("seconds", 0), int)
    carried, nanos = divmod(_field(name, "nanos", fields.get("nanos", 0), int), _NANOSECONDS)
    return Timestamp(seconds + carried, nanos)


def _empty(_: Mapping[str, Value]) -> Value:
    return Empty()


def _struct(fields: Mapping[str, Value]) -> Value:
    return _json(_repeated("google.protobuf.Struct", "fields", fields.get("fields", {}), MAPS))


def _list(fields: Mapping[str, Value]) -> Value:
    return _json(_repeated("google.protobuf.ListValue", "values", fields.get("values", []), LISTS))


def _repeated(message: str, field: str, value: Value, kinds: tuple[type, ...]) -> Value:
    if type(value) not in kinds:
        raise Failure(f"unsupported field type for {message}.{field}: {type_of(value).name}")
    return value


def _value(fields: Mapping[str, Value]) -> Value:
    if not fields:
        return None
    # The fields exclude each other, and the last one set stays.
    for name, value in fields.items():
        if name in _VALUE_FIELDS:
            _field("google.protobuf.Value", name, value, _VALUE_FIELDS[name])
    name, value = list(fields.items())[-1]
    return None if name == "null_value" else _json(value)


_VALUE_FIELDS: Final[dict[str, type]] = {
    "bool_value": bool,
    "null_value": int,
    "number_value": float,
    "string_value": str,
}


def _any(_: Mapping[str, Value]) -> Value:
    raise Failure("unsupported conversion to ref.Val: (*dynamicpb.Message)")


_MESSAGES: Final[dict[str, Callable[[Mapping[str, Value]], Value]]] = {
    "google.protobuf.Any": _any,
    "google.protobuf.Duration": _duration,
    "google.protobuf.Empty": _empty,
    "google.protobuf.ListValue": _list,
    "google.protobuf.Struct": _struct,
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Value": _value,
}


def _json(value: Value) -> Value:
    """The value as JSON would hold it: all numbers are doubles."""
    kind = type(value)
    if value is None or kind in (bool, str, float):
        return value
    if kind in (int, UInt):
        return float(value) if abs(value) <= _SAFE_INTEGER_MAX else str(int(value))
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind in LISTS:
        return [_json(element) for element in value]
    if kind in MAPS:
        made: dict[Key, Value] = {}
        for key, held in value.items():
            made[convert("string", decode_key(key))] = _json(held)
        return made
    if kind in (Duration, Timestamp):
        return convert("string", value)
    raise Failure(f"type conversion error from '{type_of(value).name}' to 'google.protobuf.Value'")
