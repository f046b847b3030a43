"""When two values mean the same, however they are written.

An absent list or map equals an empty one, quantities are compared by value, times by instant.
Carried JSON is compared as what it says, in whatever order, for clients write it in different
ones; but where upstream carries it too (parameters, a device's data), the text counts, white space
aside. Unknown fields do not count: to the rules they are not there, and an old client that leaves
one out changes nothing. An absent optional value is not the same as a zero one: `count: 0` differs
from no count where the type tells them apart. This decides whether an update changes something:
immutability, generations, and which rules are applied again.

Upstream counterpart: equality.Semantic.DeepEqual in apimachinery.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from dray.api.codec import parse_json
from dray.api.resource import AllocatedDeviceStatus, OpaqueDeviceConfiguration
from dray.api.wire import Carried, Struct, is_null, replace

__all__ = ["semantically_equal"]


def semantically_equal(a: Any, b: Any) -> bool:
    """Whether a and b, two values of one type, mean the same."""
    # Values that are equal as they stand, nearly all of them, never get past this line.
    if a == b:
        return True
    if a is None or b is None:
        return _is_empty(a) and _is_empty(b)
    if isinstance(a, OpaqueDeviceConfiguration) and isinstance(b, OpaqueDeviceConfiguration):
        return a.driver == b.driver and _same_text(a.parameters, b.parameters)
    if isinstance(a, AllocatedDeviceStatus) and isinstance(b, AllocatedDeviceStatus):
        alike = _same_text(a.data, b.data)
        return alike and _same_fields(replace(a, data=None), replace(b, data=None))
    if isinstance(a, Struct):
        return type(a) is type(b) and _same_fields(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(semantically_equal, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(semantically_equal(a[key], b[key]) for key in a)
    if isinstance(a, msgspec.Raw) and isinstance(b, msgspec.Raw):
        return bool(parse_json(bytes(a)) == parse_json(bytes(b)))
    return False


def _same_fields(a: Struct, b: Struct) -> bool:
    return all(semantically_equal(getattr(a, name), getattr(b, name)) for name in _fields(type(a)))


def _same_text(a: Carried, b: Carried) -> bool:
    if is_null(a) or is_null(b):
        return is_null(a) and is_null(b)
    return _compact(a) == _compact(b)


def _compact(carried: Carried) -> bytes:
    return b"" if carried is None else msgspec.json.format(bytes(carried), indent=-1)


@cache
def _fields(kind: type[Struct]) -> tuple[str, ...]:
    names = (field.name for field in msgspec.structs.fields(kind))
    return tuple(name for name in names if name != "unknown_fields")


def _is_empty(value: Any) -> bool:
    if isinstance(value, msgspec.Raw):
        return is_null(value)
    return value is None or (isinstance(value, (tuple, Mapping)) and not value)
