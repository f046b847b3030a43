from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cel._library.go_sort import sorted_indexes

NAN = float("nan")


@given(st.lists(st.integers(min_value=0, max_value=50), max_size=200))
def test_keys_come_out_in_order(keys: list[int]) -> None:
    indexes = sorted_indexes(keys)
    assert sorted(indexes) == list(range(len(keys)))
    assert [keys[index] for index in indexes] == sorted(keys)


def test_short_lists_keep_equals_in_order() -> None:
    keys = [index % 3 for index in range(12)]
    assert sorted_indexes(keys) == sorted(range(12), key=keys.__getitem__)


# Recorded from Go 1.26: sort.Slice on the indexes, by key.
@pytest.mark.parametrize(
    ("keys", "order"),
    [
        (
            [index % 2 for index in range(1, 17)],
            [9, 1, 15, 3, 13, 5, 11, 7, 8, 0, 10, 6, 12, 4, 14, 2],
        ),
        ([2.0, NAN, 1.0, 0.0], [0, 1, 3, 2]),
    ],
    ids=["equals", "not-a-number"],
)
def test_longer_lists_get_gos_order(keys: list[float], order: list[int]) -> None:
    assert sorted_indexes(keys) == order


@pytest.mark.parametrize(
    "keys",
    [
        list(range(300)),
        list(range(300))[::-1],
        [*range(150), *range(150)],
        [0] * 300,
        [index * 7919 % 301 for index in range(300)],
        [index if index % 60 else 0 for index in range(300)],
        [min(index, 300 - index) for index in range(300)],
    ],
    ids=["rising", "falling", "two-runs", "equal", "scattered", "almost", "hill"],
)
def test_patterns_do_not_defeat_it(keys: list[int]) -> None:
    assert [keys[index] for index in sorted_indexes(keys)] == sorted(keys)
