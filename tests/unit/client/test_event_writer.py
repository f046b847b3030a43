"""The writer of events: several at a time, in order where it matters, and never too many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dray.api.core import Event, ObjectReference
from dray.api.meta import ObjectMeta
from dray.client import Call, Client, Reply, StreamedReply, Transport
from dray.client._correlator import Correlated
from dray.client._event_writer import LANES, QUEUED_MAX, TRIES_MAX, EventWriter
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

from .transports import Faulty


def event(about: str, number: int = 0, namespace: str = "default") -> Event:
    return Event(
        metadata=ObjectMeta(name=f"{about}.{number}", namespace=namespace),
        involved_object=ObjectReference(kind="Pod", namespace=namespace, name=about),
        reason="Started",
    )


class Plain:
    """Has every event written as it is."""

    def __init__(self) -> None:
        self.stored_names: list[str] = []

    def correlate(self, event: Event) -> Correlated | None:
        return Correlated(event)

    def stored(self, event: Event) -> None:
        self.stored_names.append(event.metadata.name)


class Held:
    """A transport that answers no request before it is told to."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.let_go = asyncio.Event()
        self.pending_count = 0
        self.pending_most = 0

    async def request(self, call: Call) -> Reply:
        self.pending_count += 1
        self.pending_most = max(self.pending_most, self.pending_count)
        try:
            await self.let_go.wait()
            return await self._inner.request(call)
        finally:
            self.pending_count -= 1

    async def stream(self, call: Call) -> StreamedReply:
        return await self._inner.stream(call)

    async def close(self) -> None:
        await self._inner.close()


class Writing:
    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.clock = clock
        self.held = Held(cluster.transport())
        self.transport = Faulty(self.held)
        self.plain = Plain()
        self.writer = EventWriter(
            Client(self.transport, clock=clock), self.plain, clock=clock, entropy=SeededEntropy(1)
        )
        self.client = cluster.client
        self.held.let_go.set()

    async def stored(self) -> set[str]:
        listing = await self.client.list(Event)
        return {event.metadata.name for event in listing.items}

    async def settle(self) -> None:
        ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        while ready:
            await asyncio.sleep(0)


@asynccontextmanager
async def writing() -> AsyncIterator[Writing]:
    clock = FakeClock()
    async with Cluster(clock=clock) as cluster:
        yield Writing(cluster, clock)


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def test_several_are_written_at_a_time_and_no_more_than_there_are_lanes() -> None:
    async def main() -> None:
        async with writing() as stage:
            stage.held.let_go.clear()
            task = asyncio.create_task(stage.writer.run())
            for number in range(200):
                stage.writer.put(event(f"p{number}"))
            await stage.settle()
            assert stage.held.pending_count == LANES
            stage.held.let_go.set()
            await stage.writer.drain()
            assert len(await stage.stored()) == 200
            assert (stage.writer.written_count, stage.writer.queued_count) == (200, 0)
            await stop(task)

    asyncio.run(main())


def test_events_about_one_object_are_written_one_after_the_other() -> None:
    async def main() -> None:
        async with writing() as stage:
            stage.held.let_go.clear()
            task = asyncio.create_task(stage.writer.run())
            for number in range(5):
                stage.writer.put(event("p", number))
            await stage.settle()
            assert stage.held.pending_count == 1
            stage.held.let_go.set()
            for number in range(5, 10):
                stage.writer.put(event("p", number))
            await stage.writer.drain()
            assert stage.plain.stored_names == [f"p.{number}" for number in range(10)]
            assert stage.held.pending_most == 1
            await stop(task)

    asyncio.run(main())


def test_what_comes_after_all_was_written_is_written_too() -> None:
    async def main() -> None:
        async with writing() as stage:
            task = asyncio.create_task(stage.writer.run())
            for number in range(3):
                stage.writer.put(event("p", number))
                await stage.settle()
                assert len(stage.plain.stored_names) == number + 1
            await stop(task)

    asyncio.run(main())


def test_who_is_cancelled_while_writing_leaves_it_to_the_next() -> None:
    async def main() -> None:
        async with writing() as stage:
            stage.held.let_go.clear()
            for number in range(40):
                stage.writer.put(event(f"p{number}"))
            task = asyncio.create_task(stage.writer.run())
            await stage.settle()
            await stop(task)
            stage.held.let_go.set()
            task = asyncio.create_task(stage.writer.run())
            await stage.settle()
            assert len(await stage.stored()) == 40
            await stop(task)

    asyncio.run(main())


def test_draining_writes_what_was_put_before_and_does_not_wait_for_what_comes_then() -> None:
    async def main() -> None:
        async with writing() as stage:
            stage.held.let_go.clear()
            stage.writer.put(event("p", 1))
            task = asyncio.create_task(stage.writer.drain())
            await stage.settle()
            stage.writer.put(event("p", 2))
            stage.held.let_go.set()
            await task
            assert await stage.stored() == {"p.1"}

    asyncio.run(main())


def test_retries_are_bounded() -> None:
    async def main() -> None:
        async with writing() as stage:
            stage.transport.fail = lambda _call: True
            stage.writer.put(event("p"))
            task = asyncio.create_task(stage.writer.drain())
            while not task.done():
                stage.clock.advance(10)
                await asyncio.sleep(0)
            assert len(stage.transport.calls) == TRIES_MAX
            assert (stage.writer.dropped_count, stage.writer.written_count) == (1, 0)

    asyncio.run(main())


def test_what_a_server_refuses_is_not_tried_again() -> None:
    async def main() -> None:
        async with writing() as stage:
            stage.writer.put(event("lost", namespace="nowhere"))
            stage.writer.put(event("p"))
            await stage.writer.drain()
            assert len(stage.transport.calls) == 2
            assert await stage.stored() == {"p.0"}

    asyncio.run(main())


def test_of_too_many_events_the_oldest_are_dropped_and_counted() -> None:
    async def main() -> None:
        async with writing() as stage:
            for number in range(QUEUED_MAX + 7):
                stage.writer.put(event(f"p{number}"))
            assert (stage.writer.dropped_count, stage.writer.queued_count) == (7, QUEUED_MAX)
            waiting = [each for lane in stage.writer._lanes for _, each in lane.queue]
            names = {each.involved_object.name for each in waiting if isinstance(each, Event)}
            assert names == {f"p{number}" for number in range(7, QUEUED_MAX + 7)}

    asyncio.run(main())
