"""The machine's clock, and that the fake one stands in for it."""

from __future__ import annotations

import asyncio
from datetime import UTC

from dray.clock import Clock, SystemClock
from dray.testing import FakeClock


def test_the_system_clock_is_in_utc_and_never_goes_back() -> None:
    clock: Clock = SystemClock()
    first = clock.monotonic()
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() >= first


def test_sleeping_no_time_returns() -> None:
    for clock in (SystemClock(), FakeClock()):
        asyncio.run(clock.sleep(0))
