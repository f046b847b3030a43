"""How long to wait before trying again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dray.agent.pods.backoff import RestartBackoff

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
