"""What becomes of the value an expression gives: a selector's answer, or a derived attribute.

Upstream counterparts: ConvertToNative of cel-go's and Kubernetes' types for bool, and
valToDeviceAttribute in dynamic-resource-allocation cel/compile.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dray.api.quantity import Quantity
from dray.api.resource import DeviceAttribute
from dray.api.semver import Semver
from dray.cel._failures import Failure
from dray.cel._library.formats import NamedFormat
from dray.cel._library.go_types import native_go_type
from dray.cel._types import Type
from dray.cel._values import (
    LISTS,
    MAPS,
    NONE,
    DerivedQuantity,
    Duration,
    Optional,
    Timestamp,
    UInt,
    Value,
    type_of,
)

__all__ = ["as_attribute", "as_bool", "no_bool"]


def as_bool(value: Value) -> bool:
    """The answer of a selector; a Failure says that the value is none."""
    held = value
    while type(held) is Optional and held is not NONE:
        held = held.value
    if held is True or held is False:
        return bool(held)
    raise Failure(no_bool(value))


def no_bool(value: Value) -> str:
    """What upstream says when a selector gives this value."""
    held = value
    while type(held) is Optional and held is not NONE:
        held = held.value
    name = type_of(value).name
    return f"CEL result of type {name} could not be converted to bool: {_why_not(held)}"


def _why_not(value: Value) -> str:
    kind, name = type(value), type_of(value).name
    if value is NONE:
        return "optional.none() dereference"
    if kind in (int, UInt):
        return f"unsupported type conversion from '{name}' to bool"
    if kind is str:
        return "unsupported native conversion from string to 'bool'"
    if kind is Type:
        return "type conversion not supported for 'type'"
    return f"type conversion error from {_NAMES.get(kind, _quoted(value))} to 'bool'"


def _quoted(value: Value) -> str:
    return f"'{type(value).__name__}'"


_NAMES: Final[dict[type, str]] = {
    float: "Double",
    bytes: "Bytes",
    type(None): "'null_type'",
    Duration: "'Duration'",
    Timestamp: "'Timestamp'",
    Quantity: "'Quantity'",
    DerivedQuantity: "'Quantity'",
    NamedFormat: "'Format'",
    **dict.fromkeys(LISTS, "list"),
    **dict.fromkeys(MAPS, "map"),
}
"""How upstream calls the types in this one message."""


def as_attribute(value: Value) -> DeviceAttribute:
    """The attribute an expression derives; a Failure if it is no value an attribute can have."""
    plain = _plain(value)
    if type(plain) in _SCALARS:
        return _SCALARS[type(plain)](plain)
    if type(plain) not in LISTS:
        raise Failure(f"unsupported CEL return type: {native_go_type(value)}")
    if not plain:
        return DeviceAttribute(string_values=())
    elements = tuple(_plain(element) for element in plain)
    kind = type(elements[0])
    if kind not in _SCALARS:
        raise Failure(f"unsupported list element type: {native_go_type(elements[0])}")
    for index, element in enumerate(elements):
        if type(element) is not kind:
            raise Failure(
                f"expected list element at index {index} to be {_EXPECTED[kind]},"
                f" got {native_go_type(element)}"
            )
    return _ARRAYS[kind](elements)


_SCALARS: Final[dict[type, Callable[[Value], DeviceAttribute]]] = {
    bool: lambda value: DeviceAttribute(bool_value=value),
    int: lambda value: DeviceAttribute(int_value=value),
    str: lambda value: DeviceAttribute(string_value=value),
    Semver: lambda value: DeviceAttribute(version_value=str(value)),
}
_ARRAYS: Final[dict[type, Callable[[tuple[Value, ...]], DeviceAttribute]]] = {
    bool: lambda values: DeviceAttribute(bool_values=values),
    int: lambda values: DeviceAttribute(int_values=values),
    str: lambda values: DeviceAttribute(string_values=values),
    Semver: lambda values: DeviceAttribute(version_values=tuple(map(str, values))),
}
_EXPECTED: Final[dict[type, str]] = {bool: "bool", int: "int", str: "string", Semver: "semver"}


def _plain(value: Value) -> Value:
    """The value upstream hands out: an optional is what it has, a type is its name."""
    while type(value) is Optional and value is not NONE:
        value = value.value
    return value.name if type(value) is Type else value
