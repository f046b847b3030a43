"""A store as operators see it: how long writes take, how many share a commit, whether it still can.

Passes everything on. Reads go straight to the store underneath, because they must cost nothing; a
write is timed from being asked for to being durable, which is mostly the disk's time.
"""

from __future__ import annotations

from collections.abc import Sequence

from dray.clock import Clock
from dray.errors import StoreUnavailable
from dray.server.operations.measures import Distribution
from dray.store.store import Event, Record, Sink, Store, Subscription

__all__ = ["ObservedStore"]

# From a fast disk's cache to a failing one.
WRITE_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
COMMIT_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class ObservedStore:
    """A store, with counts."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.get = store.get
        self.head = store.head
        self.range = store.range
        self.count = store.count
        self.settled = store.settled
        self.compact = store.compact
        self.writes = Distribution(WRITE_BUCKETS)  # seconds
        self.failures = 0  # writes that the disk did not take
        self.commits = Distribution(COMMIT_BUCKETS)  # writes in each
        self.problem = ""  # of the last write, if the disk did not take it
        self._commits = store.watch("", store.revision, self._committed)

    @property
    def revision(self) -> int:
        return self._store.revision

    @property
    def accepted(self) -> int:
        return self._store.accepted

    @property
    def oldest(self) -> int:
        return self._store.oldest

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        """As the store's."""
        started = self._clock.monotonic()
        try:
            record = await self._store.put(key, value, expected=expected)
        except StoreUnavailable as error:
            self._failed(error)
            raise
        self._done(started)
        return record

    async def delete(self, key: str, *, expected: int | None = None) -> int | None:
        """As the store's."""
        started = self._clock.monotonic()
        try:
            revision = await self._store.delete(key, expected=expected)
        except StoreUnavailable as error:
            self._failed(error)
            raise
        self._done(started)
        return revision

    def watch(self, prefix: str, after: int, sink: Sink) -> Subscription:
        """As the store's."""
        return self._store.watch(prefix, after, sink)

    async def close(self) -> None:
        """As the store's."""
        self.release()
        await self._store.close()

    def release(self) -> None:
        """Count no longer; the store underneath goes on."""
        self._commits.close()

    def _done(self, started: float) -> None:
        self.writes.add(self._clock.monotonic() - started)
        self.problem = ""

    def _failed(self, error: StoreUnavailable) -> None:
        self.failures += 1
        self.problem = str(error)

    def _committed(self, events: Sequence[Event]) -> None:
        self.commits.add(len(events))
