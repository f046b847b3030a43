"""What every store must do, as tests: subclass StoreSuite, say how to open a store, run pytest.

    class TestMemoryStore(StoreSuite):
        def open_store(self, *, events_max: int = 1000) -> Store:
            return MemoryStore(events_max=events_max)

Each test gets a store of its own, empty. StoreMachine, in store_model, plays random operations
against a dict on top of this.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence

from dray.errors import RevisionCompacted, RevisionConflict, StoreError, StoreUnavailable
from dray.store.store import FIRST_REVISION, Event, Record, Store

__all__ = ["StoreSuite"]

EVENTS_MAX = 1000

Steps = Callable[[Store], Awaitable[None]]


class StoreSuite:
    """The suite. `open_store` is called once per test."""

    @abstractmethod
    def open_store(self, *, events_max: int = EVENTS_MAX) -> Store:
        """An empty store that keeps at most so many events."""

    def run(self, steps: Steps, *, events_max: int = EVENTS_MAX) -> None:
        """Do the steps with a fresh store, and close it."""

        async def main() -> None:
            store = self.open_store(events_max=events_max)
            try:
                await steps(store)
            finally:
                await store.close()

        asyncio.run(main())

    # Writing --------------------------------------------------------------------------------

    def test_an_empty_store_has_a_revision_clients_can_name(self) -> None:
        async def steps(store: Store) -> None:
            assert store.revision == FIRST_REVISION
            page = store.range("")
            assert (list(page.records), page.revision) == ([], FIRST_REVISION)
            # Nothing ever happened, so nothing is forgotten.
            store.watch("", 0, lambda _: None).close()

        self.run(steps)

    def test_a_value_is_read_back_as_it_was_written(self) -> None:
        async def steps(store: Store) -> None:
            value = bytes(range(256)) * 40
            record = await store.put("/a/b", value)
            assert record == Record("/a/b", value, record.revision, record.revision)
            assert store.get("/a/b") == store.head("/a/b") == record
            assert store.revision == record.revision == FIRST_REVISION + 1

        self.run(steps)

    def test_an_empty_value_is_a_value(self) -> None:
        async def steps(store: Store) -> None:
            record = await store.put("/a", b"")
            assert store.get("/a") == record
            assert store.count("") == 1

        self.run(steps)

    def test_an_update_keeps_the_revision_of_creation(self) -> None:
        async def steps(store: Store) -> None:
            first = await store.put("/a", b"1")
            second = await store.put("/a", b"2", expected=first.revision)
            assert (second.created, second.revision) == (first.revision, first.revision + 1)

        self.run(steps)

    def test_a_key_that_was_deleted_is_created_anew(self) -> None:
        async def steps(store: Store) -> None:
            await store.put("/a", b"1")
            deleted = await store.delete("/a")
            again = await store.put("/a", b"2", expected=0)
            assert deleted is not None
            assert again.created == again.revision == deleted + 1

        self.run(steps)

    def test_every_write_takes_the_next_revision(self) -> None:
        async def steps(store: Store) -> None:
            records = await asyncio.gather(*(store.put(f"/{n}", b"") for n in range(300)))
            first = FIRST_REVISION + 1
            assert [r.revision for r in records] == list(range(first, first + 300))
            assert store.revision == FIRST_REVISION + 300

        self.run(steps)

    def test_of_two_writers_who_expect_the_same_one_is_told(self) -> None:
        async def steps(store: Store) -> None:
            record = await store.put("/a", b"")
            answers = await asyncio.gather(
                store.put("/a", b"left", expected=record.revision),
                store.put("/a", b"right", expected=record.revision),
                return_exceptions=True,
            )
            won, lost = answers
            assert isinstance(won, Record)
            assert isinstance(lost, RevisionConflict)
            assert (lost.key, lost.expected) == ("/a", record.revision)
            assert lost.found == won.revision
            assert store.get("/a") == won

        self.run(steps)

    def test_writers_queue_up_behind_a_head(self) -> None:
        async def steps(store: Store) -> None:
            async def increment() -> None:
                head = store.head("/a")
                number = int(head.value) if head else 0
                expected = head.revision if head else 0
                await store.put("/a", b"%d" % (number + 1), expected=expected)

            await asyncio.gather(*(increment() for _ in range(200)))
            record = store.get("/a")
            assert record is not None
            assert record.value == b"200"

        self.run(steps)

    def test_a_conflict_changes_nothing(self) -> None:
        async def steps(store: Store) -> None:
            record = await store.put("/a", b"")
            for expected in (0, record.revision - 1, record.revision + 1):
                await _raises(RevisionConflict, store.put("/a", b"x", expected=expected))
                await _raises(RevisionConflict, store.delete("/a", expected=expected))
            await _raises(RevisionConflict, store.put("/b", b"x", expected=record.revision))
            await _raises(RevisionConflict, store.delete("/b", expected=record.revision))
            assert store.revision == record.revision
            assert list(store.range("").records) == [record]

        self.run(steps)

    def test_deleting_tells_the_revision_or_that_there_was_nothing(self) -> None:
        async def steps(store: Store) -> None:
            record = await store.put("/a", b"")
            assert await store.delete("/a", expected=record.revision) == record.revision + 1
            assert store.get("/a") is store.head("/a") is None
            assert await store.delete("/a") is None
            assert await store.delete("/a", expected=0) is None
            assert store.revision == record.revision + 1

        self.run(steps)

    def test_of_two_deletions_one_finds_nothing(self) -> None:
        async def steps(store: Store) -> None:
            record = await store.put("/a", b"")
            answers = await asyncio.gather(store.delete("/a"), store.delete("/a"))
            assert list(answers) == [record.revision + 1, None]

        self.run(steps)

    def test_a_writer_that_gives_up_does_not_undo_its_write(self) -> None:
        async def steps(store: Store) -> None:
            task = asyncio.ensure_future(store.put("/a", b"1"))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await store.put("/b", b"2")
            record = store.get("/a")
            assert record is not None
            assert record.value == b"1"

        self.run(steps)

    def test_what_no_store_can_keep_is_refused(self) -> None:
        async def steps(store: Store) -> None:
            for key, value in [("", b""), ("/" * 5000, b""), ("/\ud800", b""), ("/a", _HUGE)]:
                await _raises(StoreError, store.put(key, value))
            await store.put("/ü/\0/\U0010ffff", b"unusual, but text")
            assert store.count("/ü/") == 1

        self.run(steps)

    def test_settled_returns_when_a_revision_is_durable(self) -> None:
        async def steps(store: Store) -> None:
            await store.settled(store.revision)
            future = asyncio.ensure_future(store.settled(FIRST_REVISION + 3))
            for n in range(2):
                await store.put(f"/{n}", b"")
            assert not future.done()
            await asyncio.gather(store.put("/2", b""), store.put("/3", b""))
            await future
            assert store.revision >= FIRST_REVISION + 3

        self.run(steps)

    # Ranges ---------------------------------------------------------------------------------

    def test_a_range_is_in_the_order_of_bytes(self) -> None:
        async def steps(store: Store) -> None:
            keys = ["/a/", "/a/b", "/a/b/c", "/a/B", "/a/b-1", "/a/ü", "/a/\U0001f600", "/a/\uffff"]
            await asyncio.gather(*(store.put(key, b"") for key in [*keys, "/a", "/b/a", "/A/a"]))
            found = [record.key for record in store.range("/a/").records]
            assert found == sorted(keys, key=str.encode)
            assert store.count("/a/") == len(keys)
            assert store.count("") == len(keys) + 3

        self.run(steps)

    def test_pages_follow_each_other_and_say_how_much_is_left(self) -> None:
        async def steps(store: Store) -> None:
            for n in range(10):
                await store.put(f"/a/{n}", b"")
            await store.put("/b/0", b"")
            after, sizes = "", []
            while True:
                page = store.range("/a/", after=after, limit=4)
                sizes.append((len(page.records), page.remaining_count))
                if not page.remaining_count:
                    break
                after = page.records[-1].key
            assert sizes == [(4, 6), (4, 2), (2, 0)]
            assert not store.range("/a/", after="/a/9").records
            assert len(store.range("/a/", after="/", limit=3).records) == 3

        self.run(steps)

    def test_many_keys_are_found_by_prefix(self) -> None:
        async def steps(store: Store) -> None:
            await asyncio.gather(*(store.put(f"/{n % 7}/{n:05}", b"") for n in range(3000)))
            for directory in range(7):
                keys = [f"/{directory}/{n:05}" for n in range(3000) if n % 7 == directory]
                assert [r.key for r in store.range(f"/{directory}/").records] == keys
                assert store.count(f"/{directory}/") == len(keys)
            page = store.range("/3/", after="/3/01000", limit=50)
            wanted = [n for n in range(1001, 3000) if n % 7 == 3]
            assert [r.key for r in page.records] == [f"/3/{n:05}" for n in wanted[:50]]
            assert page.remaining_count == len(wanted) - 50

        self.run(steps)

    def test_an_older_state_can_be_read_page_by_page(self) -> None:
        async def steps(store: Store) -> None:
            for n in range(6):
                await store.put(f"/a/{n}", b"old")
            then = store.revision
            before = list(store.range("/a/").records)
            await store.put("/a/1", b"new")
            await store.delete("/a/2")
            await store.put("/a/25", b"new")
            await store.delete("/a/4")
            await store.put("/a/4", b"again")
            await store.put("/b/0", b"elsewhere")

            whole = store.range("/a/", revision=then)
            assert (list(whole.records), whole.revision) == (before, then)
            paged: list[Record] = []
            for remaining in (4, 2, 0):
                after = paged[-1].key if paged else ""
                page = store.range("/a/", after=after, limit=2, revision=then)
                assert (page.revision, page.remaining_count) == (then, remaining)
                paged += page.records
            assert paged == before

        self.run(steps)

    def test_a_state_to_come_cannot_be_read(self) -> None:
        async def steps(store: Store) -> None:
            try:
                store.range("", revision=store.revision + 1)
            except StoreError:
                return
            raise AssertionError("read the future")

        self.run(steps)

    # Watches --------------------------------------------------------------------------------

    def test_a_watch_hears_every_change_once_and_in_order(self) -> None:
        async def steps(store: Store) -> None:
            heard: list[Event] = []
            store.watch("/a/", store.revision, heard.extend)
            first = await store.put("/a/1", b"1")
            await store.put("/b/1", b"elsewhere")
            second = await store.put("/a/1", b"2")
            deleted = await store.delete("/a/1")
            assert deleted is not None
            assert heard == [
                Event(first.revision, "/a/1", first, None),
                Event(second.revision, "/a/1", second, first),
                Event(deleted, "/a/1", None, second),
            ]

        self.run(steps)

    def test_a_watch_starts_with_what_it_missed(self) -> None:
        async def steps(store: Store) -> None:
            start = store.revision
            for n in range(5):
                await store.put(f"/{n % 2}/{n}", b"")
            heard: list[Event] = []
            store.watch("/0/", start + 1, heard.extend)
            assert [event.key for event in heard] == ["/0/2", "/0/4"]
            await store.put("/0/6", b"")
            assert [event.key for event in heard] == ["/0/2", "/0/4", "/0/6"]

        self.run(steps)

    def test_watches_opened_amid_writes_miss_and_repeat_nothing(self) -> None:
        async def steps(store: Store) -> None:
            heard: list[list[Event]] = []
            start = store.revision

            async def write(writer: int) -> None:
                for n in range(20):
                    await store.put(f"/{writer}/{n}", b"")
                    events: list[Event] = []
                    heard.append(events)
                    store.watch("", start, events.extend)

            await asyncio.gather(*(write(writer) for writer in range(8)))
            await store.settled(start + 160)
            revisions = list(range(start + 1, start + 161))
            assert all([e.revision for e in events] == revisions for events in heard)

        self.run(steps)

    def test_a_watch_from_the_future_is_silent_until_then(self) -> None:
        async def steps(store: Store) -> None:
            heard: list[Event] = []
            future = store.revision + 2
            store.watch("", future, heard.extend)
            await asyncio.gather(*(store.put(f"/{n}", b"") for n in range(4)))
            assert [event.revision for event in heard] == [future + 1, future + 2]

        self.run(steps)

    def test_a_watch_hears_only_what_its_prefix_covers(self) -> None:
        async def steps(store: Store) -> None:
            heard: dict[str, list[str]] = {p: [] for p in ("", "/", "/a/", "/a/b/", "/a/b/c/")}
            for prefix, keys in heard.items():
                store.watch(prefix, store.revision, _noting(keys))
            for key in ("/a/b/c", "/a/b", "/a", "/ab/c", "x", "/a/b/"):
                await store.put(key, b"")
            assert heard == {
                "": ["/a/b/c", "/a/b", "/a", "/ab/c", "x", "/a/b/"],
                "/": ["/a/b/c", "/a/b", "/a", "/ab/c", "/a/b/"],
                "/a/": ["/a/b/c", "/a/b", "/a/b/"],
                "/a/b/": ["/a/b/c", "/a/b/"],
                "/a/b/c/": [],
            }

        self.run(steps)

    def test_a_closed_watch_hears_nothing(self) -> None:
        async def steps(store: Store) -> None:
            heard: list[Event] = []
            watch = store.watch("", store.revision, heard.extend)
            await store.put("/a", b"")
            watch.close()
            watch.close()
            await store.put("/a", b"")
            assert len(heard) == 1

        self.run(steps)

    def test_a_sink_may_close_watches_its_own_and_others(self) -> None:
        async def steps(store: Store) -> None:
            heard: list[str] = []

            def first(_: Sequence[Event]) -> None:
                heard.append("first")
                one.close()
                two.close()

            one = store.watch("/", store.revision, first)
            two = store.watch("/", store.revision, lambda _: heard.append("second"))
            store.watch("/", store.revision, lambda _: heard.append("third"))
            await store.put("/a", b"")
            await store.put("/b", b"")
            assert heard == ["first", "third", "third"]

        self.run(steps)

    def test_a_sink_may_open_watches(self) -> None:
        async def steps(store: Store) -> None:
            start = store.revision
            heard: list[Event] = []
            opened: list[object] = []

            def open_once(_: Sequence[Event]) -> None:
                if not opened:
                    opened.append(store.watch("/", start, heard.extend))

            store.watch("/", start, open_once)
            await store.put("/a", b"")
            await store.put("/b", b"")
            assert [event.key for event in heard] == ["/a", "/b"]

        self.run(steps)

    def test_a_sink_that_raises_is_dropped_and_harms_nobody(self) -> None:
        async def steps(store: Store) -> None:
            heard: list[Event] = []

            def broken(_: Sequence[Event]) -> None:
                calls.append(1)
                raise RuntimeError("a bug of the sink")

            calls: list[int] = []
            store.watch("/", store.revision, broken)
            store.watch("/", store.revision, heard.extend)
            await store.put("/a", b"")
            await store.put("/b", b"")
            assert len(calls) == 1
            assert [event.key for event in heard] == ["/a", "/b"]

        self.run(steps)

    # Forgetting -----------------------------------------------------------------------------

    def test_history_is_bounded_and_says_where_it_begins(self) -> None:
        async def steps(store: Store) -> None:
            for n in range(30):
                await store.put("/a", b"%d" % n)
            assert store.oldest == store.revision - 10
            for revision in range(store.oldest, store.revision):
                (record,) = store.range("", revision=revision).records
                assert record.revision == revision
            heard: list[Event] = []
            store.watch("", store.oldest, heard.extend)
            assert len(heard) == 10
            _refuses_before(store, store.oldest)

        self.run(steps, events_max=10)

    def test_compaction_forgets_history_and_nothing_else(self) -> None:
        async def steps(store: Store) -> None:
            await asyncio.gather(*(store.put(f"/{n % 300}", b"%d" % n) for n in range(700)))
            await asyncio.gather(*(store.delete(f"/{n}") for n in range(0, 300, 2)))
            then = store.revision - 20
            state = list(store.range("", revision=then).records)
            now = list(store.range("").records)
            await store.compact(then)
            assert store.oldest == then
            assert list(store.range("", revision=then).records) == state
            assert list(store.range("").records) == now
            _refuses_before(store, then)
            await store.compact(store.revision)
            await store.compact(then)
            assert store.oldest == store.revision
            assert list(store.range("").records) == now

        self.run(steps)

    def test_what_is_to_come_cannot_be_compacted(self) -> None:
        async def steps(store: Store) -> None:
            await _raises(StoreError, store.compact(store.revision + 1))

        self.run(steps)

    def test_the_counter_goes_on_when_everything_is_gone(self) -> None:
        async def steps(store: Store) -> None:
            await store.put("/a", b"")
            await store.delete("/a")
            revision = store.revision
            await store.compact(revision)
            assert not store.range("").records
            assert (await store.put("/a", b"")).revision == revision + 1

        self.run(steps)

    # The end --------------------------------------------------------------------------------

    def test_a_closed_store_takes_nothing_and_its_watches_ended(self) -> None:
        async def steps(store: Store) -> None:
            heard: list[Event] = []
            watch = store.watch("", store.revision, heard.extend)
            accepted = asyncio.ensure_future(store.put("/a", b""))
            waiting = asyncio.ensure_future(store.settled(store.revision + 100))
            await asyncio.sleep(0)
            await store.close()
            await store.close()
            await accepted
            await _raises(StoreUnavailable, waiting)
            await _raises(StoreUnavailable, store.put("/b", b""))
            await _raises(StoreUnavailable, store.delete("/a"))
            await _raises(StoreUnavailable, store.settled(store.revision + 1))
            assert len(heard) == 1
            watch.close()

        self.run(steps)


_HUGE = bytes(16 * 1024 * 1024 + 1)


async def _raises(kind: type[StoreError], doing: Awaitable[object]) -> None:
    try:
        await doing
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")


def _refuses_before(store: Store, oldest: int) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: store.range("", revision=oldest - 1),
        lambda: store.watch("", oldest - 1, lambda _: None),
    ]
    for attempt in attempts:
        refusal: RevisionCompacted | None = None
        try:
            attempt()
        except RevisionCompacted as error:
            refusal = error
        assert refusal is not None, "served what is no longer kept"
        assert (refusal.revision, refusal.oldest) == (oldest - 1, oldest)


def _noting(keys: list[str]) -> Callable[[Sequence[Event]], None]:
    return lambda events: keys.extend(event.key for event in events)
