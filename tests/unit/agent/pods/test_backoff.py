"""How long to wait before trying again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dray.agent.pods.backoff import RestartBackoff, RetrySchedule
from dray.entropy import SeededEntropy

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_restarts_wait_ten_seconds_doubling_to_five_minutes() -> None:
    backoff, now, waits = RestartBackoff(), START, []
    for _ in range(8):
        ready = backoff.ready_at(now)
        waits.append((ready - now).total_seconds())
        backoff = backoff.after(now, ready)
        now = ready
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]


def test_ten_quiet_minutes_forget_it_all() -> None:
    backoff = RestartBackoff(300, START)
    later = START + timedelta(seconds=601)
    assert backoff.ready_at(later) == later
    assert backoff.after(later, later).delay_seconds == 10
    soon = START + timedelta(seconds=600)
    assert backoff.ready_at(soon) == soon + timedelta(seconds=300)


def test_retries_go_from_one_second_to_sixty_never_longer() -> None:
    schedule, delays = RetrySchedule(SeededEntropy(1)), []
    for _ in range(40):
        delays.append(schedule.fail(0.0))
    for delay, full in zip(delays, [1, 2, 4, 8, 16, 32, 60, 60], strict=False):
        assert 0.8 * full <= delay <= full
    assert max(delays) <= 60
    assert schedule.attempts == 40


def test_a_retry_waits_until_it_is_due_hurried_or_not_needed() -> None:
    schedule = RetrySchedule(SeededEntropy(1))
    assert not schedule.waits(0.0)
    delay = schedule.fail(100.0)
    assert schedule.waits(100.0)
    assert not schedule.waits(100.0 + delay)
    schedule.hurry()
    assert not schedule.waits(100.0)
    assert schedule.attempts == 1
    schedule.reset()
    assert schedule.attempts == 0
