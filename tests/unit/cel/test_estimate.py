from __future__ import annotations

import pytest

from dray.cel._estimate import MAX, UNKNOWN, Range, times_factor


def test_sums_and_products_stop_at_the_largest_number() -> None:
    assert UNKNOWN.plus(Range(1, 1)) == Range(1, MAX)
    assert UNKNOWN.times(Range(2, 2)) == Range(0, MAX)


@pytest.mark.parametrize(
    ("number", "factor", "product"),
    [(64, 0.1, 7), (60, 0.1, 6), (0, 0.1, 0), (3, 0.25, 1), (MAX, 2.0, MAX), (MAX, 1.0, MAX)],
)
def test_a_fraction_is_rounded_up(number: int, factor: float, product: int) -> None:
    assert times_factor(number, factor) == product


def test_a_union_covers_both() -> None:
    assert Range(2, 3).union(Range(1, 2)) == Range(1, 3)
