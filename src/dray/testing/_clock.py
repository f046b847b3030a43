"""A clock that moves when told to."""

from __future__ import annotations

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count

__all__ = ["FakeClock"]

_START = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """Stands still until `advance`; then wakes everyone whose time has come, in order."""

    def __init__(self, start: datetime = _START) -> None:
        self._start = start
        self._elapsed_seconds = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_seconds)

    def monotonic(self) -> float:
        return self._elapsed_seconds

    @property
    def next_wake(self) -> float | None:
        """When somebody who sleeps is to wake, by the monotonic clock; None if nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)  # whoever slept was cancelled
        return self._sleepers[0][0] if self._sleepers else None

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        wake_at = self._elapsed_seconds + max(seconds, 0.0)
        heapq.heappush(self._sleepers, (wake_at, next(self._order), future))
        if seconds <= 0:
            self.advance(0)
        await future

    def advance(self, seconds: float) -> None:
        """Let time pass. Sleepers wake in the order of their deadlines."""
        self._elapsed_seconds += seconds
        while self._sleepers and self._sleepers[0][0] <= self._elapsed_seconds:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
