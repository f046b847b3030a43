"""Sets of indexes, against Python's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.controllers.jobs.indexes import Indexes

COMPLETIONS = 30
sets = st.sets(st.integers(0, COMPLETIONS - 1))


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([3, 4], "3,4"),
        ([1, 3, 4, 5, 7], "1,3-5,7"),
        ([0, 1, 2, 3], "0-3"),
    ],
)
def test_the_text_is_what_a_status_has(indexes: list[int], text: str) -> None:
    assert str(Indexes.of(indexes)) == text
    assert Indexes.parse(text, 100) == Indexes.of(indexes)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("0-9", "0-4", id="cut-off"),
        pytest.param("3,7", "3", id="left-out"),
        pytest.param("x,2", "2", id="unreadable"),
        pytest.param("1-x,2", "2", id="unreadable-end"),
    ],
)
def test_what_is_too_large_or_unreadable_is_left_out(text: str, found: str) -> None:
    assert str(Indexes.parse(text, 5)) == found


@given(sets, sets)
def test_they_behave_as_sets_do(left: set[int], right: set[int]) -> None:
    mine, theirs = Indexes.of(left), Indexes.of(right)
    assert mine | theirs == Indexes.of(left | right)
    assert mine.overlap_count(theirs) == len(left & right)
    assert len(mine) == len(left)
    assert {index for index in range(-1, COMPLETIONS + 1) if index in mine} == left
    assert Indexes.parse(str(mine), COMPLETIONS) == mine


@given(sets, st.integers(0, COMPLETIONS), st.integers(0, 5))
def test_the_missing_are_the_first_that_are_not_there(
    present: set[int], completions: int, count: int
) -> None:
    missing = [index for index in range(completions) if index not in present]
    assert Indexes.of(present).missing(completions, count) == missing[:count]
