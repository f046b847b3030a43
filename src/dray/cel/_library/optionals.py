"""Optional values: `optional.of`, `orValue`, `first`, `last`, `optional.unwrap` and the rest.

`or` and `orValue` are here as functions of two values. Upstream evaluates what follows them only
if it is needed, and so must a program that wants the same errors; `?.` and `[?…]` belong to the
program altogether. Whatever is no optional makes upstream's `or` and `orValue` say
`no such overload` and no more.

Upstream counterparts: cel-go cel/library.go and common/types/optional.go.
"""

from __future__ import annotations

from typing import Final

from dray.cel._failures import Failure, no_such_overload
from dray.cel._library.go_text import shown
from dray.cel._library.table import FunctionTable, Implementation, of_lists
from dray.cel._values import (
    LISTS,
    MAPS,
    NONE,
    Duration,
    MapWithDefault,
    Optional,
    Timestamp,
    UInt,
    Value,
)

__all__ = ["FUNCTIONS", "is_zero"]

_YEAR_ONE: Final = (-62135596800, 0)
"""Seconds and nanoseconds of upstream's zero time; that of CEL's documentation, 1970, is none."""


def is_zero(value: Value) -> bool:
    """Whether `optional.ofNonZeroValue` takes the value for absent."""
    kind = type(value)
    if kind is Timestamp:
        return (value.seconds, value.nanoseconds) == _YEAR_ONE
    if kind is Duration:
        return not value.nanoseconds
    # A device's map of domains hides that it is one from the question.
    return kind in _EMPTY_IS_ZERO and not value


_EMPTY_IS_ZERO: Final = {bool, int, UInt, float, str, bytes, type(None), *LISTS, *MAPS} - {
    MapWithDefault
}


def _of(value: Value) -> Optional:
    return Optional(value)


def _of_non_zero_value(value: Value) -> Optional:
    return NONE if is_zero(value) else Optional(value)


def _none() -> Optional:
    return NONE


def _has_value(optional: Optional) -> bool:
    return optional is not NONE


def _value(optional: Optional) -> Value:
    if optional is NONE:
        raise Failure("optional.none() dereference")
    return optional.value


def _or(optional: Value, alternative: Value) -> Value:
    """The alternative may be anything: upstream does not look at it."""
    if type(optional) is not Optional:
        raise Failure("no such overload")
    return alternative if optional is NONE else optional


def _or_value(optional: Value, alternative: Value) -> Value:
    if type(optional) is not Optional:
        raise Failure("no such overload")
    return alternative if optional is NONE else optional.value


def _first(items: list[Value]) -> Optional:
    return Optional(items[0]) if items else NONE


def _last(items: list[Value]) -> Optional:
    return Optional(items[-1]) if items else NONE


def _unwrapping(function: str) -> Implementation:
    def unwrap(items: list[Value]) -> list[Value]:
        # The first element decides whether this is a list of optionals at all.
        if items and type(items[0]) is not Optional:
            raise no_such_overload(function, items)
        values: list[Value] = []
        for item in items:
            if type(item) is not Optional:
                raise Failure(f"value {shown(item)} is not optional")
            if item is not NONE:
                values.append(item.value)
        return values

    return unwrap


FUNCTIONS: Final[FunctionTable] = {
    "optional.of": {object: _of},
    "optional.ofNonZeroValue": {object: _of_non_zero_value},
    "optional.none": {object: _none},
    "hasValue": {Optional: _has_value},
    "value": {Optional: _value},
    "or": {object: _or},
    "orValue": {object: _or_value},
    "first": of_lists(_first),
    "last": of_lists(_last),
    "optional.unwrap": of_lists(_unwrapping("optional.unwrap")),
    "unwrapOpt": of_lists(_unwrapping("unwrapOpt")),
}
"""What stands under `object` takes a first argument of any type."""
