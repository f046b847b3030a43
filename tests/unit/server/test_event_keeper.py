from __future__ import annotations

import asyncio

from dray.api.codec import encode
from dray.api.core import Event
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.errors import StoreUnavailable
from dray.server.event_keeper import BATCH, EVENT_SECONDS, LOOKS_MAX, EventKeeper
from dray.server.registry import Registry
from dray.server.stored_state import StoredState
from dray.store.memory import MemoryStore
from dray.testing import FakeClock

KEY = "core/events/default/e"


def stored(clock: FakeClock) -> bytes:
    event = Event(
        metadata=ObjectMeta(name="e", namespace="default", creation_timestamp=Time(clock.now()))
    )
    return b'{"metadata":{' + encode(event).partition(b'"metadata":{')[2]


def test_an_event_goes_an_hour_after_the_last_word_on_it() -> None:
    async def scenario() -> None:
        clock, store = FakeClock(), MemoryStore()
        keeper = EventKeeper(StoredState(store, Registry()), store, clock)
        subscription = store.watch("core/events/", 0, keeper._note)
        await store.put(KEY, stored(clock))
        clock.advance(EVENT_SECONDS / 2)
        await store.put(KEY, stored(clock))
        clock.advance(EVENT_SECONDS / 2 + 1)
        await keeper.sweep()
        assert store.get(KEY) is not None
        clock.advance(EVENT_SECONDS / 2)
        await keeper.sweep()
        assert store.get(KEY) is None
        subscription.close()

    asyncio.run(scenario())


def test_events_from_before_the_start_go_by_their_own_times() -> None:
    async def scenario() -> None:
        clock, store = FakeClock(), MemoryStore()
        await store.put(KEY, stored(clock))
        clock.advance(EVENT_SECONDS - 10)
        keeper = EventKeeper(StoredState(store, Registry()), store, clock)
        keeper._begin()
        await keeper.sweep()
        assert store.get(KEY) is not None
        clock.advance(11)
        await keeper.sweep()
        assert store.get(KEY) is None

    asyncio.run(scenario())


class Shared(MemoryStore):
    """A store that says how many deletions waited for the disk at once, and whose disk may fill."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = self.most = 0
        self.full = False

    async def delete(self, key: str, *, expected: int | None = None) -> int | None:
        if self.full:
            raise StoreUnavailable("the disk is full")
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0)
        self.waiting -= 1
        return await super().delete(key, expected=expected)


async def many(count: int, store: Shared, clock: FakeClock) -> EventKeeper:
    """A keeper that has heard of this many events."""
    keeper = EventKeeper(StoredState(store, Registry()), store, clock)
    store.watch("core/events/", 0, keeper._note)
    for number in range(count):
        await store.put(f"{KEY}{number}", stored(clock))
    return keeper


def test_all_that_is_due_goes_at_once_and_shares_commits() -> None:
    async def scenario() -> None:
        clock, store = FakeClock(), Shared()
        keeper = await many(10 * BATCH + 1, store, clock)
        clock.advance(EVENT_SECONDS)
        await keeper.sweep()
        assert store.count("core/events/") == 0
        assert store.most == BATCH

    asyncio.run(scenario())


def test_events_that_were_heard_of_again_hold_up_nobody() -> None:
    async def scenario() -> None:
        clock, store = FakeClock(), Shared()
        keeper = await many(1, store, clock)
        for _word in range(2 * LOOKS_MAX):
            await store.put(f"{KEY}0", stored(clock))
        await store.put(KEY, stored(clock))
        clock.advance(EVENT_SECONDS)
        await keeper.sweep()
        assert store.count("core/events/") == 0
        assert store.most == 1

    asyncio.run(scenario())


def test_events_a_full_disk_kept_go_at_a_later_time() -> None:
    async def scenario() -> None:
        clock, store = FakeClock(), Shared()
        keeper = await many(3 * BATCH, store, clock)
        clock.advance(EVENT_SECONDS)
        store.full = True
        await keeper.sweep()
        assert store.count("core/events/") == 3 * BATCH
        store.full = False
        await keeper.sweep()
        assert store.count("core/events/") == 0

    asyncio.run(scenario())
