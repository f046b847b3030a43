from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dray.errors import RevisionCompacted, StoreCorrupt, StoreUnavailable
from dray.store import sqlite
from dray.store.files import Lock
from dray.store.sqlite import SQLiteStore
from dray.store.store import FIRST_REVISION, Event, Store
from dray.store.writer import COMPACTION_LAG_REVISIONS
from dray.testing.store_suite import StoreSuite
from tests.unit.store.logs import ScriptedLog, store_on


class TestSQLiteStore(StoreSuite):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.path = tmp_path / "dray.db"

    def open_store(self, *, events_max: int = 1000) -> Store:
        return SQLiteStore.open(self.path, events_max=events_max)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dray.db"


def with_store(path: Path, steps: Callable[[SQLiteStore], Awaitable[None]], **options: int) -> None:
    async def main() -> None:
        store = SQLiteStore.open(path, **options)
        try:
            await steps(store)
        finally:
            await store.close()

    asyncio.run(main())


def with_log(steps: Callable[[SQLiteStore, ScriptedLog], Awaitable[None]]) -> None:
    async def main() -> None:
        complaints: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        log = ScriptedLog()
        store = store_on(log)
        try:
            await steps(store, log)
        finally:
            log.gate.set()
            await store.close()
        # asyncio complains of errors that nobody heard when it forgets them.
        gc.collect()
        assert not complaints

    asyncio.run(main())


# Opened again ----------------------------------------------------------------------------------


def test_a_watch_resumes_where_the_last_process_left_it(path: Path) -> None:
    async def write(store: SQLiteStore) -> None:
        for n in range(6):
            await store.put("/a", b"%d" % n)

    async def resume(store: SQLiteStore) -> None:
        heard: list[Event] = []
        store.watch("", 4, heard.extend)
        assert [(e.record and e.record.value, e.previous and e.previous.value) for e in heard] == [
            (b"3", b"2"),
            (b"4", b"3"),
            (b"5", b"4"),
        ]
        (record,) = store.range("", revision=3).records
        assert record.value == b"1"

    with_store(path, write)
    with_store(path, resume)


def test_the_counter_survives_the_end_of_everything(path: Path) -> None:
    async def empty(store: SQLiteStore) -> None:
        for n in range(5):
            await store.put(f"/{n}", b"")
        for n in range(5):
            await store.delete(f"/{n}")
        await store.compact(store.revision)

    async def look(store: SQLiteStore) -> None:
        assert store.revision == store.oldest == FIRST_REVISION + 10
        assert store.count("") == 0
        with pytest.raises(RevisionCompacted):
            store.watch("", FIRST_REVISION + 9, lambda _: None)

    with_store(path, empty)
    with_store(path, look)


def test_a_row_that_changed_on_disk_is_not_served(path: Path) -> None:
    async def write(store: SQLiteStore) -> None:
        await store.put("/a", b"the value as written")

    with_store(path, write)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"the value as written", b"the value as flipped"))
    with pytest.raises(StoreCorrupt, match='revision 2 of "/a" does not match its checksum'):
        SQLiteStore.open(path)
    Lock.take(path).release()  # a refusal leaves nothing locked


def test_the_log_follows_what_memory_forgets(path: Path) -> None:
    count = 3 * COMPACTION_LAG_REVISIONS

    async def write(store: SQLiteStore) -> None:
        for start in range(0, count, 128):
            await asyncio.gather(*(store.put("/a", b"%d" % n) for n in range(start, start + 128)))
        assert store.oldest == store.revision - 10

    async def look(store: SQLiteStore) -> None:
        assert store.revision == FIRST_REVISION + count
        assert store.oldest >= FIRST_REVISION + COMPACTION_LAG_REVISIONS

    with_store(path, write, events_max=10)
    with_store(path, look)


# Heads -----------------------------------------------------------------------------------------


def test_a_head_is_seen_at_once_and_by_readers_when_it_is_durable() -> None:
    async def steps(store: SQLiteStore, log: ScriptedLog) -> None:
        heard: list[Event] = []
        store.watch("", store.revision, heard.extend)
        log.gate.clear()
        writing = asyncio.ensure_future(store.put("/a", b"1"))
        await asyncio.sleep(0)
        head = store.head("/a")
        assert head is not None
        assert (store.get("/a"), store.revision, heard) == (None, FIRST_REVISION, [])
        deleting = asyncio.ensure_future(store.delete("/a", expected=head.revision))
        again = asyncio.ensure_future(store.delete("/a"))
        settling = asyncio.ensure_future(store.settled(head.revision))
        await asyncio.sleep(0)
        assert store.head("/a") is None
        # That there is nothing left to delete is no news before it is durable.
        assert not again.done()
        log.gate.set()
        await asyncio.gather(writing, deleting, settling)
        assert await again is None
        assert [event.revision for event in heard] == [head.revision, head.revision + 1]

    with_log(steps)


