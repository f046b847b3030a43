"""One Time per second, and never another than the clock's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dray.api.wire import Time
from dray.server.wall_time import WallTime
from dray.testing import FakeClock

START = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)


def test_requests_of_one_second_share_their_time() -> None:
    clock = FakeClock(START)
    wall_time = WallTime(clock)
    first = wall_time.now()
    assert first == Time(START)
    clock.advance(0.7)
    assert wall_time.now() is first
    clock.advance(0.1)
    assert str(wall_time.now()) == "2026-01-31T12:00:01Z"


def test_a_clock_set_back_is_believed() -> None:
    class Fickle:
        instant = START

        def now(self) -> datetime:
            return self.instant

        def monotonic(self) -> float:
            return 0.0

        async def sleep(self, seconds: float) -> None:
            raise AssertionError(seconds)

    clock = Fickle()
    wall_time = WallTime(clock)
    wall_time.now()
    clock.instant -= timedelta(hours=1)
    assert str(wall_time.now()) == "2026-01-31T11:00:00Z"
