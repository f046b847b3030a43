from __future__ import annotations

import asyncio

from dray.api.codec import encode
from dray.api.core import Event
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.server.event_keeper import EVENT_SECONDS, EventKeeper
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
