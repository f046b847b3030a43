"""Values and types as tests/oracle/cel writes them in JSON, to and from dray's.

A value is an object whose only member is its kind: {"int": 1}, {"double": "1.5"}, {"list": […]},
{"map": [[key, value], …]}, {"optional": []}, {"kubernetes.Quantity": "1Gi"}. The whole list stands
in values.go there.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel import Type
from dray.cel import _types as types
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
    decode_key,
    encode_key,
    type_of,
)

__all__ = ["canonical", "decoded", "encoded", "type_named"]

Encoded = dict[str, Any]

_SCALARS = {bool: "bool", int: "int", UInt: "uint", str: "string"}


def encoded(value: Value) -> Encoded:
    kind = type(value)
    if kind in _SCALARS:
        return {_SCALARS[kind]: value}
    if value is None:
        return {"null": None}
    if kind is float:
        return {"double": repr(value)}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if kind is Duration:
        return {"duration": value.nanoseconds}
    if kind is Timestamp:
        return {"timestamp": [value.seconds, value.nanoseconds]}
    if kind is Type:
        return {"type": value.name}
    if kind is Optional:
        return {"optional": [] if value is NONE else [encoded(value.value)]}
    if kind in LISTS:
        return {"list": [encoded(element) for element in value]}
    if kind in MAPS:
        return {"map": [[encoded(decode_key(key)), encoded(held)] for key, held in value.items()]}
    if kind is DerivedQuantity:
        value = value.quantity
    return {type_of(value).name: str(value)}


def decoded(value: Encoded) -> Value:
    ((kind, member),) = value.items()
    match kind:
        case "null" | "bool" | "int" | "string":
            return member
        case "uint":
            return UInt(member)
        case "double":
            return float(member)
        case "bytes":
            return base64.b64decode(member)
        case "duration":
            return Duration(member)
        case "timestamp":
            return Timestamp(*member)
        case "type":
            return type_named(member)
        case "optional":
            return Optional(decoded(member[0])) if member else NONE
        case "list":
            return [decoded(element) for element in member]
        case "map":
            return {encode_key(decoded(key)): decoded(held) for key, held in member}
        case "kubernetes.Quantity":
            return Quantity.parse(member)
        case "kubernetes.Semver":
            return Semver.parse(member)
        case _:
            raise AssertionError(f"no values of kind {kind} can be given")


def canonical(value: Encoded) -> Encoded:
    """The one form of values that are written alike: maps in order, doubles as Python has them."""
    ((kind, member),) = value.items()
    match kind:
        case "double":
            return {kind: repr(float(member))}
        case "list" | "optional":
            return {kind: [canonical(element) for element in member]}
        case "map":
            entries = [[canonical(key), canonical(held)] for key, held in member]
            return {kind: sorted(entries, key=lambda entry: json.dumps(entry[0]))}
        case _:
            return value


_NAMED = {
    known.name: known
    for known in (
        types.ANY, types.BOOL, types.BYTES, types.DOUBLE, types.DURATION, types.DYN, types.INT,
        types.NULL, types.STRING, types.TIMESTAMP, types.TYPE, types.UINT, types.FORMAT,
        types.QUANTITY, types.SEMVER, types.URL, types.CIDR, types.IP,
    )
}  # fmt: skip
_NAMED |= {
    "list": types.list_of(types.DYN),
    "map": types.map_of(types.DYN, types.DYN),
}


def type_named(text: str) -> Type:
    """The type that is printed like this."""
    found, rest = _type_prefix(text)
    assert not rest, f"after a type: {rest}"
    return found


def _type_prefix(text: str) -> tuple[Type, str]:
    end = min((at for at in map(text.find, "(),") if at >= 0), default=len(text))
    name, rest = text[:end], text[end:]
    parameters: list[Type] = []
    while rest.startswith("(" if not parameters else ", "):
        parameter, rest = _type_prefix(rest.lstrip("(, "))
        parameters.append(parameter)
    if not parameters:
        return _NAMED[name], rest
    rest = rest.removeprefix(")")
    match name, parameters:
        case "list", [element]:
            return types.list_of(element), rest
        case "map", [key, held]:
            return types.map_of(key, held), rest
        case "optional_type", [held]:
            return types.optional_of(held), rest
        case "type", [of]:
            return types.type_of(of), rest
        case "wrapper", [of]:
            return Type(of.kind, of.name, nullable=True), rest
        case _:
            raise AssertionError(f"no such type: {text}")
