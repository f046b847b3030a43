from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from dray.agent.node.description import NodeDescription
from dray.agent.node.heartbeat import NAMESPACE
from dray.agent.node.machine import Machine
from dray.agent.node.registration import NodeKeeper
from dray.agent.runtimes.runtime import RuntimeInfo
from dray.api.coordination import Lease
from dray.api.core import Node, NodeCondition, Taint
from dray.api.meta import Object, ObjectMeta
from dray.api.wire import Time
from dray.client import EventType, PatchType
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.unit.agent.node.api import node_line

DESCRIPTION = NodeDescription(
    "n1",
    Machine(hostname="host-1", addresses=("192.0.2.7", "2001:db8::7"), memory_bytes=2**34),
    RuntimeInfo("process", "0.1.0"),
    labels={"rack": "7"},
    taints=(Taint(key="example.com/new", effect="NoSchedule"),),
)


class Setting:
    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.line, self.client = node_line(cluster, "n1")
        self.problems: list[str] = []
        self.events: list[str] = []
        self.keeper = self.restarted()

    def restarted(self) -> NodeKeeper:
        self.keeper = NodeKeeper(
            self.client,
            DESCRIPTION,
            clock=self.clock,
            entropy=SeededEntropy(1),
            problems=lambda: self.problems,
            events=self,
        )
        return self.keeper

    def record(self, regarding: Object, type: str, reason: str, message: str) -> None:  # noqa: A002
        self.events.append(message)

    async def node(self) -> Node:
        return await self.cluster.client.get(Node, "n1")

    async def ready(self) -> NodeCondition:
        return next(item for item in (await self.node()).status.conditions if item.type == "Ready")

    def writes(self) -> list[str]:
        written = [request for request in self.line.requests if not request.startswith("GET")]
        self.line.requests.clear()
        return written

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.keeper.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))


def in_cluster(body: Callable[[Setting], Awaitable[None]]) -> Callable[[], None]:
    def test() -> None:
        async def run() -> None:
            clock = FakeClock()
            async with Cluster(clock=clock) as cluster:
                await body(Setting(cluster, clock))

        asyncio.run(run())

    test.__name__ = body.__name__
    return test


@in_cluster
async def test_a_node_is_registered_with_its_own_rights(setting: Setting) -> None:
    await setting.keeper.sync()
    node = await setting.node()
    assert node.metadata.labels["rack"] == "7"
    assert node.metadata.labels["kubernetes.io/hostname"] == "host-1"
    assert [taint.key for taint in node.spec.taints if taint.key.startswith("example")]
    assert str(node.status.capacity["memory"]) == "16Gi"
    assert (await setting.ready()).status == "True"
    assert setting.events == ["Node n1 status is now: NodeReady"]


@in_cluster
async def test_a_node_that_says_what_it_should_is_not_written(setting: Setting) -> None:
    await setting.keeper.sync()
    setting.writes()
    setting.clock.advance(10)
    await setting.keeper.sync()
    assert setting.writes() == []


@in_cluster
async def test_after_some_minutes_the_status_is_written_anyway(setting: Setting) -> None:
    await setting.keeper.sync()
    since = (await setting.ready()).last_transition_time
    setting.writes()
    setting.clock.advance(450)
    await setting.keeper.sync()
    assert setting.writes() == ["PATCH /api/v1/nodes/n1/status"]
    ready = await setting.ready()
    assert ready.last_heartbeat_time == Time(setting.clock.now())
    assert ready.last_transition_time == since


@in_cluster
async def test_a_problem_shows_in_the_ready_condition(setting: Setting) -> None:
    await setting.keeper.sync()
    setting.clock.advance(10)
    setting.problems.append("container runtime is down")
    await setting.keeper.sync()
    ready = await setting.ready()
    assert (ready.status, ready.reason, ready.message) == (
        "False",
        "KubeletNotReady",
        "container runtime is down",
    )
    assert ready.last_transition_time == Time(setting.clock.now())
    assert setting.events[1:] == ["Node n1 status is now: NodeNotReady"]


