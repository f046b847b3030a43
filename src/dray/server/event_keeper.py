"""Events are news, and news gets old: an hour after the last word on it, an event is gone.

The hour runs from the last write, as upstream's lease does; for events that were there before the
server started, from the latest time they speak of. Upstream counterpart: --event-ttl.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from dray.api.core import Event as CoreEvent
from dray.clock import Clock
from dray.errors import RevisionConflict, StoreError
from dray.server.registry import prefix_of
from dray.server.state import State
from dray.store.store import Event, Store

__all__ = ["EVENT_SECONDS", "EventKeeper"]

_log = logging.getLogger(__name__)

EVENT_SECONDS: Final = 3600.0
TICK_SECONDS: Final = 30.0

# Deleted together, so that they share commits; no more, so that writers are not held up.
BATCH: Final = 64

# Looked at before others get their turn: about a millisecond's worth.
LOOKS_MAX: Final = 1000

_PREFIX: Final = prefix_of("", "events")


class EventKeeper:
    """Removes events nobody spoke of for an hour."""

    def __init__(
        self, state: State, store: Store, clock: Clock, *, seconds: float = EVENT_SECONDS
    ) -> None:
        self._state = state
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self._due: list[tuple[float, str, int]] = []  # when, which, as of which revision

    async def run(self) -> None:
        """Keep at it, for ever."""
        subscription = self._store.watch(_PREFIX, self._store.revision, self._note)
        try:
            self._begin()
            while True:
                await self._clock.sleep(TICK_SECONDS)
                await self.sweep()
        finally:
            subscription.close()

    async def sweep(self) -> None:
        """Remove what is due now, all of it."""
        now = self._clock.monotonic()
        while self._due and self._due[0][0] <= now:
            batch = self._next_batch(now)
            removed = await asyncio.gather(*(self._remove(key, as_of) for _, key, as_of in batch))
            left = [entry for entry, done in zip(batch, removed, strict=True) if not done]
            for entry in left:
                heapq.heappush(self._due, entry)
            if left:
                return  # the disk takes nothing now; it may at the next tick
            await asyncio.sleep(0)

    def _next_batch(self, now: float) -> list[tuple[float, str, int]]:
        batch: list[tuple[float, str, int]] = []
        for _look in range(LOOKS_MAX):
            if len(batch) == BATCH or not self._due or self._due[0][0] > now:
                break
            entry = heapq.heappop(self._due)
            _when, key, revision = entry
            record = self._store.head(key)
            if record is not None and record.revision == revision:
                batch.append(entry)
            # Otherwise it was heard of again, or is gone.
        return batch

    async def _remove(self, key: str, revision: int) -> bool:
        """Whether nothing is left to do."""
        try:
            await self._store.delete(key, expected=revision)
        except RevisionConflict:
            return True  # it was heard of again
        except StoreError as error:
            _log.info("event %s was not removed: %s", key, error)
            return False
        return True

    def _begin(self) -> None:
        wall, now = self._clock.now(), self._clock.monotonic()
        for event in self._state.list(CoreEvent):
            metadata = event.metadata
            times = [event.last_timestamp, metadata.creation_timestamp, event.event_time]
            if event.series is not None:
                times.append(event.series.last_observed_time)
            latest = max((time.instant for time in times if time is not None), default=wall)
            left = (latest + timedelta(seconds=self._seconds) - wall).total_seconds()
            key = f"{_PREFIX}{metadata.namespace}/{metadata.name}"
            heapq.heappush(self._due, (now + left, key, int(metadata.resource_version)))

    def _note(self, events: Sequence[Event]) -> None:
        when = self._clock.monotonic() + self._seconds
        for event in events:
            if event.record is not None:
                heapq.heappush(self._due, (when, event.key, event.revision))
