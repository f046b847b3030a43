"""Keys of objects that somebody has to look at, each at most once at a time.

A key that is added again while it waits is looked at once; one that is added while it is being
looked at is looked at again afterwards, never by two at a time. Keys may be added for later, and
what failed is added again after a time that doubles with each failure in a row. Nothing here knows
what happened to an object: whoever takes a key looks at how things are. Upstream counterpart:
client-go's util/workqueue.

Keys are taken in the order in which they became ready, so none can keep another waiting for ever:
one that is added while it is being looked at goes to the end of the line. What is remembered is
bounded by the keys that wait, fail or are being looked at.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from itertools import count
from typing import Final, Generic, TypeVar

from dray.clock import Clock

__all__ = ["WorkQueue"]

# Upstream's: at first a conflict or two, which are over at once; in the end something that takes
# a person to mend, whom a few minutes more do not matter.
FAILURE_SECONDS_MIN: Final = 0.005
FAILURE_SECONDS_MAX: Final = 300.0

# Upstream's: failures that are tried again at their own time, before a limit of all of them counts.
RETRIES_BURST: Final = 100

# Whoever gives up on a key without saying so leaves its failures behind. The oldest are forgotten
# then: the next failure of such a key is tried again sooner than it might be.
FAILURES_MAX: Final = 65_536

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """Keys in the order in which they were added."""

    def __init__(
        self,
        clock: Clock,
        *,
        failure_seconds_min: float = FAILURE_SECONDS_MIN,
        failure_seconds_max: float = FAILURE_SECONDS_MAX,
        retries_per_second: float | None = None,
        waited: Callable[[float], None] | None = None,
        worked: Callable[[float], None] | None = None,
    ) -> None:
        """`retries_per_second` limits the retries of all keys together, after a burst of them.

        `waited` hears for how many seconds each key was ready before it was taken, and `worked` for
        how many it was taken: for metrics.
        """
        self._clock = clock
        self._failure_seconds_min = failure_seconds_min
        self._failure_seconds_max = failure_seconds_max
        self._retry_seconds = 1.0 / retries_per_second if retries_per_second else 0.0
        self._retries_at = float("-inf")  # when the next retry is within the limit
        self._waited = waited
        self._worked = worked
        self._ready: deque[K] = deque()
        # Since when; in the deque, or to be put there when done.
        self._waiting: dict[K, float] = {}
        self._taken: dict[K, float] = {}  # since when
        self._order = count()
        self._later: list[tuple[float, int, K]] = []  # a heap, also of entries that no longer count
        self._due: dict[K, float] = {}  # the earliest time of each key that is for later
        self._failures: dict[K, int] = {}
        self._getters: deque[asyncio.Future[None]] = deque()  # nobody woke them yet
        self._alarm: asyncio.Task[None] | None = None  # only while somebody waits
        self._alarm_at = 0.0
        self.added_count = 0
        self.retried_count = 0
        self.done_count = 0

    def add(self, key: K) -> None:
        """Have it looked at."""
        self._due.pop(key, None)  # sooner than it was to be
        if key in self._waiting:
            return
        self.added_count += 1
        self._waiting[key] = self._clock.monotonic()
        if key not in self._taken:
            self._ready.append(key)
            self._wake()

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
        if len(self._later) > 2 * len(self._due) + _LATER_SLACK:
            self._later = [(due, next(self._order), key) for key, due in self._due.items()]
            heapq.heapify(self._later)
        if self._later[0][0] == at:
            self._wake()  # whoever is woken sets the alarm anew

    def retry(self, key: K) -> float:
        """Have it looked at again after a failure; returns the seconds until then."""
        failures = self._failures.pop(key, 0)
        self._failures[key] = failures + 1  # the last now
        if len(self._failures) > FAILURES_MAX:
            del self._failures[next(iter(self._failures))]
        self.retried_count += 1
        seconds = min(
            self._failure_seconds_min * 2.0 ** min(failures, _DOUBLINGS_MAX),
            self._failure_seconds_max,
        )
        seconds = max(seconds, self._reserve())
        self.add_after(key, seconds)
        return seconds

    def forget(self, key: K) -> None:
        """It worked, or is given up: the next failure is the first again."""
        self._failures.pop(key, None)

    def failures_count(self, key: K) -> int:
        """How often it failed in a row."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The next key; whoever gets it calls `done` when finished with it.

        Several may wait at once, and each key goes to one of them. Whoever is cancelled has taken
        nothing.
        """
        while True:
            self._collect()
            if self._ready:
                return self._take()
            await self._wait()

    def done(self, key: K) -> None:
        """What was taken is finished, in whichever way."""
        since = self._taken.pop(key, None)
        if since is None:
            return
        now = self._clock.monotonic()
        self.done_count += 1
        if self._worked is not None:
            self._worked(now - since)
        if key in self._waiting:
            self._waiting[key] = now  # before, it could not have been taken
            self._ready.append(key)
            self._wake()

    def __len__(self) -> int:
        """How many keys wait for somebody to take them now."""
        return len(self._waiting)

    @property
    def taken_count(self) -> int:
        """How many keys are being looked at."""
        return len(self._taken)

    @property
    def later_count(self) -> int:
        """How many keys are to be added later."""
        return len(self._due)

    def longest_seconds(self) -> float:
        """For how long the key that was taken first of those not done has been looked at."""
        # A dict keeps the order in which keys were taken.
        first = next(iter(self._taken.values()), None)
        return 0.0 if first is None else self._clock.monotonic() - first

    def unfinished_seconds(self) -> float:
        """For how long all keys that are not done have been looked at, together."""
        return len(self._taken) * self._clock.monotonic() - sum(self._taken.values())

    # Private -----------------------------------------------------------------------------------

    def _take(self) -> K:
        key = self._ready.popleft()
        now = self._clock.monotonic()
        since = self._waiting.pop(key)
        self._taken[key] = now
        if self._waited is not None:
            self._waited(now - since)
        return key

    def _collect(self) -> None:
        """Move what has come due to those that are ready."""
        now = self._clock.monotonic()
        while self._later:
            at, _, key = self._later[0]
            counts = self._due.get(key) == at
            if counts and at > now:
                return
            heapq.heappop(self._later)
            if counts:
                self.add(key)

    def _reserve(self) -> float:
        """Seconds until the limit of all retries has room for one more."""
        if not self._retry_seconds:
            return 0.0
        now = self._clock.monotonic()
        # Time that was not used counts, up to a burst.
        oldest = now - self._retry_seconds * (RETRIES_BURST - 1)
        at = max(self._retries_at, oldest)
        self._retries_at = at + self._retry_seconds
        return max(0.0, at - now)

    async def _wait(self) -> None:
        """Until somebody may find something: an addition, or a time that has come."""
        getter = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        self._set_alarm()
        try:
            await getter
        except asyncio.CancelledError:
            with suppress(ValueError):
                self._getters.remove(getter)
            if getter.done() and not getter.cancelled():
                self._wake()  # what it was woken for is there for the next
            raise
        finally:
            if not self._getters:
                self._stop_alarm()

    def _wake(self) -> None:
        """Have one look who waits; it takes what it finds, or waits again."""
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _set_alarm(self) -> None:
        """One alarm for all who wait, at the first time that counts."""
        if not self._later:
            return
        at = self._later[0][0]
        if self._alarm is None or at < self._alarm_at:
            self._stop_alarm()
            self._alarm_at = at
            self._alarm = asyncio.ensure_future(self._sleep_until(at))

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    async def _sleep_until(self, at: float) -> None:
        await self._clock.sleep(at - self._clock.monotonic())
        self._alarm = None
        self._wake()


# More change nothing, and would one day be too large a number.
_DOUBLINGS_MAX: Final = 40

# Entries of the heap that no longer count, before they are cleared away.
_LATER_SLACK: Final = 64