def test_the_revision_is_taken_before_the_first_suspension() -> None:
    async def steps(store: SQLiteStore, log: ScriptedLog) -> None:
        writing = store.put("/a", b"1")
        writing.send(None)
        head = store.head("/a")
        assert head is not None
        assert head.revision == FIRST_REVISION + 1
        writing.close()
        await store.settled(head.revision)

    with_log(steps)


def test_too_many_waiting_writes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "WAITING_WRITES_MAX", 3)

    async def steps(store: SQLiteStore, log: ScriptedLog) -> None:
        log.gate.clear()
        writing = [asyncio.ensure_future(store.put(f"/{n}", b"")) for n in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(StoreUnavailable, match="3 writes of 0 bytes wait for the disk"):
            await store.put("/4", b"")
        assert store.head("/4") is None
        log.gate.set()
        await asyncio.gather(*writing)
        await store.put("/4", b"")

    with_log(steps)


# When the disk refuses -------------------------------------------------------------------------


def test_a_refused_batch_takes_back_all_that_was_not_durable() -> None:
    async def steps(store: SQLiteStore, log: ScriptedLog) -> None:
        first = await store.put("/a", b"kept")
        heard: list[Event] = []
        store.watch("", store.revision, heard.extend)
        log.gate.clear()
        log.fail()
        refused = [
            asyncio.ensure_future(store.put("/a", b"1")),
            asyncio.ensure_future(store.put("/b", b"2")),
            asyncio.ensure_future(store.delete("/a")),
            asyncio.ensure_future(store.settled(first.revision + 2)),
        ]
        await asyncio.sleep(0)
        log.gate.set()
        for task in refused:
            with pytest.raises(StoreUnavailable, match="the disk is full"):
                await task
        assert store.head("/a") == store.get("/a") == first
        assert store.head("/b") is store.get("/b") is None
        assert (store.revision, heard) == (first.revision, [])

    with_log(steps)


def test_the_store_is_back_when_the_disk_is() -> None:
    async def steps(store: SQLiteStore, log: ScriptedLog) -> None:
        first = await store.put("/a", b"1")
        for _ in range(3):
            log.fail()
            with pytest.raises(StoreUnavailable):
                await store.put("/a", b"refused", expected=first.revision)
        second = await store.put("/a", b"2", expected=first.revision)
        # Nobody who saw a refused head can mistake this for it.
        assert second.revision == first.revision + 4
        third = await store.put("/a", b"3", expected=second.revision)
        assert third.revision == second.revision + 1
        # What was written makes sense to the next process, gap and all.
        again = store_on(log)
        assert (again.get("/a"), again.revision) == (third, third.revision)
        for revision in range(first.revision + 1, second.revision):
            with pytest.raises(StoreUnavailable):
                await store.settled(revision)
        await store.settled(second.revision)

    with_log(steps)


def test_a_writer_that_gave_up_need_not_hear_of_a_refusal() -> None:
    async def steps(store: SQLiteStore, log: ScriptedLog) -> None:
        log.gate.clear()
        log.fail()
        writing = asyncio.ensure_future(store.put("/a", b"1"))
        deleting = asyncio.ensure_future(store.delete("/a"))
        await asyncio.sleep(0)
        writing.cancel()
        deleting.cancel()
        await asyncio.gather(writing, deleting, return_exceptions=True)
        log.gate.set()
        with pytest.raises(StoreUnavailable):
            await store.settled(FIRST_REVISION + 1)

    with_log(steps)


def test_compaction_that_fails_is_told_and_can_be_asked_for_again() -> None:
    async def steps(store: SQLiteStore, log: ScriptedLog) -> None:
        await store.put("/a", b"1")
        log.fail()
        with pytest.raises(StoreUnavailable):
            await store.compact(store.revision)
        await store.compact(store.revision)
        assert log.floor == store.revision

    with_log(steps)


def test_a_broken_writer_is_told_to_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threading.excepthook", lambda _: None)

    async def steps(store: SQLiteStore, log: ScriptedLog) -> None:
        log.fail(ZeroDivisionError("a bug"))
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="the store has failed"):
                await store.put("/a", b"")
        with pytest.raises(StoreUnavailable, match="the store has failed"):
            await store.compact(FIRST_REVISION)

    with_log(steps)


def test_a_store_that_wrote_nothing_can_be_closed(path: Path) -> None:
    async def nothing(store: SQLiteStore) -> None:
        assert store.revision == FIRST_REVISION

    with_store(path, nothing)
    with_store(path, nothing)


def test_what_was_accepted_is_ahead_of_what_is_durable(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = SQLiteStore.open(tmp_path / "dray.db")
        write = asyncio.ensure_future(store.put("a", b"1"))
        await asyncio.sleep(0)
        assert store.accepted == store.revision + 1
        record = await write
        assert store.accepted == store.revision == record.revision
        await store.close()

    asyncio.run(scenario())
