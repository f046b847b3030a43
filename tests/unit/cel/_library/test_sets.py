from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._failures import Abort, Failure
from dray.cel._library.sets import FUNCTIONS
from dray.cel._values import DerivedQuantity, UInt, Value


def call(function: str, left: list[Value], right: Value) -> Value:
    return FUNCTIONS[f"sets.{function}"][type(left)](left, right)


@pytest.mark.parametrize(
    ("left", "right", "contains", "equivalent", "intersects"),
    [
        ([], [], True, True, False),
        ([1], [], True, False, False),
        ([1, 2], [2, 2], True, False, True),
        ([1, 1], [1.0, UInt(1)], True, True, True),
        ([1], [2], False, False, False),
        ([True], [1], False, False, False),
        ([[1]], [[1.0]], True, True, True),
        ([float("nan")], [float("nan")], False, False, False),
        ([1, "a"], [Semver.parse("1.2.3")], False, False, False),
    ],
)
def test_lists_compare_as_sets(
    left: list[Value], right: list[Value], contains: bool, equivalent: bool, intersects: bool
) -> None:
    assert call("contains", left, right) is contains
    assert call("equivalent", left, right) is equivalent
    assert call("intersects", left, right) is intersects


def test_the_sought_element_is_asked() -> None:
    one = Quantity.parse("1")
    assert call("contains", [one], [DerivedQuantity(one)]) is True
    assert call("contains", [DerivedQuantity(one)], [one]) is False
    assert call("intersects", [DerivedQuantity(one)], [one]) is True


@pytest.mark.parametrize("function", ["contains", "equivalent", "intersects"])
def test_only_lists_are_sets(function: str) -> None:
    with pytest.raises(Failure, match=rf"^no such overload: sets.{function}\(list, map\)$"):
        call(function, [], {})


@pytest.mark.parametrize("function", ["contains", "equivalent", "intersects"])
def test_more_pairs_than_any_budget_pays_for_are_not_compared(function: str) -> None:
    many: list[Value] = list(range(10_000))
    with pytest.raises(Abort, match="cost limit exceeded"):
        call(function, many, many)
