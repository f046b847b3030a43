"""Stores with one bug each, which suite and model must notice."""

from __future__ import annotations

from dray.store.memory import MemoryStore
from dray.store.store import Page, Record, Sink, Subscription

__all__ = ["BROKEN"]


class Careless(MemoryStore):
    """Writes whatever the writer expected."""

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        return await super().put(key, value)


class Reborn(MemoryStore):
    """Forgets when a key was created."""

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        record = await super().put(key, value, expected=expected)
        record = Record(key, value, record.revision, record.revision)
        self._records[key] = record
        return record


class Deaf(MemoryStore):
    """Does not replay what a watch missed."""

    def watch(self, prefix: str, after: int, sink: Sink) -> Subscription:
        return super().watch(prefix, max(after, self.revision), sink)


class Repeating(MemoryStore):
    """Replays one event too many."""

    def watch(self, prefix: str, after: int, sink: Sink) -> Subscription:
        return super().watch(prefix, max(after - 1, self.oldest), sink)


class Modern(MemoryStore):
    """Passes the newest state off as an older one."""

    def range(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Page:
        page = super().range(prefix, after=after, limit=limit)
        return Page(page.records, revision or page.revision, page.remaining_count)


class Eternal(MemoryStore):
    """Counts from the start again once everything is gone."""

    async def delete(self, key: str, *, expected: int | None = None) -> int | None:
        revision = await super().delete(key, expected=expected)
        if not self._records:
            self._revision = 1
        return revision


BROKEN = [Careless, Reborn, Deaf, Repeating, Modern, Eternal]
