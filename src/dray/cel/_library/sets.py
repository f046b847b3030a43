"""Lists taken for sets: `sets.contains`, `sets.equivalent`, `sets.intersects`.

Elements are compared by `==`, the sought one on its left, and a comparison that fails counts as
unequal. There is no hashing: 1, 1u and 1.0 are one element, and not every value could be hashed.

Upstream counterpart: cel-go ext/sets.go.
"""

from __future__ import annotations

from typing import Final

from dray.cel._failures import no_such_overload
from dray.cel._library.bounds import within
from dray.cel._library.equality import same
from dray.cel._library.table import FunctionTable, of_lists
from dray.cel._values import LISTS, Value

__all__ = ["FUNCTIONS"]


def _checked(function: str, left: list[Value], right: Value) -> list[Value]:
    if type(right) not in LISTS:
        raise no_such_overload(function, left, right)
    # A call costs a unit per pair of elements, so beyond this it is never within a budget.
    within(len(left) * len(right))
    found: list[Value] = right
    return found


def _has(items: list[Value], sought: Value) -> bool:
    return any(same(sought, item) for item in items)


def _contains(left: list[Value], right: Value) -> bool:
    return all(_has(left, sought) for sought in _checked("sets.contains", left, right))


def _equivalent(left: list[Value], right: Value) -> bool:
    other = _checked("sets.equivalent", left, right)
    return all(_has(left, sought) for sought in other) and all(
        _has(other, sought) for sought in left
    )


def _intersects(left: list[Value], right: Value) -> bool:
    other = _checked("sets.intersects", left, right)
    return any(_has(other, sought) for sought in left)


FUNCTIONS: Final[FunctionTable] = {
    "sets.contains": of_lists(_contains),
    "sets.equivalent": of_lists(_equivalent),
    "sets.intersects": of_lists(_intersects),
}
