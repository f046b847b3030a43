"""A store that forgets everything when the process ends: for tests, simulations and trials.

Durable means here: in memory. It passes the same suite as the one on disk.
"""

from __future__ import annotations

from dray.errors import RevisionConflict, StoreError, StoreUnavailable
from dray.store.history import BYTES_MAX, EVENTS_MAX, History
from dray.store.settling import Settling
from dray.store.store import FIRST_REVISION, Record
from dray.store.view import View
from dray.store.writes import check_write

__all__ = ["MemoryStore"]


class MemoryStore(View):
    """Everything is durable at once, so heads are what readers see."""

    def __init__(self, *, events_max: int = EVENTS_MAX, bytes_max: int = BYTES_MAX) -> None:
        super().__init__(FIRST_REVISION, {}, History(0, events_max=events_max, bytes_max=bytes_max))
        self._settling = Settling()
        self._closed = False

    def head(self, key: str) -> Record | None:
        """What the key holds."""
        return self._records.get(key)

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        """Write a value."""
        self._check_open()
        check_write(key, value)
        held = self._checked(key, expected)
        revision = self._revision + 1
        record = Record(key, value, revision if held is None else held.created, revision)
        self._apply([(revision, key, record)])
        self._settling.reach(revision)
        return record

    async def delete(self, key: str, *, expected: int | None = None) -> int | None:
        """Remove a key; the revision of its deletion, or None if there was no such key."""
        self._check_open()
        if self._checked(key, expected) is None:
            return None
        revision = self._revision + 1
        self._apply([(revision, key, None)])
        self._settling.reach(revision)
        return revision

    async def settled(self, revision: int) -> None:
        """Return once the store has reached the revision."""
        if revision > self._revision:
            self._check_open()
            await self._settling.wait(revision)

    async def compact(self, revision: int) -> None:
        """Forget history before the revision."""
        self._forget(revision)

    async def close(self) -> None:
        """Refuse further writes, and end all watches."""
        self._closed = True
        self._watches.close()
        self._settling.abandon(_closed())

    def _checked(self, key: str, expected: int | None) -> Record | None:
        held = self._records.get(key)
        if expected is not None:
            found = 0 if held is None else held.revision
            if found != expected:
                raise RevisionConflict(key, expected=expected, found=found)
        return held

    def _check_open(self) -> None:
        if self._closed:
            raise _closed()


def _closed() -> StoreError:
    return StoreUnavailable("the store is closed")
