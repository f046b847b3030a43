"""What users are told of a pod, and that nobody is told the same twice."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from dray.api.core import Event, Pod, PodCondition
from dray.api.wire import Time
from dray.client import Client, EventRecorder
from dray.entropy import SeededEntropy
from dray.errors import Invalid
from dray.scheduler.reports import NOTE_BYTES_MAX, Reports
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.unit.controllers.stage import Traffic


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 20))


class Desk:
    """Reports on one pod."""

    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.clock = clock
        self.cluster = cluster
        self.traffic = Traffic(cluster.transport())
        client = Client(self.traffic, clock=clock)
        self.events = EventRecorder(
            client, component="default-scheduler", clock=clock, entropy=SeededEntropy(3)
        )
        self.reports = Reports(client, self.events, clock)

    async def pod(self) -> Pod:
        return await self.cluster.client.get(Pod, "train", namespace="default")

    async def condition(self) -> PodCondition:
        conditions = (await self.pod()).status.conditions
        return next(one for one in conditions if one.type == "PodScheduled")

    async def told(self) -> list[Event]:
        task = asyncio.ensure_future(self.events.run())
        while not (found := (await self.cluster.client.list(Event)).items):
            await asyncio.sleep(0)
        task.cancel()
        return list(found)


def at_a_desk(work: Any) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock) as cluster:
            await cluster.add_pod("train")
            await work(Desk(cluster, clock))

    run(scenario())


def test_a_refused_pod_has_a_condition_and_an_event() -> None:
    async def work(desk: Desk) -> None:
        await desk.reports.refused(await desk.pod(), "Unschedulable", "no room")
        condition = await desk.condition()
        assert (condition.status, condition.reason) == ("False", "Unschedulable")
        assert condition.message == "no room"
        (event,) = await desk.told()
        assert (event.type, event.reason, event.message) == (
            "Warning",
            "FailedScheduling",
            "no room",
        )

    at_a_desk(work)


def test_a_condition_that_says_the_same_is_not_written_again() -> None:
    async def work(desk: Desk) -> None:
        await desk.reports.refused(await desk.pod(), "Unschedulable", "no room")
        desk.traffic.writes()
        desk.clock.advance(60)
        await desk.reports.refused(await desk.pod(), "Unschedulable", "no room")
        assert desk.traffic.writes() == {}

    at_a_desk(work)


def test_a_condition_changes_its_words_but_not_the_time_since_when() -> None:
    async def work(desk: Desk) -> None:
        await desk.reports.refused(await desk.pod(), "Unschedulable", "no room")
        since = (await desk.condition()).last_transition_time
        desk.clock.advance(60)
        await desk.reports.refused(await desk.pod(), "SchedulerError", "out of order")
        condition = await desk.condition()
        assert (condition.reason, condition.message) == ("SchedulerError", "out of order")
        assert condition.last_transition_time == since != Time(desk.clock.now())

    at_a_desk(work)


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [("", "node-1", "node-1"), ("node-1", None, "node-1"), ("node-1", "", "")],
)
def test_a_pod_is_told_where_room_is_made_for_it(before: str, said: str | None, after: str) -> None:
    async def work(desk: Desk) -> None:
        if before:
            await desk.reports.refused(
                await desk.pod(), "Unschedulable", "x", nominated_node_name=before
            )
        await desk.reports.refused(await desk.pod(), "Unschedulable", "y", nominated_node_name=said)
        assert (await desk.pod()).status.nominated_node_name == after

    at_a_desk(work)


def test_other_conditions_stay() -> None:
    async def work(desk: Desk) -> None:
        other = PodCondition(type="example.com/Checked", status="True")
        await desk.cluster.client.patch(
            Pod,
            "train",
            {"status": {"conditions": [other]}},
            namespace="default",
            subresource="status",
        )
        await desk.reports.refused(await desk.pod(), "Unschedulable", "no room")
        types = {one.type for one in (await desk.pod()).status.conditions}
        assert types >= {"example.com/Checked", "PodScheduled"}

    at_a_desk(work)


def test_another_pod_of_the_same_name_is_not_told() -> None:
    async def work(desk: Desk) -> None:
        first = await desk.pod()
        client = desk.cluster.client
        await client.delete(Pod, "train", namespace="default", grace_period_seconds=0)
        await desk.cluster.add_pod("train")
        with pytest.raises(Invalid, match="uid"):
            await desk.reports.refused(first, "Unschedulable", "no room")

    at_a_desk(work)


def test_an_event_carries_as_much_as_it_may_of_a_message_and_the_condition_all() -> None:
    async def work(desk: Desk) -> None:
        message = "0/1 nodes are available: " + "ü" * NOTE_BYTES_MAX
        await desk.reports.refused(await desk.pod(), "Unschedulable", message)
        assert (await desk.condition()).message == message
        (event,) = await desk.told()
        assert len(event.message.encode()) <= NOTE_BYTES_MAX
        assert event.message.endswith("ü ...")

    at_a_desk(work)


def test_a_bound_pod_and_a_victim_are_told_in_upstreams_words() -> None:
    async def work(desk: Desk) -> None:
        pod = await desk.pod()
        desk.reports.bound(pod, "node-1")
        (event,) = await desk.told()
        assert (event.type, event.reason) == ("Normal", "Scheduled")
        assert event.message == "Successfully assigned default/train to node-1"

    at_a_desk(work)
