from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakSet

import pytest

from dray.errors import RevisionCompacted
from dray.server.registry import Registry
from dray.server.selection import select
from dray.server.watching.lanes import (
    BOOKMARK_SECONDS,
    BUFFERED_BYTES_MAX,
    PIECE_BYTES_MAX,
    PIECE_PAUSE_SECONDS,
    TICK_SECONDS,
    Interest,
    Lanes,
    Watcher,
)
from dray.store.memory import MemoryStore
from dray.testing import FakeClock
from tests.unit.server.harness import Wire

PREFIX = "core/pods/a/"


class Shop:
    """A store, its lanes, and how often a value was encoded."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = FakeClock()
        self.lanes = Lanes(self.store, self.clock)
        self.shown = 0

    def show(self, value: bytes, revision: int) -> bytes:
        self.shown += 1
        return b'{"revision":%d,"metadata":{"name":%b}}' % (revision, value)

    def interest(self, *, namespace: str = "a", form: str = "", key: str | None = None) -> Interest:
        served = Registry().find("", "v1", "pods")
        assert served is not None
        selection = select(served, namespace, "", "")
        return Interest(served, selection, self.show, form, "Pod", "v1", key=key)

    def watcher(self, *, after: int | None = None, bookmarks: bool = False, **of: Any) -> Watcher:
        since = self.store.revision if after is None else after
        return Watcher(self.interest(**of), bookmarks, since, Wire())

    async def put(self, name: str, namespace: str = "a") -> int:
        record = await self.store.put(f"core/pods/{namespace}/{name}", f'"{name}"'.encode())
        return record.revision


def run(scenario: Callable[[Shop], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await scenario(Shop())

    asyncio.run(main())


def wire(watcher: Watcher) -> Wire:
    assert isinstance(watcher.channel, Wire)
    return watcher.channel


def revisions(data: bytes | bytearray) -> list[int]:
    return [
        int(line.split(b'"revision":')[1].split(b",")[0])
        for line in data.splitlines()
        if b'"revision":' in line
    ]


async def turns() -> None:
    for _turn in range(20):
        await asyncio.sleep(0)


def test_a_client_hears_what_it_missed_and_what_comes_each_once() -> None:
    async def scenario(shop: Shop) -> None:
        start = shop.store.revision
        missed = [await shop.put("p"), await shop.put("q")]
        watcher = shop.watcher(after=start)
        shop.lanes.join(watcher)
        live = [await shop.put("r"), await shop.put("p")]
        assert revisions(wire(watcher).data) == missed + live

    run(scenario)


def test_clients_with_equal_interests_share_an_encoding() -> None:
    async def scenario(shop: Shop) -> None:
        watchers = [shop.watcher() for _each in range(5)]
        for watcher in watchers:
            shop.lanes.join(watcher)
        await shop.put("p")
        assert shop.shown == 1
        assert {bytes(wire(watcher).data) for watcher in watchers} == {
            b'{"type":"ADDED","object":{"revision":2,"metadata":{"name":"p"}}}\n'
        }

    run(scenario)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"namespace": "b"}, id="namespace"),
        pytest.param({"form": "Table"}, id="form"),
    ],
)
def test_clients_with_other_interests_do_not(other: dict[str, Any]) -> None:
    async def scenario(shop: Shop) -> None:
        assert shop.interest().lane != shop.interest(**other).lane
        one, two = shop.watcher(), shop.watcher(**other)
        shop.lanes.join(one)
        shop.lanes.join(two)
        await shop.put("p")
        assert revisions(wire(one).data) == [2]
        assert shop.shown == (2 if "form" in other else 1)

    run(scenario)


def test_a_client_that_means_one_object_hears_of_no_other() -> None:
    async def scenario(shop: Shop) -> None:
        watcher = shop.watcher(key="core/pods/a/q")
        shop.lanes.join(watcher)
        await shop.put("p")
        wanted = await shop.put("q")
        assert revisions(wire(watcher).data) == [wanted]

    run(scenario)


def test_a_client_from_the_future_hears_nothing_until_then() -> None:
    async def scenario(shop: Shop) -> None:
        watcher = shop.watcher(after=shop.store.revision + 2, bookmarks=True)
        shop.lanes.join(watcher)
        await shop.put("p")
        shop.clock.advance(BOOKMARK_SECONDS)
        shop.lanes.tick()
        await shop.put("q")
        assert wire(watcher).data == b""
        wanted = await shop.put("r")
        assert revisions(wire(watcher).data) == [wanted]

    run(scenario)


def test_history_that_is_gone_is_said_so() -> None:
    async def scenario(shop: Shop) -> None:
        for name in "pqr":
            await shop.put(name)
        await shop.store.compact(3)
        with pytest.raises(RevisionCompacted):
            shop.lanes.join(shop.watcher(after=1))
        assert len(shop.lanes) == 0

    run(scenario)


# Leaving ---------------------------------------------------------------------------------------


def test_a_client_that_left_hears_nothing() -> None:
    async def scenario(shop: Shop) -> None:
        one, two = shop.watcher(), shop.watcher()
        heard = wire(one)
        shop.lanes.join(one)
        shop.lanes.join(two)
        assert len(shop.lanes) == 2
        shop.lanes.leave(one)
        shop.lanes.leave(one)
        await shop.put("p")
        assert heard.data == b""
        assert revisions(wire(two).data) == [2]
        assert len(shop.lanes) == 1

    run(scenario)


def test_a_lane_without_clients_costs_nothing() -> None:
    async def scenario(shop: Shop) -> None:
        watcher = shop.watcher()
        shop.lanes.join(watcher)
        shop.lanes.finish(watcher)
        await shop.put("p")
        assert shop.shown == 0
        assert len(shop.lanes) == 0

    run(scenario)


def test_a_client_that_does_not_read_is_dropped_and_others_are_not() -> None:
    async def scenario(shop: Shop) -> None:
        slow, quick = shop.watcher(), shop.watcher()
        shop.lanes.join(slow)
        shop.lanes.join(quick)
        end = wire(slow)
        end.unread_bytes = BUFFERED_BYTES_MAX + 1
        await shop.put("p")
        assert end.aborted
        assert not wire(quick).aborted
        assert shop.lanes.dropped_count == 1
        await shop.put("q")
        assert len(revisions(wire(quick).data)) == 2

    run(scenario)


def test_closing_ends_every_watch_properly() -> None:
    async def scenario(shop: Shop) -> None:
        ends = []
        for namespace in "ab":
            watcher = shop.watcher(namespace=namespace)
            ends.append(wire(watcher))
            shop.lanes.join(watcher)
        shop.lanes.close()
        assert [end.closed for end in ends] == [True, True]
        assert not any(end.aborted for end in ends)

    run(scenario)


def test_watches_of_one_kind_can_be_ended_alone() -> None:
    async def scenario(shop: Shop) -> None:
        watcher = shop.watcher()
        end = wire(watcher)
        shop.lanes.join(watcher)
        shop.lanes.finish_all("apps", "deployments")
        assert not end.closed
        shop.lanes.finish_all("", "pods")
        assert end.closed
        assert len(shop.lanes) == 0

    run(scenario)


# The start of a watch --------------------------------------------------------------------------


def test_what_is_there_comes_first_then_its_end_then_what_happens() -> None:
    async def scenario(shop: Shop) -> None:
        there = [await shop.put("p"), await shop.put("q")]
        watcher = shop.watcher(bookmarks=True)
        records = shop.store.range(PREFIX).records
        await shop.lanes.begin(watcher, records, marks_end=True)
        after = await shop.put("r")
        lines = bytes(wire(watcher).data).splitlines()
        assert revisions(wire(watcher).data) == [*there, after]
        assert b"initial-events-end" in lines[2]
        assert b'"resourceVersion":"%d"' % there[-1] in lines[2]

    run(scenario)


def big(shop: Shop) -> Callable[[bytes, int], bytes]:
    def show(value: bytes, revision: int) -> bytes:
        del value
        return b'{"revision":%d,"x":"%b"}' % (revision, b"x" * PIECE_BYTES_MAX)

    return show


def test_a_large_beginning_waits_for_its_reader_and_loses_nothing() -> None:
    async def scenario(shop: Shop) -> None:
        there = [await shop.put(name) for name in "pqr"]
        watcher = shop.watcher()
        object.__setattr__(watcher.interest, "show", big(shop))
        end = wire(watcher)
        end.unread_bytes = PIECE_BYTES_MAX + 1
        records = shop.store.range(PREFIX).records
        begun = asyncio.create_task(shop.lanes.begin(watcher, records, marks_end=False))
        await turns()
        assert revisions(end.data) == there[:1]
        meanwhile = await shop.put("s")
        end.unread_bytes = 0
        shop.clock.advance(PIECE_PAUSE_SECONDS)
        await begun
        after = await shop.put("t")
        assert revisions(end.data) == [*there, meanwhile, after]

    run(scenario)


def test_a_client_that_leaves_in_the_middle_is_not_waited_for() -> None:
    async def scenario(shop: Shop) -> None:
        for name in "pqr":
            await shop.put(name)
        watcher = shop.watcher()
        object.__setattr__(watcher.interest, "show", big(shop))
        wire(watcher).unread_bytes = PIECE_BYTES_MAX + 1
        records = shop.store.range(PREFIX).records
        begun = asyncio.create_task(shop.lanes.begin(watcher, records, marks_end=True))
        await turns()
        shop.lanes.leave(watcher)
        shop.clock.advance(PIECE_PAUSE_SECONDS)
        await begun
        assert len(shop.lanes) == 0

    run(scenario)


# Keeping order ---------------------------------------------------------------------------------


def test_bookmarks_go_to_those_who_asked() -> None:
    async def scenario(shop: Shop) -> None:
        asked, not_asked = shop.watcher(bookmarks=True), shop.watcher()
        shop.lanes.join(asked)
        shop.lanes.join(not_asked)
        revision = await shop.put("elsewhere", "b")
        shop.clock.advance(BOOKMARK_SECONDS)
        shop.lanes.tick()
        assert b'"BOOKMARK"' in wire(asked).data
        assert b'"resourceVersion":"%d"' % revision in wire(asked).data
        assert wire(not_asked).data == b""

    run(scenario)


def test_a_watch_ends_at_its_time_with_a_bookmark() -> None:
    async def scenario(shop: Shop) -> None:
        watcher = shop.watcher(bookmarks=True)
        end = wire(watcher)
        shop.lanes.join(watcher)
        shop.lanes.expire_at(watcher, shop.clock.monotonic() + 5)
        shop.clock.advance(4)
        shop.lanes.tick()
        assert not end.closed
        shop.clock.advance(1)
        shop.lanes.tick()
        assert end.closed
        assert b'"BOOKMARK"' in end.data
        assert len(shop.lanes) == 0

    run(scenario)


def test_a_watch_that_has_not_said_everything_ends_without_a_bookmark() -> None:
    async def scenario(shop: Shop) -> None:
        for name in "pqr":
            await shop.put(name)
        watcher = shop.watcher(bookmarks=True)
        object.__setattr__(watcher.interest, "show", big(shop))
        end = wire(watcher)
        end.unread_bytes = PIECE_BYTES_MAX + 1
        records = shop.store.range(PREFIX).records
        begun = asyncio.create_task(shop.lanes.begin(watcher, records, marks_end=True))
        shop.lanes.expire_at(watcher, shop.clock.monotonic() + 1)
        await turns()
        shop.clock.advance(1)
        shop.lanes.tick()
        await begun
        assert end.closed
        assert b'"BOOKMARK"' not in end.data

    run(scenario)


def test_watches_that_ended_early_are_not_remembered_until_their_time() -> None:
    async def scenario(shop: Shop) -> None:
        kept = shop.watcher()
        shop.lanes.join(kept)
        shop.lanes.expire_at(kept, 10.0)
        ended = WeakSet[Watcher]()
        for _each in range(5_000):
            watcher = Watcher(kept.interest, bookmarks=False, after=shop.store.revision)
            watcher.channel = Wire()
            ended.add(watcher)
            shop.lanes.expire_at(watcher, 3600.0)
            shop.lanes.join(watcher)
            shop.lanes.finish(watcher)
        assert len(ended) < 2_500
        end = wire(kept)
        shop.clock.advance(10)
        shop.lanes.tick()
        assert end.closed

    run(scenario)


def test_time_is_looked_at_every_second() -> None:
    async def scenario(shop: Shop) -> None:
        watcher = shop.watcher()
        end = wire(watcher)
        shop.lanes.join(watcher)
        shop.lanes.expire_at(watcher, TICK_SECONDS)
        keeping = asyncio.create_task(shop.lanes.keep())
        await turns()
        shop.clock.advance(TICK_SECONDS)
        await turns()
        assert end.closed
        keeping.cancel()

    run(scenario)
