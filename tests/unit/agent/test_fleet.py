"""Simulated nodes that share a process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest

from dray.agent.fleet import Fleet, SharedPods, Traits
from dray.api.coordination import Lease
from dray.api.core import Node, Pod, Taint
from dray.api.quantity import Quantity
from dray.client import Call, Client, EventType, Reply, StreamedReply, Transport
from dray.entropy import SeededEntropy
from dray.server.routing import route
from dray.testing import FakeClock
from dray.testing.cluster import Cluster


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 30))


async def running(cluster: Cluster, name: str) -> Pod:
    """The pod, once it runs."""
    async for event in cluster.client.watch(Pod, field_selector=f"metadata.name={name}"):
        if event.type is not EventType.BOOKMARK and event.object.status.phase == "Running":
            return event.object
    raise AssertionError("the watch ended")


@pytest.mark.slow
def test_every_node_is_registered_and_runs_its_own_pods() -> None:
    async def scenario() -> None:
        async with Cluster(clock=FakeClock()) as cluster:
            names = [f"node-{number}" for number in range(20)]
            fleet = Fleet(cluster.client, names, clock=cluster.clock, entropy=SeededEntropy(1))
            task = asyncio.ensure_future(fleet.run())
            await fleet.ready()
            nodes = await cluster.client.list(Node)
            assert {node.metadata.name for node in nodes.items} == set(names)
            for name in ("node-0", "node-19"):
                await cluster.add_pod(f"pod-of-{name}", node=name)
                pod = await running(cluster, f"pod-of-{name}")
                assert [one.metadata.name for one in fleet.agents[name].pods.active_pods()] == [
                    pod.metadata.name
                ]
            assert not fleet.agents["node-1"].pods.active_pods()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    run(scenario())


class Counted:
    """A transport that remembers which resources it was asked for."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.asked: set[str] = set()

    async def request(self, call: Call) -> Reply:
        self._count(call)
        return await self._transport.request(call)

    async def stream(self, call: Call) -> StreamedReply:
        self._count(call)
        return await self._transport.stream(call)

    async def close(self) -> None:
        await self._transport.close()

    def _count(self, call: Call) -> None:
        where = route(call.method, call.path, {})
        self.asked.add(f"{where.resource}/{where.subresource}".rstrip("/"))


def test_nodes_are_kept_alive_by_the_client_for_heartbeats_alone() -> None:
    async def scenario() -> None:
        async with Cluster(clock=FakeClock()) as cluster:
            work, beats = Counted(cluster.transport()), Counted(cluster.transport())
            fleet = Fleet(
                Client(work, clock=cluster.clock),
                ["one", "two"],
                clock=cluster.clock,
                entropy=SeededEntropy(1),
                heartbeats=Client(beats, clock=cluster.clock),
            )
            task = asyncio.ensure_future(fleet.run())
            await fleet.ready()
            await cluster.add_pod("pod", node="one")
            await running(cluster, "pod")
            async for event in cluster.client.watch(Lease, namespace="kube-node-lease"):
                if event.object.metadata.name == "two":
                    break
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            assert beats.asked == {"nodes", "leases"}
            assert "pods/status" in work.asked
            assert not work.asked & {"nodes", "nodes/status", "leases"}

    run(scenario())


@pytest.mark.slow
def test_pods_are_handed_out_node_by_node() -> None:
    async def scenario() -> None:
        async with Cluster(clock=FakeClock()) as cluster:
            pods = SharedPods(cluster.client, clock=cluster.clock, entropy=SeededEntropy(1))
            one, other = pods.of("one"), pods.of("other")
            heard: asyncio.Queue[tuple[Pod | None, Pod | None]] = asyncio.Queue()
            one.listen(lambda before, now: heard.put_nowait((before, now)))
            task = asyncio.ensure_future(pods.run())
            await one.synced()
            await cluster.add_pod("elsewhere", node="other")
            await cluster.add_pod("unbound")
            await cluster.add_pod("here", node="one")
            before, now = await heard.get()
            assert before is None
            assert now is not None
            assert now.metadata.name == "here"
            assert [pod.metadata.name for pod in one.values()] == ["here"]
            assert [pod.metadata.name for pod in other.values()] == ["elsewhere"]
            await cluster.client.delete(Pod, "here", namespace="default", grace_period_seconds=0)
            while now is not None:
                before, now = await heard.get()
            assert not one.values()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    run(scenario())


@pytest.mark.slow
def test_a_simulated_node_is_what_its_traits_say() -> None:
    async def scenario() -> None:
        async with Cluster(clock=FakeClock()) as cluster:
            traits = Traits(
                labels={"rack": "r1"},
                taints=(Taint(key="gpu", effect="NoSchedule"),),
                capacity={"cpu": Quantity.parse("64")},
            )
            fleet = Fleet(
                cluster.client,
                ["plain", "special"],
                clock=cluster.clock,
                entropy=SeededEntropy(1),
                traits={"special": traits},
            )
            task = asyncio.ensure_future(fleet.run())
            await fleet.ready()
            special = await cluster.client.get(Node, "special")
            assert special.metadata.labels["rack"] == "r1"
            assert "gpu:NoSchedule" in [str(taint) for taint in special.spec.taints]
            assert str(special.status.allocatable["cpu"]) == "64"
            plain = await cluster.client.get(Node, "plain")
            assert "rack" not in plain.metadata.labels
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    run(scenario())
