"""When two values mean the same, however they are written.

An absent list or map equals an empty one, quantities are compared by value, times by instant,
carried JSON byte for byte. An absent optional value is not the same as a zero one: `count: 0`
differs from no count where the type tells them apart. This decides whether an update changes
something: immutability, generations, and which rules are applied again.

Upstream counterpart: equality.Semantic.DeepEqual in apimachinery.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from dray.api.wire import Struct

__all__ = ["semantically_equal"]


def semantically_equal(a: Any, b: Any) -> bool:
    """Whether a and b, two values of one type, mean the same."""
    # Values that are equal as they stand, nearly all of them, never get past this line.
    if a == b:
        return True
    if a is None or b is None:
        return _is_empty(a) and _is_empty(b)
    if isinstance(a, Struct):
        return type(a) is type(b) and all(
            semantically_equal(getattr(a, name), getattr(b, name)) for name in _fields(type(a))
        )
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(semantically_equal, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(semantically_equal(a[key], b[key]) for key in a)
    if isinstance(a, msgspec.Raw) and isinstance(b, msgspec.Raw):
        return bytes(a) == bytes(b)
    return False


@cache
def _fields(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(field.name for field in msgspec.structs.fields(kind))


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (tuple, Mapping)) and not value)
