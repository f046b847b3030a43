"""Keys of objects that somebody has to look at, each at most once at a time.

A key that is added again while it waits is looked at once; one that is added while it is being
looked at is looked at again afterwards, never by two at a time. Keys may be added for later, and
what failed is added again after a time that doubles with each failure in a row. Nothing here knows
what happened to an object: whoever takes a key looks at how things are. Upstream counterpart:
client-go's util/workqueue.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from itertools import count
from typing import Final, Generic, TypeVar

from dray.clock import Clock

__all__ = ["WorkQueue"]

# Upstream's: at first a conflict or two, which are over at once; in the end something that takes
# a person to mend, whom a few minutes more do not matter.
FAILURE_SECONDS_MIN: Final = 0.005
FAILURE_SECONDS_MAX: Final = 300.0

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """Keys in the order in which they were added."""

    def __init__(
        self,
        clock: Clock,
        *,
        failure_seconds_min: float = FAILURE_SECONDS_MIN,
        failure_seconds_max: float = FAILURE_SECONDS_MAX,
    ) -> None:
        self._clock = clock
        self._failure_seconds_min = failure_seconds_min
        self._failure_seconds_max = failure_seconds_max
        self._ready: deque[K] = deque()
        self._waiting: set[K] = set()  # in the deque, or to be put there when done
        self._taken: set[K] = set()
        self._order = count()
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}  # the earliest time of each key that is for later
        self._failures: dict[K, int] = {}
        self._changed = asyncio.Event()
        self.added_count = 0
        self.retried_count = 0

    def add(self, key: K) -> None:
        """Have it looked at."""
        self._due.pop(key, None)  # sooner than it was to be
        if key in self._waiting:
            return
        self.added_count += 1
        self._waiting.add(key)
        if key not in self._taken:
            self._ready.append(key)
            self._changed.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Have it looked at in a while, unless that happens sooner anyway."""
        if seconds <= 0:
            self.add(key)
            return
        at = self._clock.monotonic() + seconds
        if key in self._waiting or self._due.get(key, at + 1) <= at:
            return
        self._due[key] = at
        heapq.heappush(self._later, (at, next(self._order), key))
        self._changed.set()

    def retry(self, key: K) -> float:
        """Have it looked at again after a failure; returns the seconds until then."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retried_count += 1
        seconds = min(
            self._failure_seconds_min * 2.0 ** min(failures, 40), self._failure_seconds_max
        )
        self.add_after(key, seconds)
        return seconds

    def forget(self, key: K) -> None:
        """It worked: the next failure is the first again."""
        self._failures.pop(key, None)

    def failures_count(self, key: K) -> int:
        """How often it failed in a row."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The next key; whoever gets it calls `done` when finished with it."""
        while True:
            self._collect()
            if self._ready:
                key = self._ready.popleft()
                self._waiting.discard(key)
                self._taken.add(key)
                return key
            self._changed.clear()
            await self._wait()

    def done(self, key: K) -> None:
        """What was taken is finished, in whichever way."""
        self._taken.discard(key)
        if key in self._waiting:
            self._ready.append(key)
            self._changed.set()

    def __len__(self) -> int:
        """How many keys wait for somebody to take them now."""
        return len(self._waiting)

    # Private -----------------------------------------------------------------------------------

    def _collect(self) -> None:
        """Move what has come due to those that are ready."""
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            at, _, key = heapq.heappop(self._later)
            if self._due.get(key) == at:
                self.add(key)

    async def _wait(self) -> None:
        """Until something is added, or due."""
        while self._later and self._due.get(self._later[0][2]) != self._later[0][0]:
            heapq.heappop(self._later)
        if not self._later:
            await self._changed.wait()
            return
        alarm = asyncio.ensure_future(self._sleep_until(self._later[0][0]))
        try:
            await self._changed.wait()
        finally:
            alarm.cancel()

    async def _sleep_until(self, at: float) -> None:
        await self._clock.sleep(at - self._clock.monotonic())
        self._changed.set()


# More change nothing, and would one day be too large a number.
_DOUBLINGS_MAX: Final = 40
