"""The recorder of events: never in the way, and nothing written twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dray.api import events
from dray.api.core import Event, Node, Pod
from dray.api.meta import ObjectMeta
from dray.client import Client, EventRecorder
from dray.client._event_recorder import NOTE_BYTES_MAX
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

from .transports import Faulty

POD = Pod(metadata=ObjectMeta(name="p", namespace="default", uid="u", resource_version="5"))


class Recorded:
    def __init__(self, cluster: Cluster, clock: FakeClock, **options: Any) -> None:
        self.clock = clock
        self.client = cluster.client
        self.transport = Faulty(cluster.transport())
        self.recorder = EventRecorder(
            Client(self.transport, clock=clock),
            component="tester",
            clock=clock,
            entropy=SeededEntropy(1),
            **{"host": "n1", **options},
        )

    async def settle(self) -> None:
        """Let everything happen that needs no time."""
        ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        while ready:
            await asyncio.sleep(0)

    async def events(self, namespace: str = "default") -> Sequence[Event]:
        return (await self.client.list(Event, namespace=namespace)).items


@asynccontextmanager
async def recording(**options: Any) -> AsyncIterator[Recorded]:
    clock = FakeClock()
    async with Cluster(clock=clock) as cluster:
        yield Recorded(cluster, clock, **options)


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


def seen(event: Event) -> tuple[str, str, str, int, str]:
    """An event of the newer sort, as far as it changes."""
    series = event.series
    count, last = (1, "") if series is None else (series.count, str(series.last_observed_time))
    return event.reason, event.action, event.message, count, last


def test_an_event_of_the_newer_sort_says_what_was_done_and_what_it_concerned() -> None:
    async def main() -> None:
        async with recording(series=True) as recorded:
            node = Node(metadata=ObjectMeta(name="n1", uid="v"))
            recorded.recorder.record(
                POD, "Normal", "Scheduled", "assigned", action="Binding", related=node
            )
            await recorded.recorder.drain()
            (event,) = await recorded.events()
            assert (event.reason, event.action, event.message) == (
                "Scheduled",
                "Binding",
                "assigned",
            )
            assert str(event.event_time) == "2026-01-01T00:00:00.000000Z"
            assert (event.first_timestamp, event.last_timestamp, event.count) == (None, None, 0)
            assert (event.source.component, event.series) == ("", None)
            assert (event.reporting_component, event.reporting_instance) == ("tester", "tester-n1")
            assert event.related is not None
            assert (event.related.kind, event.related.name, event.related.uid) == (
                "Node",
                "n1",
                "v",
            )
            (newer,) = (await recorded.client.list(events.Event, namespace="default")).items
            assert (newer.note, newer.reporting_controller) == ("assigned", "tester")

    asyncio.run(main())


def test_events_of_the_older_sort_may_say_so_too() -> None:
    async def main() -> None:
        async with recording() as recorded:
            recorded.recorder.record(POD, "Normal", "Pulled", "x", action="Pull", related=POD)
            await recorded.recorder.drain()
            (event,) = await recorded.events()
            assert event.action == "Pull"
            assert event.related is not None
            assert event.related.name == "p"

    asyncio.run(main())


def test_a_repetition_is_written_at_once_and_more_of_them_half_a_minute_later() -> None:
    async def main() -> None:
        async with recording(series=True) as recorded:
            task = asyncio.create_task(recorded.recorder.run())

            async def happen(seconds: float) -> list[tuple[str, str, str, int, str]]:
                recorded.recorder.record(POD, "Warning", "FailedScheduling", "no room")
                await recorded.settle()
                recorded.clock.advance(seconds)
                await recorded.settle()
                return [seen(event) for event in await recorded.events()]

            said = ("FailedScheduling", "FailedScheduling", "no room")
            assert await happen(10) == [(*said, 1, "")]
            assert await happen(10) == [(*said, 2, "2026-01-01T00:00:10.000000Z")]
            assert await happen(10) == [(*said, 2, "2026-01-01T00:00:10.000000Z")]
            assert await happen(10) == [(*said, 2, "2026-01-01T00:00:10.000000Z")]
            assert await happen(10) == [(*said, 5, "2026-01-01T00:00:40.000000Z")]
            assert recorded.recorder.written_count == 3
            task.cancel()
            await asyncio.wait([task])

    asyncio.run(main())


def test_what_was_counted_and_not_written_is_drained() -> None:
    async def main() -> None:
        async with recording(series=True) as recorded:
            for _ in range(7):
                recorded.recorder.record(POD, "Normal", "Waiting", "still")
            await recorded.recorder.drain()
            (event,) = await recorded.events()
            assert event.series is not None
            assert event.series.count == 7
            assert len(recorded.transport.calls) == 3

    asyncio.run(main())


def test_a_series_whose_event_is_gone_is_stored_anew() -> None:
    async def main() -> None:
        async with recording(series=True) as recorded:
            recorded.recorder.record(POD, "Normal", "Waiting", "still")
            await recorded.recorder.drain()
            await recorded.client.delete_collection(Event, namespace="default")
            recorded.recorder.record(POD, "Normal", "Waiting", "still")
            await recorded.recorder.drain()
            (event,) = await recorded.events()
            assert event.series is not None
            assert event.series.count == 2

    asyncio.run(main())


@pytest.mark.parametrize("character", ["x", "\u00fc", "\U0001f4a5"])
def test_notes_and_instances_are_cut_to_what_servers_take(character: str) -> None:
    async def main() -> None:
        async with recording(series=True, host=character * 200) as recorded:
            recorded.recorder.record(POD, "Normal", "Waiting", character * 2000)
            recorded.recorder.record(POD, "Normal", "Said", "x" * NOTE_BYTES_MAX)
            await recorded.recorder.drain()
            long, exact = sorted(await recorded.events(), key=lambda event: event.message[-1])
            assert long.message.startswith(character * 250)
            assert long.message.endswith("...")
            assert exact.message == "x" * NOTE_BYTES_MAX

    asyncio.run(main())


@pytest.mark.parametrize("series", [False, True])
def test_a_message_that_no_json_can_hold_is_written_as_far_as_it_goes(series: bool) -> None:
    async def main() -> None:
        async with recording(series=series) as recorded:
            recorded.recorder.record(POD, "Normal", "Said", "caf\u00e9 \udcff")
            await recorded.recorder.drain()
            (event,) = await recorded.events()
            assert event.message == "caf\u00e9 ?"

    asyncio.run(main())
