from __future__ import annotations

import asyncio

import pytest

from dray.errors import RevisionConflict, StoreUnavailable
from dray.server.operations.observed_store import ObservedStore
from dray.store.memory import MemoryStore
from dray.store.store import Record
from dray.testing import FakeClock


class Broken(MemoryStore):
    """A store whose disk takes a moment, and then nothing."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock
        self.broken = False

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        self._clock.advance(0.5)
        if self.broken:
            raise StoreUnavailable("the disk is gone")
        return await super().put(key, value, expected=expected)


def test_it_answers_as_the_store_underneath() -> None:
    async def run() -> None:
        store = MemoryStore()
        observed = ObservedStore(store, FakeClock())
        record = await observed.put("a/b", b"1")
        assert observed.get("a/b") == observed.head("a/b") == record
        assert (observed.revision, observed.oldest) == (store.revision, store.oldest)
        assert (observed.count("a/"), observed.range("a/").records) == (1, [record])
        await observed.settled(record.revision)
        assert await observed.delete("a/b") == store.revision
        heard: list[object] = []
        observed.watch("a/", record.revision, heard.extend).close()
        assert len(heard) == 1
        await observed.compact(store.revision)
        await observed.close()

    asyncio.run(run())


def test_writes_are_timed_and_commits_are_counted() -> None:
    async def run() -> None:
        clock = FakeClock()
        observed = ObservedStore(Broken(clock), clock)
        await observed.put("a/b", b"1")
        await observed.delete("a/b")
        assert (observed.writes.count, observed.writes.total) == (2, 0.5)
        assert (observed.commits.count, observed.commits.total) == (2, 2)

    asyncio.run(run())


def test_a_disk_that_takes_nothing_is_counted_and_remembered_until_it_does() -> None:
    async def run() -> None:
        clock = FakeClock()
        store = Broken(clock)
        observed = ObservedStore(store, clock)
        store.broken = True
        with pytest.raises(StoreUnavailable):
            await observed.put("a/b", b"1")
        assert (observed.failures, observed.problem) == (1, "the disk is gone")
        store.broken = False
        await observed.put("a/b", b"1")
        assert (observed.failures, observed.problem) == (1, "")

    asyncio.run(run())


def test_a_conflict_is_no_failure_of_the_disk() -> None:
    async def run() -> None:
        observed = ObservedStore(MemoryStore(), FakeClock())
        with pytest.raises(RevisionConflict):
            await observed.put("a/b", b"1", expected=7)
        assert observed.failures == 0

    asyncio.run(run())


def test_once_released_it_counts_no_more() -> None:
    async def run() -> None:
        store = MemoryStore()
        observed = ObservedStore(store, FakeClock())
        observed.release()
        await store.put("a/b", b"1")
        assert observed.commits.count == 0

    asyncio.run(run())
