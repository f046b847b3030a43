"""When to try again what failed for the moment."""

from __future__ import annotations

from dray.agent.retry import RetrySchedule
from dray.entropy import SeededEntropy


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
