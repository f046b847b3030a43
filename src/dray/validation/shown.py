"""Values the way Kubernetes prints them inside a message.

A rule the schema declares shows the value as the wire has it; a hand-written rule shows the value
its Go struct has, with Go's field names and every empty field. Both come out here as plain JSON
values, which FieldError prints. Nothing reads such text; it only has to look the same.

Upstream counterpart: json.Marshal of the versioned and of the internal types.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import isfinite
from typing import Any, Final

import msgspec

from dray.api.codec import parse_json
from dray.api.quantity import Quantity
from dray.api.shapes import JSONNumber
from dray.api.wire import Struct, Time
from dray.errors import DecodeError

__all__ = ["as_internal", "as_wire"]


def as_wire(value: Any) -> Any:
    """The value as its JSON has it."""
    if isinstance(value, Struct):
        shown = {}
        for name, wire_name, omitted in _wire_fields(type(value)):
            member = getattr(value, name)
            if member != omitted:
                shown[wire_name] = as_wire(member)
        return shown
    return _plain(value, as_wire)


def as_internal(value: Any) -> Any:
    """The value as the JSON of upstream's internal Go type has it."""
    if isinstance(value, Struct):
        # Types of apimachinery have no internal twin.
        if type(value).__module__ == "dray.api.meta":
            return as_wire(value)
        return {
            go_name: as_internal(_nil(getattr(value, name), nilable))
            for name, go_name, nilable in _go_fields(type(value))
        }
    return _plain(value, as_internal)


def _plain(value: Any, show: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: show(value[key]) for key in sorted(value)}
    if isinstance(value, tuple):
        return [show(item) for item in value]
    if isinstance(value, msgspec.Raw):
        return _carried(bytes(value))
    if isinstance(value, (Quantity, Time)):
        return str(value)
    return value


# Carried JSON, which nobody has looked into -----------------------------------------------------

_UNREADABLE: Final = "(unreadable JSON)"
_TOO_DEEP: Final = "(and so on)"

# What is nested deeper tells a reader nothing; and those who print it must not run out of stack.
SHOWN_NESTING_MAX: Final = 64


def _carried(data: bytes) -> Any:
    try:
        return _printable(parse_json(data), SHOWN_NESTING_MAX)
    except (DecodeError, RecursionError):
        return _UNREADABLE


def _printable(value: Any, levels: int) -> Any:
    """The parsed value with plain numbers, down to so many levels of objects and lists."""
    if isinstance(value, JSONNumber):
        number = float(value.text)
        # JSON has no infinity; only the text tells such a number from any other.
        return number if isfinite(number) else value.text
    if isinstance(value, (dict, list)) and not levels:
        return _TOO_DEEP
    if isinstance(value, dict):
        return {key: _printable(member, levels - 1) for key, member in value.items()}
    if isinstance(value, list):
        return [_printable(item, levels - 1) for item in value]
    return value


# Fields ----------------------------------------------------------------------------------------

# Stands for "no value is left out": equal to nothing.
_NEVER: Final = object()


@cache
def _wire_fields(kind: type[Struct]) -> tuple[tuple[str, str, Any], ...]:
    """Name, wire name and the value for which the field is left out."""
    rows = []
    for field in msgspec.structs.fields(kind):
        if field.name == "unknown_fields":
            continue
        omitted = {} if field.default_factory is dict else _NEVER
        if field.default is not msgspec.NODEFAULT:
            omitted = field.default
        rows.append((field.name, field.encode_name, omitted))
    return tuple(rows)


# Words that Go writes in capitals where we write them small.
_GO_WORDS: Final[Mapping[str, str]] = {
    "api": "API",
    "cel": "CEL",
    "fs": "FS",
    "gmsa": "GMSA",
    "id": "ID",
    "ips": "IPs",
    "selinux": "SELinux",
    "uid": "UID",
}


@cache
def _go_fields(kind: type[Struct]) -> tuple[tuple[str, str, bool], ...]:
    """Name, Go name, and whether an empty value there can only mean an absent one."""
    rows = []
    for field in msgspec.structs.fields(kind):
        if field.name == "unknown_fields":
            continue
        words = field.name.split("_")
        go_name = "".join(_GO_WORDS.get(word, word.capitalize()) for word in words)
        rows.append((field.name, go_name, field.default is not None))
    return tuple(rows)


def _nil(value: Any, nilable: bool) -> Any:
    return None if nilable and (value == () or value == {}) else value
