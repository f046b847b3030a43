"""Dealing out devices, against trying every way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.allocator.solver.matching import matchable
from dray.allocator.solver.problem import bits


def dealt(needs: Sequence[tuple[int, int]], taken: int = 0) -> bool:
    """Whether there is a way, found by trying all."""
    if not needs:
        return True
    (count, mask), *others = needs
    return any(
        dealt(others, taken | sum(1 << device for device in chosen))
        for chosen in combinations(bits(mask & ~taken), count)
    )


@pytest.mark.parametrize(
    ("needs", "possible"),
    [
        pytest.param([], True, id="nobody-needs-anything"),
        pytest.param([(0, 0)], True, id="nothing-of-nothing"),
        pytest.param([(1, 0)], False, id="one-of-nothing"),
        pytest.param([(2, 0b11)], True, id="all-there-are"),
        pytest.param([(3, 0b11)], False, id="more-than-there-are"),
        pytest.param([(1, 0b1), (1, 0b1)], False, id="two-want-one"),
        pytest.param([(1, 0b11), (1, 0b01)], True, id="one-gives-way"),
        pytest.param([(1, 0b0011), (1, 0b0011), (1, 0b0011), (1, 0b1100)], False, id="hall"),
        pytest.param(
            [(1, 0b00011011), (3, 0b10000111), (1, 0b00101011), (3, 0b11000001)],
            False,
            id="what-was-passed-on-is-not-held-any-more",
        ),
        pytest.param([(2, 0b0111), (1, 0b0001), (1, 0b1010)], True, id="a-chain-of-shifts"),
    ],
)
def test_there_is_a_way_or_there_is_not(needs: list[tuple[int, int]], possible: bool) -> None:
    assert matchable(needs) is possible


NEEDS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**6 - 1)), max_size=4)


@given(NEEDS)
def test_a_way_is_found_if_there_is_one(needs: list[tuple[int, int]]) -> None:
    assert matchable(needs) is dealt(needs)


@given(st.lists(st.tuples(st.just(1), st.integers(1, 2**5 - 1)), min_size=3, max_size=5))
def test_single_devices_are_shifted_as_far_as_needed(needs: list[tuple[int, int]]) -> None:
    assert matchable(needs) is dealt(needs)


@given(NEEDS)
def test_who_comes_first_does_not_matter(needs: list[tuple[int, int]]) -> None:
    assert matchable(needs) is matchable(needs[::-1])
