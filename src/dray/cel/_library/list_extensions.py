"""What cel-go adds to lists: `slice`, `flatten`, `sort`, `sortBy`, `distinct`, `reverse`, `range`.

Answers are new lists, except that an empty list sorted or made distinct is itself. Nothing longer
than the bound of all values gets built; what costs a unit per pair of elements is refused as soon
as the number of pairs is beyond it, since no budget would pay for it.

Upstream counterpart: cel-go ext/lists.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from dray.cel._failures import Failure, no_such_overload
from dray.cel._library.bounds import within
from dray.cel._library.equality import same
from dray.cel._library.go_sort import sorted_indexes
from dray.cel._library.table import FunctionTable, of_lists
from dray.cel._values import LISTS, Duration, Timestamp, UInt, Value, type_of

__all__ = ["FUNCTIONS"]

RANGE_MAX: Final = 1_000_000
"""The longest range. cel-go's default."""


def _slice(items: list[Value], start: Value, end: Value) -> list[Value]:
    if type(start) is not int or type(end) is not int:
        raise no_such_overload("slice", items, start, end)
    shown = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise Failure(f"{shown}, negative indexes not supported")
    if start > end:
        raise Failure(f"{shown}, start index must be less than or equal to end index")
    if end > len(items):
        raise Failure(f"{shown}, list is length {len(items)}")
    return list(items[start:end])


def _flatten(items: Value, *depth: Value) -> list[Value]:
    """Listed for every type, because upstream's refusal names types in another way here."""
    if type(items) not in LISTS or (depth and type(depth[0]) is not int):
        shown = ", ".join(str(type_of(argument)) for argument in depth)
        raise Failure(f"no such overload: {type_of(items)}.flatten({shown})")
    levels = depth[0] if depth else 1
    if levels < 0:
        raise Failure("level must be non-negative")
    flat: list[Value] = []
    waiting: list[Iterator[Value]] = [iter(items)]
    # Lists may share what they are made of, so that empty ones alone can take for ever.
    steps = 0
    while waiting:
        for item in waiting[-1]:
            steps = within(steps + 1)
            if type(item) in LISTS and len(waiting) <= levels:
                waiting.append(iter(item))
                break
            flat.append(item)
        else:
            waiting.pop()
    return flat


_COMPARABLE: Final[dict[type, Callable[[Value], Value]]] = {
    bool: bool,
    int: int,
    UInt: int,
    float: float,
    str: str,
    bytes: bytes,
    Duration: lambda value: value.nanoseconds,
    Timestamp: lambda value: (value.seconds, value.nanoseconds),
}
"""Types that have an order, and what Python is to compare of their values."""


def _sort(items: list[Value]) -> list[Value]:
    return _sort_by_associated_keys(items, items)


def _sort_by_associated_keys(items: list[Value], keys: Value) -> list[Value]:
    if type(keys) not in LISTS:
        raise no_such_overload("@sortByAssociatedKeys", items, keys)
    if len(items) != len(keys):
        raise Failure(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list,"
            f" but got {len(items)} and {len(keys)} elements respectively"
        )
    if not items:
        return items
    within(len(keys) ** 2)
    kind = type(keys[0])
    comparable = _COMPARABLE.get(kind)
    if comparable is None:
        raise Failure("list elements must be comparable")
    if any(type(key) is not kind for key in keys):
        raise Failure("list elements must have the same type")
    indexes = sorted_indexes([comparable(key) for key in keys])
    return [items[index] for index in indexes]


def _distinct(items: list[Value]) -> list[Value]:
    if not items:
        return items
    within(len(items) ** 2)
    found: list[Value] = []
    for item in items:
        if not any(same(item, other) for other in found):
            found.append(item)
    return found


def _reverse(items: list[Value]) -> list[Value]:
    return list(items[::-1])


def _range(length: int) -> list[Value]:
    if length < 0:
        raise Failure(f"lists.range: size must be non-negative, got {length}")
    if length > RANGE_MAX:
        raise Failure(f"lists.range: size {length} exceeds maximum allowed ({RANGE_MAX})")
    return list(range(length))


FUNCTIONS: Final[FunctionTable] = {
    "slice": of_lists(_slice),
    "flatten": {object: _flatten},
    "sort": of_lists(_sort),
    "@sortByAssociatedKeys": of_lists(_sort_by_associated_keys),
    "distinct": of_lists(_distinct),
    "reverse": of_lists(_reverse),
    "lists.range": {int: _range},
}
"""What stands under `object` takes a first argument of any type."""
