"""Rests double up to a maximum and end with a whole second."""

from __future__ import annotations

import pytest

from dray.scheduler.backoff import Backoff
from tests.unit.scheduler.queued import queued


@pytest.mark.parametrize(
    ("count", "seconds"),
    [(0, 0.0), (1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 10.0), (5000, 10.0)],
)
def test_a_rest_doubles_up_to_the_maximum(count: int, seconds: float) -> None:
    assert Backoff().seconds(count) == seconds


def test_a_maximum_below_the_first_rest_is_the_rest() -> None:
    assert Backoff(initial_seconds=5, max_seconds=3).seconds(1) == 3


def test_the_second_in_which_a_rest_ends_belongs_to_it() -> None:
    backoff = Backoff()
    early, late = queued("a", unschedulable_count=1), queued("b", unschedulable_count=1)
    early.added_at, late.added_at = 10.1, 10.9
    assert backoff.ready_at(early) == backoff.ready_at(late) == 12.0


def test_errors_in_a_row_count_and_not_the_rejections_before_them() -> None:
    pod = queued("a", unschedulable_count=4, consecutive_errors_count=1)
    assert Backoff().ready_at(pod) == 2.0


def test_who_was_never_rejected_does_not_rest() -> None:
    assert Backoff().ready_at(queued("a")) == 0.0


def test_nobody_rests_where_the_maximum_is_zero() -> None:
    assert Backoff(max_seconds=0).ready_at(queued("a", unschedulable_count=3)) == 0.0
