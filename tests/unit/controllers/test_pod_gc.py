"""Pods that nobody else deletes."""

from __future__ import annotations

import asyncio

import pytest

from dray.api.core import Node, Pod, Taint
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.controllers import controllers
from dray.controllers.pod_gc import PodGarbageCollector
from dray.controllers.reconciler import Context
from tests.unit.controllers.stage import Stage

NAME = "pod-garbage-collector-controller"


async def names(stage: Stage) -> list[str]:
    return sorted(pod.metadata.name for pod in (await stage.client.list(Pod)).items)


async def add_held(stage: Stage, name: str, *, node: str = "") -> Pod:
    """A pod that somebody holds, so that its end can be looked at."""
    pod = await stage.cluster.add_pod(name, node=node)
    metadata = replace(pod.metadata, finalizers=("a.example/held",))
    return await stage.client.update(replace(pod, metadata=metadata))


async def end(stage: Stage, name: str, *, reason: str = "") -> None:
    patch = {"status": {"phase": "Failed", "reason": reason}}
    await stage.client.patch(Pod, name, patch, namespace="default", subresource="status")


def test_pods_of_a_node_that_is_gone_fail_and_go_after_a_while() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n2")
            await stage.cluster.add_pod("stays", node="n2")
            await add_held(stage, "held", node="n1")
            await stage.cluster.add_pod("goes", node="n1")
            await stage.pass_time(59, steps=59)
            assert await names(stage) == ["goes", "held", "stays"], "seen missing after 20 s"
            await stage.pass_time(1)
            assert await names(stage) == ["held", "stays"]
            pod = await stage.client.get(Pod, "held", namespace="default")
            assert pod.status.phase == "Failed"
            (target,) = (each for each in pod.status.conditions if each.type == "DisruptionTarget")
            assert (target.status, target.reason) == ("True", "DeletionByPodGC")
            assert target.message == "PodGC: node no longer exists"
            assert pod.metadata.deletion_timestamp is not None

    asyncio.run(scenario())


def test_a_node_that_turns_up_in_time_keeps_its_pods() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_pod("web", node="n1")
            await stage.pass_time(50, steps=5)
            await stage.cluster.add_node("n1")
            await stage.pass_time(100, steps=10)
            assert await names(stage) == ["web"]
            await stage.client.delete(Node, "n1")
            await stage.pass_time(40, steps=4)
            assert await names(stage) == ["web"], "the wait begins anew"

    asyncio.run(scenario())


def test_a_node_that_only_our_view_lacks_keeps_its_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            await stage.cluster.add_pod("web", node="n1")
            await stage.settle()
            monkeypatch.setattr(stage.informers.of(Node), "get", lambda *_names: None)
            await stage.pass_time(200, steps=20)
            assert await names(stage) == ["web"]

    asyncio.run(scenario())


def test_a_pod_on_a_node_out_of_service_need_not_be_ended_by_it() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            taint = Taint(key="node.kubernetes.io/out-of-service", effect="NoExecute")
            for name in ("dead", "alive"):
                await stage.cluster.add_node(name)
                await stage.client.patch(Node, name, {"spec": {"taints": [taint]}})
                await stage.cluster.add_pod(f"on-{name}", node=name)
                await stage.client.delete(Pod, f"on-{name}", namespace="default")
            await stage.cluster.add_pod("wanted", node="dead")
            status = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
            await stage.client.patch(Node, "dead", status, subresource="status")
            await stage.pass_time(20)
            assert await names(stage) == ["on-alive", "wanted"]

    asyncio.run(scenario())


def test_a_pod_that_was_deleted_before_it_got_a_node_is_failed() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await add_held(stage, "held")
            await stage.client.delete(Pod, "held", namespace="default")
            await stage.pass_time(20)
            pod = await stage.client.get(Pod, "held", namespace="default")
            assert pod.status.phase == "Failed"
            stage.traffic.writes()
            await stage.pass_time(100, steps=5)
            assert not stage.traffic.writes(), "more cannot be done"

    asyncio.run(scenario())


def test_of_pods_that_ended_the_oldest_go_and_evicted_ones_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class KeepsTwo(PodGarbageCollector):
        def __init__(self, context: Context) -> None:
            super().__init__(context, ended_pods_max=2)

    monkeypatch.setattr(controllers, "CONTROLLERS", {NAME: KeepsTwo})

    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            for name in ("a-runs", "b-oldest", "c-old", "d-new", "e-evicted"):
                await stage.cluster.add_pod(name, node="n1")
                if name != "a-runs":
                    await end(stage, name, reason="Evicted" if name == "e-evicted" else "")
                await stage.pass_time(1)
            await stage.pass_time(20)
            assert await names(stage) == ["a-runs", "c-old", "d-new"]

    asyncio.run(scenario())


def test_a_look_at_pods_that_are_well_costs_nothing() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            await stage.cluster.add_pod("waits")
            await stage.cluster.add_pod("runs", node="n1")
            await stage.client.create(Node(metadata=ObjectMeta(name="n2")))
            await stage.settle()
            stage.traffic.calls.clear()
            await stage.pass_time(100, steps=5)
            assert not stage.traffic.calls

    asyncio.run(scenario())
