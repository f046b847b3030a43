"""Lists of indexes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.errors import ParseError
from dray.validation.job_indexes import count_indexes, first_overlap

COMPLETIONS = 10


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("0", 1), ("0-9", 10), ("1,3-5,7", 5), ("+1", 1), ("001", 1)]
)
def test_indexes_are_counted(text: str, count: int) -> None:
    assert count_indexes(text, COMPLETIONS) == count


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("x", 'cannot convert string to integer for index: "x"'),
        ("1-", 'cannot convert string to integer for index: ""'),
        ("10", 'too large index: "10"'),
        ("0-10", 'too large index: "10"'),
        ("9" * 30, f'cannot convert string to integer for index: "{"9" * 30}"'),
        ("2-1", "non-increasing order, previous: 2, current: 1"),
        ("1,1", "non-increasing order, previous: 1, current: 1"),
        (
            "1-2-3",
            (
                'the fragment "1-2-3" violates the requirement that an index interval can have at'
                " most two parts separated by '-'"
            ),
        ),
    ],
)
def test_what_is_no_list(text: str, rule: str) -> None:
    with pytest.raises(ParseError) as caught:
        count_indexes(text, COMPLETIONS)
    assert caught.value.rule == rule


def written(indexes: frozenset[int]) -> str:
    return ",".join(map(str, sorted(indexes)))


sets = st.frozensets(st.integers(0, COMPLETIONS - 1))


@given(sets, sets)
def test_an_overlap_is_found_wherever_there_is_one(
    left: frozenset[int], right: frozenset[int]
) -> None:
    both = left & right
    found = first_overlap(written(left), written(right), COMPLETIONS)
    assert found == (min(both) if both else None)


def test_what_cannot_be_read_is_passed_over() -> None:
    assert first_overlap("x,3-4", "y,4,z", COMPLETIONS) == 4
