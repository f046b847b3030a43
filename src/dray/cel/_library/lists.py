"""What Kubernetes adds to lists: `isSorted`, `sum`, `min`, `max`, `indexOf`, `includes`.

The first element decides whether a function is for this list at all. Those after it are looked at
one by one: one without an order is an error, one that cannot be compared with its neighbour is not,
and counts as neither less nor greater.

The sum of an empty list is the zero of a type, which the list cannot tell: `FUNCTIONS` takes it for
a list of int, `OVERLOADS` has the sums of lists whose type was known when the expression was
checked.

Upstream counterpart: apiserver pkg/cel/library/lists.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from dray.cel._failures import Failure, no_such_overload
from dray.cel._library import arithmetic
from dray.cel._library.equality import compare_numbers, same
from dray.cel._library.table import FunctionTable, Implementation, of_lists
from dray.cel._values import LISTS, Duration, Timestamp, UInt, Value

__all__ = ["FUNCTIONS", "OVERLOADS"]

_NUMBERS: Final = frozenset({int, UInt, float})
_ORDERED: Final = _NUMBERS | {bool, str, bytes, Duration, Timestamp}


# Order


def _order(left: Value, right: Value) -> int | None:
    """-1, 0 or 1; None if the two cannot be compared."""
    kind = type(left)
    if kind in _NUMBERS and type(right) in _NUMBERS:
        return compare_numbers(left, right)
    if kind is not type(right):
        return None
    if kind is Duration:
        left, right = left.nanoseconds, right.nanoseconds
    elif kind is Timestamp:
        left, right = (left.seconds, left.nanoseconds), (right.seconds, right.nanoseconds)
    return int(left > right) - int(left < right)


def _check_first(function: str, items: list[Value], kinds: frozenset[type]) -> None:
    if items and type(items[0]) not in kinds:
        raise no_such_overload(function, items)


def _is_sorted(items: list[Value]) -> bool:
    _check_first("isSorted", items, _ORDERED)
    previous: Value = None
    for index, item in enumerate(items):
        if type(item) not in _ORDERED:
            raise Failure("no such overload")
        if index and _order(previous, item) == 1:
            return False
        previous = item
    return True


def _extreme(function: str, worse: int) -> Implementation:
    """The first element that no later one makes `worse` by comparison."""

    def find(items: list[Value]) -> Value:
        _check_first(function, items, _ORDERED)
        if not items:
            raise Failure(f"{function} called on empty list")
        best = items[0]
        for item in items[1:]:
            if type(item) not in _ORDERED:
                raise Failure("no such overload")
            if _order(best, item) == worse:
                best = item
        return best

    return find


# Sums

_ZEROS: Final[dict[type, Value]] = {
    int: 0,
    UInt: UInt(0),
    float: 0.0,
    Duration: Duration(0),
}
_ADD: Final = arithmetic.FUNCTIONS["_+_"]


def _sum(items: list[Value]) -> Value:
    _check_first("sum", items, frozenset(_ZEROS))
    return _sum_from(_ZEROS[type(items[0])] if items else 0, items)


def _sum_of(kind: type) -> Implementation:
    def add_up(items: list[Value]) -> Value:
        _check_first("sum", items, frozenset({kind}))
        return _sum_from(_ZEROS[kind], items)

    return add_up


def _sum_from(total: Value, items: Iterable[Value]) -> Value:
    # Not always of the type it starts with: a duration and a moment add up to a moment.
    for item in items:
        total = _ADD[type(total)](total, item)
    return total


# Search


def _index_of(items: list[Value], *arguments: Value) -> int:
    [sought] = _one("indexOf", items, arguments)
    for index, item in enumerate(items):
        if same(item, sought):
            return index
    return -1


def _last_index_of(items: list[Value], *arguments: Value) -> int:
    [sought] = _one("lastIndexOf", items, arguments)
    for index in range(len(items) - 1, -1, -1):
        if same(items[index], sought):
            return index
    return -1


def _one(function: str, items: list[Value], arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    """Texts have functions of these names that take a second argument."""
    if len(arguments) != 1:
        raise no_such_overload(function, items, *arguments)
    return arguments


def _includes(target: Value, sought: Value) -> bool:
    """A value that is no list includes what it equals: an attribute may be one or many."""
    if type(target) in LISTS:
        return any(same(item, sought) for item in target)
    return same(target, sought)


FUNCTIONS: Final[FunctionTable] = {
    "isSorted": of_lists(_is_sorted),
    "sum": of_lists(_sum),
    "min": of_lists(_extreme("min", 1)),
    "max": of_lists(_extreme("max", -1)),
    "indexOf": of_lists(_index_of),
    "lastIndexOf": of_lists(_last_index_of),
    "includes": {object: _includes},
}
"""What stands under `object` takes a first argument of any type."""


def _of(function: str, kind: type) -> Implementation:
    """The function for lists that were taken to hold this type when the expression was checked."""
    implementation = FUNCTIONS[function][list]

    def call(items: Value) -> Value:
        if type(items) in LISTS:
            _check_first(function, items, frozenset({kind}))
            return implementation(items)
        raise no_such_overload(function, items)

    return call


_ELEMENTS: Final[dict[str, type]] = {
    "int": int,
    "uint": UInt,
    "double": float,
    "bool": bool,
    "duration": Duration,
    "timestamp": Timestamp,
    "string": str,
    "bytes": bytes,
}

OVERLOADS: Final[Mapping[str, Implementation]] = {
    **{f"list_{name}_is_sorted_bool": _of("isSorted", kind) for name, kind in _ELEMENTS.items()},
    **{f"list_{name}_max_{name}": _of("max", kind) for name, kind in _ELEMENTS.items()},
    **{f"list_{name}_min_{name}": _of("min", kind) for name, kind in _ELEMENTS.items()},
    "list_int_sum_int": _sum_of(int),
    "list_uint_sum_uint": _sum_of(UInt),
    "list_double_sum_double": _sum_of(float),
    "list_duration_sum_duration": _sum_of(Duration),
}
"""By the overload that was found when the expression was checked."""
