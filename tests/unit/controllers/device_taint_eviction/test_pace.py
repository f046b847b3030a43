"""Turns, at most so many in a second."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dray.controllers.device_taint_eviction.pace import Pace


def test_who_asks_late_goes_at_once_and_others_wait_their_turn() -> None:
    pace = Pace(2.0)
    assert [pace.turn(10.0) for _ in range(3)] == [10.0, 10.5, 11.0]
    assert pace.turn(20.0) == 20.0


@given(st.lists(st.floats(0, 5), max_size=20))
def test_no_two_turns_are_closer_than_the_pace_allows(waits: list[float]) -> None:
    pace, now, turns = Pace(4.0), 0.0, list[float]()
    for wait in waits:
        now += wait
        turns.append(pace.turn(now))
        assert turns[-1] >= now
    assert all(later - turn >= 0.25 - 1e-9 for turn, later in pairwise(turns))
