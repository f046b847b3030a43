"""Nodes that speak, and nodes that fall silent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from dray.api.coordination import Lease, LeaseSpec
from dray.api.core import Event, Node, NodeCondition, NodeStatus, Pod, PodCondition
from dray.api.meta import ObjectMeta
from dray.api.wire import MicroTime, Time, replace
from dray.errors import NotFound
from tests.unit.controllers.stage import Stage

NAME = "node-lifecycle-controller"
PREFIX = "node.kubernetes.io/"


async def taints(stage: Stage, name: str = "n1") -> list[str]:
    node = await stage.client.get(Node, name)
    return sorted(str(taint).removeprefix(PREFIX) for taint in node.spec.taints)


async def say(stage: Stage, name: str = "n1", **conditions: str) -> None:
    """What a node writes into its status."""
    now = Time(stage.clock.now())
    status = NodeStatus(
        conditions=tuple(
            NodeCondition(type=key, status=on, last_heartbeat_time=now, last_transition_time=now)
            for key, on in conditions.items()
        )
    )
    await stage.client.patch(Node, name, {"status": status}, subresource="status")
    await stage.settle()


async def renew(stage: Stage, *names: str) -> None:
    for name in names:
        spec = LeaseSpec(holder_identity=name, renew_time=MicroTime(stage.clock.now()))
        try:
            lease = await stage.client.get(Lease, name, namespace="kube-node-lease")
        except NotFound:
            metadata = ObjectMeta(name=name, namespace="kube-node-lease")
            await stage.client.create(Lease(metadata=metadata, spec=spec))
        else:
            await stage.client.update(replace(lease, spec=spec))
    await stage.settle()


async def conditions(stage: Stage, name: str = "n1") -> Mapping[str, NodeCondition]:
    node = await stage.client.get(Node, name)
    return {each.type: each for each in node.status.conditions}


async def reasons(stage: Stage) -> list[str]:
    events = (await stage.client.list(Event, namespace="default")).items
    return sorted(event.reason for event in events)


def test_a_node_may_be_used_as_soon_as_it_says_that_it_is_ready() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.client.create(Node(metadata=ObjectMeta(name="n1")))
            await stage.settle()
            assert await taints(stage) == ["not-ready:NoSchedule"]
            await say(stage, Ready="False")
            assert await taints(stage) == ["not-ready:NoSchedule"]
            await say(stage, Ready="True")
            assert await taints(stage) == [], "without any time having passed"

    asyncio.run(scenario())


def test_a_node_under_pressure_gets_no_pods_until_it_is_over() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            await say(stage, Ready="True", DiskPressure="True")
            assert await taints(stage) == ["disk-pressure:NoSchedule"]
            stage.traffic.writes()
            await say(stage, Ready="True", DiskPressure="False")
            assert await taints(stage) == []
            await say(stage, Ready="True", DiskPressure="False")
            assert stage.traffic.writes() == {"PATCH nodes": 1}

    asyncio.run(scenario())


def test_a_silent_node_is_unknown_after_its_grace_and_its_pods_are_not_ready() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            for name in ("n1", "n2"):
                await stage.cluster.add_node(name)
                await say(stage, name, Ready="True", DiskPressure="False")
            pod = await stage.cluster.add_pod("web", node="n1")
            ready = PodCondition(type="Ready", status="True")
            status = replace(pod.status, phase="Running", conditions=(ready,))
            await stage.client.update_status(replace(pod, status=status))
            for _ in range(11):  # it was first seen after five seconds
                await stage.pass_time(5)
                await renew(stage, "n2")
            assert (await conditions(stage))["Ready"].status == "True"
            await stage.pass_time(5)
            found = await conditions(stage)
            for kind in ("Ready", "DiskPressure"):
                assert found[kind].status == "Unknown"
                assert found[kind].reason == "NodeStatusUnknown"
                assert found[kind].message == "Kubelet stopped posting node status."
            assert found["PIDPressure"].reason == "NodeStatusNeverUpdated"
            assert (await conditions(stage, "n2"))["Ready"].status == "True"
            assert await taints(stage) == ["unreachable:NoExecute", "unreachable:NoSchedule"]
            pod = await stage.client.get(Pod, "web", namespace="default")
            assert pod.status.conditions[0].status == "False"
            assert (await reasons(stage)).count("NodeNotReady") == 2, "of the node, of the pod"

    asyncio.run(scenario())


def test_a_node_that_is_back_loses_its_marks_at_once() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            for name in ("n1", "n2"):
                await stage.cluster.add_node(name)
            for _ in range(12):
                await stage.pass_time(5)
                await renew(stage, "n2")
            assert await taints(stage) == ["unreachable:NoExecute", "unreachable:NoSchedule"]
            await say(stage, Ready="False")
            assert await taints(stage) == ["not-ready:NoExecute", "not-ready:NoSchedule"]
            await say(stage, Ready="True")
            assert await taints(stage) == []

    asyncio.run(scenario())


def test_a_node_that_renews_its_lease_need_not_write_its_status() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            for _ in range(30):
                await stage.pass_time(10)
                await renew(stage, "n1")
            assert (await conditions(stage))["Ready"].status == "True"

    asyncio.run(scenario())


def test_a_node_that_never_spoke_is_given_longer() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.client.create(Node(metadata=ObjectMeta(name="n1")))
            await stage.pass_time(60, steps=12)
            assert await conditions(stage) == {}
            await stage.pass_time(5)
            assert (await conditions(stage))["Ready"].reason == "NodeStatusNeverUpdated"

    asyncio.run(scenario())


def test_nothing_is_evicted_while_no_node_is_well() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            for name in ("n1", "n2"):
                await stage.cluster.add_node(name)
            await stage.pass_time(120, steps=24)
            for name in ("n1", "n2"):
                assert await taints(stage, name) == ["unreachable:NoSchedule"]
            await say(stage, "n2", Ready="True")
            await renew(stage, "n2")
            await stage.pass_time(5)
            await stage.pass_time(5)
            assert await taints(stage) == ["unreachable:NoExecute", "unreachable:NoSchedule"]

    asyncio.run(scenario())


def test_nodes_are_emptied_one_after_the_other() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            names = [f"n{number}" for number in range(5)]
            for name in names:
                await stage.cluster.add_node(name)
            for name in names[:2]:
                await say(stage, name, Ready="False")

            async def marked() -> int:
                found = [await taints(stage, name) for name in names]
                return sum("not-ready:NoExecute" in each for each in found)

            await stage.pass_time(5)
            assert await marked() == 1
            await stage.pass_time(9, steps=9)
            assert await marked() == 1
            await stage.pass_time(1)
            assert await marked() == 2

    asyncio.run(scenario())


def test_a_lease_that_we_have_not_heard_of_yet_keeps_the_node_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            leases = stage.informers.of(Lease)
            monkeypatch.setattr(leases, "get", lambda *_names: None)  # a view that lags behind
            await stage.pass_time(55, steps=11)
            await renew(stage, "n1")
            await stage.pass_time(5)
            assert (await conditions(stage))["Ready"].status == "True"
            monkeypatch.undo()
            await stage.pass_time(5)
            await stage.pass_time(55, steps=11)
            assert (await conditions(stage))["Ready"].status == "Unknown"

    asyncio.run(scenario())


def test_nodes_that_come_and_go_are_told_of() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            await stage.pass_time(5)
            assert await reasons(stage) == ["RegisteredNode"]
            await stage.client.delete(Node, "n1")
            await stage.pass_time(5)
            assert await reasons(stage) == ["RegisteredNode", "RemovingNode"]

    asyncio.run(scenario())


def test_labels_are_kept_under_their_older_names() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node(
                "n1", labels={"kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "old"}
            )
            await stage.settle()
            labels = (await stage.client.get(Node, "n1")).metadata.labels
            assert labels["beta.kubernetes.io/os"] == "linux"
            assert labels["beta.kubernetes.io/arch"] == "old"

    asyncio.run(scenario())
