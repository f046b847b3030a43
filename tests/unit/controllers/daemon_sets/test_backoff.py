"""How often failed pods are replaced."""

from __future__ import annotations

import pytest

from dray.controllers.daemon_sets.backoff import SECONDS_MAX, FailureBackoff
from dray.controllers.reconciler import Key
from dray.testing import FakeClock

KEY = Key("default", "agent")


def test_each_time_takes_twice_as_long_up_to_a_limit() -> None:
    clock = FakeClock()
    backoff = FailureBackoff(clock)
    assert backoff.remaining_seconds(KEY, "n1") == 0
    seconds = []
    for _ in range(12):
        backoff.note(KEY, "n1")
        seconds.append(backoff.remaining_seconds(KEY, "n1"))
        clock.advance(seconds[-1])
        assert backoff.remaining_seconds(KEY, "n1") == 0
    assert seconds[:4] == [1, 2, 4, 8]
    assert seconds[-1] == SECONDS_MAX
    assert backoff.remaining_seconds(KEY, "n2") == 0


@pytest.mark.parametrize("lapsed", [False, True])
def test_what_is_long_past_does_not_count(lapsed: bool) -> None:
    clock = FakeClock()
    backoff = FailureBackoff(clock)
    backoff.note(KEY, "n1")
    clock.advance(2 * SECONDS_MAX + lapsed)
    backoff.forget_lapsed(KEY)
    backoff.note(KEY, "n1")
    assert backoff.remaining_seconds(KEY, "n1") == (1 if lapsed else 2)


def test_a_daemon_set_that_is_gone_leaves_nothing() -> None:
    backoff = FailureBackoff(FakeClock())
    backoff.note(KEY, "n1")
    backoff.forget(KEY)
    assert backoff.remaining_seconds(KEY, "n1") == 0