@in_cluster
async def test_a_node_that_was_taken_for_dead_says_that_it_lives(setting: Setting) -> None:
    await setting.keeper.sync()
    unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    await setting.cluster.client.patch(
        Node,
        "n1",
        {"status": {"conditions": [unknown]}},
        type=PatchType.STRATEGIC,
        subresource="status",
    )
    await setting.keeper.sync()
    assert (await setting.ready()).status == "True"


@in_cluster
async def test_what_others_wrote_stays(setting: Setting) -> None:
    await setting.keeper.sync()
    await setting.cluster.client.patch(Node, "n1", {"metadata": {"labels": {"zone": "a"}}})
    await setting.cluster.client.patch(
        Node,
        "n1",
        {
            "status": {
                "conditions": [{"type": "KernelDeadlock", "status": "False"}],
                "capacity": {"example.com/fpga": "2"},
                "addresses": [{"type": "ExternalIP", "address": "198.51.100.9"}],
            }
        },
        type=PatchType.STRATEGIC,
        subresource="status",
    )
    setting.problems.append("something to write")
    await setting.keeper.sync()
    node = await setting.node()
    assert node.metadata.labels["zone"] == "a"
    assert "KernelDeadlock" in [item.type for item in node.status.conditions]
    assert str(node.status.capacity["example.com/fpga"]) == "2"
    # Addresses are the node's alone; both of one type are there.
    assert [item.address for item in node.status.addresses] == [
        "192.0.2.7",
        "2001:db8::7",
        "host-1",
    ]


@in_cluster
async def test_a_node_that_exists_is_adopted(setting: Setting) -> None:
    await setting.cluster.client.create(
        Node(metadata=ObjectMeta(name="n1", labels={"pool": "blue", "kubernetes.io/arch": "m68k"}))
    )
    await setting.keeper.sync()
    node = await setting.node()
    assert node.metadata.labels == {
        "pool": "blue",
        "kubernetes.io/hostname": "host-1",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
    }
    assert (await setting.ready()).status == "True"
    assert setting.keeper.node == node


@in_cluster
async def test_a_restarted_agent_keeps_the_times_of_conditions(setting: Setting) -> None:
    await setting.keeper.sync()
    since = (await setting.ready()).last_transition_time
    setting.clock.advance(60)
    await setting.restarted().sync()
    assert (await setting.ready()).last_transition_time == since


@in_cluster
async def test_a_deleted_node_is_made_again_and_its_lease_follows(setting: Setting) -> None:
    watching = setting.cluster.client.watch(Node)
    async with setting.running():
        first = await setting.keeper.registered()
        await setting.cluster.client.delete(Node, "n1")
        setting.keeper.refresh()
        async for event in watching:
            if event.type is EventType.ADDED and event.object.metadata.uid != first.metadata.uid:
                break
    await watching.aclose()
    assert (await setting.node()).metadata.uid != first.metadata.uid


@in_cluster
async def test_a_change_is_written_at_once_when_somebody_says_so(setting: Setting) -> None:
    watching = setting.cluster.client.watch(Node)
    async with setting.running():
        await setting.keeper.registered()
        setting.problems.append("shutting down")
        setting.keeper.refresh()
        async for event in watching:
            ready = [item for item in event.object.status.conditions if item.type == "Ready"]
            if ready and ready[0].message == "shutting down":
                break
    await watching.aclose()


@in_cluster
async def test_running_keeps_the_lease_too_and_stopping_leaves_everything(
    setting: Setting,
) -> None:
    watching = setting.cluster.client.watch(Lease, namespace=NAMESPACE)
    async with setting.running():
        async for event in watching:
            lease = event.object
            if event.type is EventType.ADDED and lease.metadata.name == "n1":
                break
    await watching.aclose()
    node = await setting.node()
    assert lease.metadata.owner_references[0].uid == node.metadata.uid
    assert (await setting.ready()).status == "True", "as a kubelet, which says nothing either"
    await setting.cluster.client.get(Lease, "n1", namespace=NAMESPACE)


@in_cluster
async def test_an_outage_at_the_start_is_outlived(setting: Setting) -> None:
    setting.line.up = False
    async with setting.running():
        for _ in range(100):
            await asyncio.sleep(0)
        setting.line.up = True
        setting.clock.advance(1)
        await setting.keeper.registered()
