from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakSet

import msgspec
import pytest

from dray.errors import RevisionCompacted
from dray.server import selection
from dray.server.registry import Registry
from dray.server.selection import Reading, Selection, select
from dray.server.watching.lanes import (
    BACKLOG_BYTES_MAX,
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
from dray.store.store import Record
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

    def interest(
        self,
        *,
        namespace: str = "a",
        form: str = "",
        key: str | None = None,
        labels: str = "",
        fields: str = "",
    ) -> Interest:
        served = Registry().find("", "v1", "pods")
        assert served is not None
        selection = select(served, namespace, labels, fields)
        return Interest(served, selection, self.show, form, "Pod", "v1", key=key)

    def watcher(self, *, after: int | None = None, bookmarks: bool = False, **of: Any) -> Watcher:
        since = self.store.revision if after is None else after
        return Watcher(self.interest(**of), bookmarks, since, Wire())

    async def put(self, name: str, namespace: str = "a") -> int:
        record = await self.store.put(f"core/pods/{namespace}/{name}", f'"{name}"'.encode())
        return record.revision

    async def place(self, name: str, node: object, **labels: str) -> int:
        """Write a pod that is on a node."""
        document = {"metadata": {"name": name, "labels": labels}, "spec": {"nodeName": node}}
        value = msgspec.json.encode(document)
        return (await self.store.put(f"core/pods/a/{name}", value)).revision


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


# Lanes under one prefix ------------------------------------------------------------------------


def kinds(data: bytes | bytearray) -> list[tuple[str, int]]:
    types = [line.split(b'"')[3].decode() for line in data.splitlines()]
    return list(zip(types, revisions(data), strict=True))


def test_a_node_hears_what_comes_to_it_and_what_leaves_it() -> None:
    async def scenario(shop: Shop) -> None:
        names = ("spec.nodeName=n", "spec.nodeName=m", "spec.nodeName=", "spec.nodeName!=n")
        n, m, nowhere, elsewhere = [shop.watcher(fields=fields) for fields in names]
        running = shop.watcher(fields="spec.nodeName=n,status.phase=Running")
        everyone = shop.watcher()
        for watcher in (n, m, nowhere, elsewhere, running, everyone):
            shop.lanes.join(watcher)
        await shop.place("p", "")  # 2
        await shop.place("p", "n")  # 3
        await shop.place("p", "n")  # 4
        await shop.place("p", "m")  # 5
        await shop.store.delete("core/pods/a/p")  # 6
        await shop.place("q", None)  # 7
        assert kinds(wire(n).data) == [("ADDED", 3), ("MODIFIED", 4), ("DELETED", 5)]
        assert kinds(wire(m).data) == [("ADDED", 5), ("DELETED", 6)]
        assert kinds(wire(nowhere).data) == [("ADDED", 2), ("DELETED", 3), ("ADDED", 7)]
        heard = [("ADDED", 2), ("DELETED", 3), ("ADDED", 5), ("DELETED", 6), ("ADDED", 7)]
        assert kinds(wire(elsewhere).data) == heard
        assert wire(running).data == b""
        assert revisions(wire(everyone).data) == [2, 3, 4, 5, 6, 7]

    run(scenario)


def test_an_event_of_one_node_is_not_matched_against_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(shop: Shop) -> None:
        watchers = [shop.watcher(fields=f"spec.nodeName=n{each}") for each in range(50)]
        for watcher in watchers:
            shop.lanes.join(watcher)
        matched = 0
        matches = Selection.matches

        def counting(self: Selection, record: Record, reading: Reading | None = None) -> bool:
            nonlocal matched
            matched += 1
            return matches(self, record, reading)

        monkeypatch.setattr(Selection, "matches", counting)
        await shop.place("p", "n7")
        await shop.place("p", "n7")
        assert matched == 3  # new, and then old and new
        assert kinds(wire(watchers[7]).data) == [("ADDED", 2), ("MODIFIED", 3)]
        assert sum(len(wire(watcher).data) > 0 for watcher in watchers) == 1
        for watcher in watchers:
            shop.lanes.leave(watcher)
        await shop.place("p", "n7")
        assert matched == 3

    run(scenario)


@pytest.mark.parametrize(
    ("field", "decoder"),
    [
        pytest.param("status.phase", "_DOCUMENT", id="any"),
        pytest.param("spec.nodeName", "_PLACED", id="node"),
    ],
)
def test_lanes_that_select_by_fields_read_an_object_once(
    monkeypatch: pytest.MonkeyPatch, field: str, decoder: str
) -> None:
    class Decoder:
        def __init__(self, decoder: msgspec.json.Decoder[Any]) -> None:
            self.decoder = decoder
            self.count = 0

        def decode(self, value: bytes) -> Any:
            self.count += 1
            return self.decoder.decode(value)

    counted = Decoder(getattr(selection, decoder))
    monkeypatch.setattr(selection, decoder, counted)

    async def scenario(shop: Shop) -> None:
        watchers = [shop.watcher(fields=f"{field}!=n{each}") for each in range(20)]
        for watcher in watchers:
            shop.lanes.join(watcher)
        await shop.place("p", "n")
        assert counted.count == 1
        await shop.place("p", "n")
        assert counted.count == 3
        assert {bytes(wire(watcher).data).count(b"\n") for watcher in watchers} == {2}

    run(scenario)


def test_a_lane_that_is_left_leaves_its_neighbours() -> None:
    async def scenario(shop: Shop) -> None:
        one, two = shop.watcher(fields="spec.nodeName=n"), shop.watcher(labels="a=b")
        key, again = shop.watcher(key="core/pods/a/p"), shop.watcher(fields="spec.nodeName=n")
        end = wire(one)
        for watcher in (one, two, key):
            shop.lanes.join(watcher)
        shop.lanes.leave(one)
        await shop.place("p", "n", a="b")
        shop.lanes.join(again)
        await shop.place("p", "n", a="b")
        assert end.data == b""
        assert kinds(wire(two).data) == [("ADDED", 2), ("MODIFIED", 3)]
        assert kinds(wire(key).data) == [("ADDED", 2), ("MODIFIED", 3)]
        assert kinds(wire(again).data) == [("ADDED", 2), ("MODIFIED", 3)]

    run(scenario)


def test_what_cannot_be_read_drops_everyone_it_may_concern() -> None:
    async def scenario(shop: Shop) -> None:
        watchers = [shop.watcher(), shop.watcher(fields="spec.nodeName=n")]
        ends = [wire(watcher) for watcher in watchers]
        for watcher in watchers:
            shop.lanes.join(watcher)
        await shop.store.put("core/pods/a/p", b"{")
        assert [end.aborted for end in ends] == [True, True]
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
        shop.lanes.begin(watcher, records, marks_end=True)
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
        shop.lanes.begin(watcher, records, marks_end=False)
        await turns()
        assert revisions(end.data) == there[:1]
        meanwhile = await shop.put("s")
        end.unread_bytes = 0
        shop.clock.advance(PIECE_PAUSE_SECONDS)
        await turns()
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
        shop.lanes.begin(watcher, records, marks_end=True)
        await turns()
        shop.lanes.leave(watcher)
        shop.clock.advance(PIECE_PAUSE_SECONDS)
        await turns()
        assert len(shop.lanes) == 0

    run(scenario)


def test_a_large_backlog_waits_for_its_reader_and_loses_nothing() -> None:
    async def scenario(shop: Shop) -> None:
        missed = [await shop.put(name) for name in "pqr"]
        watcher = shop.watcher(after=1)
        object.__setattr__(watcher.interest, "show", big(shop))
        end = wire(watcher)
        end.unread_bytes = PIECE_BYTES_MAX + 1
        shop.lanes.join(watcher)
        assert revisions(end.data) == missed[:1]
        await turns()
        meanwhile = [await shop.put("s"), await shop.put("p")]
        assert revisions(end.data) == missed[:1]
        end.unread_bytes = 0
        shop.clock.advance(PIECE_PAUSE_SECONDS)
        await turns()
        after = await shop.put("t")
        assert revisions(end.data) == [*missed, *meanwhile, after]

    run(scenario)


def test_who_missed_too_much_has_to_list_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dray.server.watching.lanes.BACKLOG_BYTES_MAX", 8)

    async def scenario(shop: Shop) -> None:
        for name in "pq":
            await shop.put(name)
        most = shop.watcher(after=1)
        shop.lanes.join(most)
        assert revisions(wire(most).data) == [2, 3]
        await shop.put("r")
        with pytest.raises(RevisionCompacted):
            shop.lanes.join(shop.watcher(after=1))
        assert len(shop.lanes) == 1

    assert BACKLOG_BYTES_MAX > BUFFERED_BYTES_MAX
    run(scenario)


def test_history_that_goes_while_a_client_reads_is_said_so() -> None:
    async def scenario(shop: Shop) -> None:
        for name in "pqr":
            await shop.put(name)
        watcher = shop.watcher(after=1)
        object.__setattr__(watcher.interest, "show", big(shop))
        end = wire(watcher)
        end.unread_bytes = PIECE_BYTES_MAX + 1
        shop.lanes.join(watcher)
        await turns()
        for name in "stu":
            await shop.put(name)
        await shop.store.compact(shop.store.revision)
        end.unread_bytes = 0
        shop.clock.advance(PIECE_PAUSE_SECONDS)
        await turns()
        assert revisions(end.data) == [2, 3, 4]
        assert b'"type":"ERROR"' in end.data
        assert b'"code":410' in end.data
        assert end.closed
        assert len(shop.lanes) == 0

    run(scenario)


def test_a_client_whose_buffer_overflows_at_once_takes_no_place() -> None:
    async def scenario(shop: Shop) -> None:
        await shop.put("p")
        watcher = shop.watcher(after=1)

        class Overflowing(Wire):
            def write(self, data: bytes) -> None:
                del data
                shop.lanes.finish(watcher)

        watcher.channel = Overflowing()
        shop.lanes.join(watcher)
        await turns()
        await shop.put("q")
        assert len(shop.lanes) == 0
        assert shop.shown == 1

    run(scenario)


@pytest.mark.parametrize("end_all", ["kind", "server"])
def test_those_who_still_hear_what_was_there_are_ended_too(end_all: str) -> None:
    async def scenario(shop: Shop) -> None:
        for name in "pqr":
            await shop.put(name)
        watcher = shop.watcher()
        object.__setattr__(watcher.interest, "show", big(shop))
        end = wire(watcher)
        end.unread_bytes = PIECE_BYTES_MAX + 1
        shop.lanes.begin(watcher, shop.store.range(PREFIX).records, marks_end=True)
        assert len(shop.lanes) == 1
        if end_all == "kind":
            shop.lanes.finish_all("", "pods")
        else:
            shop.lanes.close()
        assert end.closed
        assert not end.aborted
        assert len(shop.lanes) == 0

    run(scenario)


def test_a_client_that_does_not_read_is_looked_at_ever_less() -> None:
    async def scenario(shop: Shop) -> None:
        for name in "pq":
            await shop.put(name)
        watcher = shop.watcher()
        object.__setattr__(watcher.interest, "show", big(shop))
        looks = 0

        class Stalled(Wire):
            @property
            def buffered(self) -> int:
                nonlocal looks
                looks += 1
                return PIECE_BYTES_MAX + 1

        watcher.channel = Stalled()
        shop.lanes.begin(watcher, shop.store.range(PREFIX).records, marks_end=False)
        for _each in range(200):
            await turns()
            shop.clock.advance(PIECE_PAUSE_SECONDS)
        assert 5 <= looks <= 15
        shop.lanes.finish(watcher)

    run(scenario)


# What goes wrong -------------------------------------------------------------------------------


def broken_at(revision: int) -> Callable[[bytes, int], bytes]:
    def show(value: bytes, at: int) -> bytes:
        if at == revision:
            raise ValueError(value)
        return b'{"revision":%d,"x":"%b"}' % (at, b"x" * PIECE_BYTES_MAX)

    return show


def test_who_missed_an_event_is_dropped_and_hears_no_bookmarks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(shop: Shop) -> None:
        broken = [shop.watcher(bookmarks=True) for _each in range(2)]
        ends = [wire(watcher) for watcher in broken]
        for watcher in broken:
            object.__setattr__(watcher.interest, "show", broken_at(3))
            shop.lanes.join(watcher)
        other = shop.watcher(form="other")
        shop.lanes.join(other)
        for name in "pqr":
            await shop.put(name)
        assert [end.aborted for end in ends] == [True, True]
        assert [revisions(end.data) for end in ends] == [[2], [2]]
        assert revisions(wire(other).data) == [2, 3, 4]
        shop.clock.advance(BOOKMARK_SECONDS)
        shop.lanes.tick()
        assert not any(b"BOOKMARK" in end.data for end in ends)
        assert len(shop.lanes) == 1
        again = shop.watcher()
        shop.lanes.join(again)
        await shop.put("s")
        assert revisions(wire(again).data) == [5]

    run(scenario)
    assert "2 watches of pods dropped" in caplog.text


def test_a_beginning_that_fails_ends_the_watch(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(shop: Shop) -> None:
        for name in "pqr":
            await shop.put(name)
        watcher = shop.watcher(after=1)
        object.__setattr__(watcher.interest, "show", broken_at(3))
        end = wire(watcher)
        end.unread_bytes = PIECE_BYTES_MAX + 1
        shop.lanes.join(watcher)
        end.unread_bytes = 0
        await turns()
        assert end.aborted
        assert len(shop.lanes) == 0
        at_once = shop.watcher(after=2)
        object.__setattr__(at_once.interest, "show", broken_at(3))
        with pytest.raises(ValueError, match="q"):
            shop.lanes.join(at_once)
        assert len(shop.lanes) == 0

    run(scenario)
    assert "dropped while it began" in caplog.text


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
        shop.lanes.begin(watcher, records, marks_end=True)
        shop.lanes.expire_at(watcher, shop.clock.monotonic() + 1)
        await turns()
        shop.clock.advance(1)
        shop.lanes.tick()
        await turns()
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
