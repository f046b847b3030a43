"""The recorder of events: never in the way, and nothing written twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from dray.api.core import Event, Node, Pod
from dray.api.meta import ObjectMeta
from dray.client import Client, EventRecorder
from dray.client._event_recorder import QUEUED_MAX, TRIES_MAX
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

from .transports import Faulty

POD = Pod(metadata=ObjectMeta(name="p", namespace="default", uid="u", resource_version="5"))


class Recorded:
    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.clock = clock
        self.client = cluster.client
        self.transport = Faulty(cluster.transport())
        self.recorder = EventRecorder(
            Client(self.transport, clock=clock),
            component="tester",
            host="n1",
            clock=clock,
            entropy=SeededEntropy(1),
        )

    async def events(self, namespace: str = "default") -> Sequence[Event]:
        return (await self.client.list(Event, namespace=namespace)).items


@asynccontextmanager
async def recording() -> AsyncIterator[Recorded]:
    clock = FakeClock()
    async with Cluster(clock=clock) as cluster:
        yield Recorded(cluster, clock)


def test_an_event_says_who_saw_what_happen_to_which_object() -> None:
    async def main() -> None:
        async with recording() as recorded:
            recorded.recorder.record(POD, "Warning", "Failed", "it broke", field_path="spec.x")
            await recorded.recorder.drain()
            (event,) = await recorded.events()
            about = event.involved_object
            assert event.metadata.name.startswith("p.18")
            assert (about.kind, about.api_version, about.name, about.uid) == ("Pod", "v1", "p", "u")
            assert (about.namespace, about.field_path) == ("default", "spec.x")
            assert (event.type, event.reason, event.message) == ("Warning", "Failed", "it broke")
            assert (event.source.component, event.source.host, event.count) == ("tester", "n1", 1)
            assert str(event.first_timestamp) == "2026-01-01T00:00:00Z"

    asyncio.run(main())


def test_what_repeats_is_counted() -> None:
    async def main() -> None:
        async with recording() as recorded:
            for _ in range(3):
                recorded.recorder.record(POD, "Normal", "Started", "again")
                recorded.clock.advance(5)
            await recorded.recorder.drain()
            (event,) = await recorded.events()
            assert event.count == 3
            assert str(event.last_timestamp) == "2026-01-01T00:00:10Z"
            assert str(event.first_timestamp) == "2026-01-01T00:00:00Z"

    asyncio.run(main())


def test_what_repeats_after_its_event_is_gone_is_stored_anew() -> None:
    async def main() -> None:
        async with recording() as recorded:
            recorded.recorder.record(POD, "Normal", "Started", "again")
            await recorded.recorder.drain()
            await recorded.client.delete_collection(Event, namespace="default")
            recorded.recorder.record(POD, "Normal", "Started", "again")
            await recorded.recorder.drain()
            (event,) = await recorded.events()
            assert event.count == 2

    asyncio.run(main())


def test_events_about_what_has_no_namespace_are_in_the_default_one() -> None:
    async def main() -> None:
        async with recording() as recorded:
            node = Node(metadata=ObjectMeta(name="n1"))
            recorded.recorder.record(node, "Normal", "Ready", "there")
            odd = Node(metadata=ObjectMeta(name="Not:A:Subdomain"))
            recorded.recorder.record(odd, "Normal", "Ready", "there")
            await recorded.recorder.drain()
            about = sorted(event.involved_object.name for event in await recorded.events())
            assert about == ["Not:A:Subdomain", "n1"]

    asyncio.run(main())


def test_a_server_that_is_away_is_waited_for_and_a_cancelled_run_loses_nothing() -> None:
    async def main() -> None:
        async with recording() as recorded:
            recorded.transport.fail = lambda _call: True
            task = asyncio.create_task(recorded.recorder.run())
            recorded.recorder.record(POD, "Normal", "Started", "one")
            recorded.recorder.record(POD, "Normal", "Started", "two")
            while len(recorded.transport.calls) < 3:
                recorded.clock.advance(10)
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            recorded.transport.fail = lambda _call: False
            await recorded.recorder.drain()
            found = {event.message: event.count for event in await recorded.events()}
            assert found == {"one": 1, "two": 1}

    asyncio.run(main())


def test_retries_are_bounded() -> None:
    async def main() -> None:
        async with recording() as recorded:
            recorded.transport.fail = lambda _call: True
            recorded.recorder.record(POD, "Normal", "Started", "one")
            task = asyncio.create_task(recorded.recorder.drain())
            while not task.done():
                recorded.clock.advance(10)
                await asyncio.sleep(0)
            assert len(recorded.transport.calls) == TRIES_MAX
            assert recorded.recorder.dropped_count == 1

    asyncio.run(main())


def test_what_a_server_refuses_is_not_tried_again() -> None:
    async def main() -> None:
        async with recording() as recorded:
            lost = Pod(metadata=ObjectMeta(name="p", namespace="nowhere"))
            recorded.recorder.record(lost, "Normal", "Started", "one")
            recorded.recorder.record(POD, "Normal", "Started", "two")
            await recorded.recorder.drain()
            assert len(recorded.transport.calls) == 2
            assert [event.message for event in await recorded.events()] == ["two"]

    asyncio.run(main())


def test_of_too_many_events_the_oldest_are_dropped_and_counted() -> None:
    async def main() -> None:
        async with recording() as recorded:
            for number in range(QUEUED_MAX + 7):
                pod = Pod(metadata=ObjectMeta(name=f"p{number}", namespace="default"))
                recorded.recorder.record(pod, "Normal", "Started", "one")
            assert recorded.recorder.dropped_count == 7
            assert recorded.recorder._queue[0].involved_object.name == "p7"

    asyncio.run(main())
