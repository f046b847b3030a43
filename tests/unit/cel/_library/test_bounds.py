from __future__ import annotations

import pytest

from dray.cel._failures import Abort
from dray.cel._library.bounds import SIZE_MAX, weight, within
from dray.cel._values import Optional, Value


def test_a_value_may_be_as_large_as_the_budget_allows() -> None:
    assert within(SIZE_MAX) == SIZE_MAX


def test_a_larger_value_ends_the_evaluation() -> None:
    with pytest.raises(Abort, match="operation cancelled: actual cost limit exceeded"):
        within(SIZE_MAX + 1)


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (1, 0),
        ("text", 0),
        ([], 1),
        ([1, 2], 3),
        ([[1], [1]], 7),
        ({"a": [1]}, 4),
        (Optional([1]), 4),
    ],
)
def test_the_weight_of_a_value_is_what_there_is_to_look_at(value: Value, parts: int) -> None:
    assert weight(value) == parts


def test_what_is_shared_weighs_as_often_as_it_occurs_and_counting_ends() -> None:
    shared: Value = [1]
    for _ in range(100):
        shared = [shared, shared]
    assert 1000 < weight(shared, 1000) < 1100
