"""Pods that leave tainted nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dray.api.core import Container, Event, Node, Pod, PodSpec, Taint, Toleration
from dray.api.wire import Time
from dray.errors import NotFound
from tests.unit.controllers.stage import Stage

NAME = "taint-eviction-controller"
TAINT = Taint(key="rack", value="7", effect="NoExecute")


async def add_pod(stage: Stage, name: str, *tolerations: Toleration) -> Pod:
    spec = PodSpec(
        containers=(Container(name="main", image="registry.example/main:1"),),
        tolerations=tolerations,
    )
    return await stage.cluster.add_pod(name, node="n1", spec=spec)


async def taint(stage: Stage, *taints: Taint) -> None:
    await stage.client.patch(Node, "n1", {"spec": {"taints": taints}})
    await stage.settle()


async def find(stage: Stage, name: str) -> Pod | None:
    try:
        return await stage.client.get(Pod, name, namespace="default")
    except NotFound:
        return None


async def leaving(stage: Stage) -> list[str]:
    pods = (await stage.client.list(Pod, namespace="default")).items
    return sorted(pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp is not None)


async def told(stage: Stage) -> Sequence[str]:
    events = (await stage.client.list(Event, namespace="default")).items
    return sorted(event.message for event in events if event.reason == "TaintManagerEviction")


def test_a_pod_without_toleration_leaves_at_once_and_is_told_why() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            await add_pod(stage, "stays", Toleration(operator="Exists"))
            await add_pod(stage, "goes")
            await taint(stage, TAINT)
            assert await leaving(stage) == ["goes"]
            pod = await find(stage, "goes")
            assert pod is not None
            (condition,) = (
                each for each in pod.status.conditions if each.type == "DisruptionTarget"
            )
            assert condition.status == "True"
            assert condition.reason == "DeletionByTaintManager"
            assert condition.message == "Taint manager: deleting due to NoExecute taint"
            assert await told(stage) == ["Marking for deletion Pod default/goes"]

    asyncio.run(scenario())


def test_a_pod_leaves_when_the_shortest_of_its_tolerations_is_over() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            other = Taint(key="row", effect="NoExecute")
            await add_pod(
                stage,
                "web",
                Toleration(
                    key="rack", operator="Exists", effect="NoExecute", toleration_seconds=60
                ),
                Toleration(key="row", operator="Exists", effect="NoExecute", toleration_seconds=30),
            )
            await taint(stage, TAINT, other)
            await stage.pass_time(29.9)
            assert await leaving(stage) == []
            await stage.pass_time(0.2)
            assert await leaving(stage) == ["web"]

    asyncio.run(scenario())


def test_a_pod_stays_if_the_taint_goes_in_time() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            await add_pod(
                stage,
                "web",
                Toleration(
                    key="rack", operator="Exists", effect="NoExecute", toleration_seconds=60
                ),
            )
            await taint(stage, TAINT)
            await stage.pass_time(59)
            await taint(stage)
            await stage.pass_time(600)
            assert await leaving(stage) == []
            assert await told(stage) == ["Cancelling deletion of Pod default/web"]

    asyncio.run(scenario())


def test_a_pod_that_comes_to_a_tainted_node_leaves_it_again() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            await taint(stage, TAINT)
            await add_pod(stage, "web")
            await stage.settle()
            assert await leaving(stage) == ["web"]

    asyncio.run(scenario())


def test_a_toleration_that_is_added_later_keeps_the_pod() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            brief = Toleration(
                key="rack", operator="Exists", effect="NoExecute", toleration_seconds=60
            )
            pod = await add_pod(stage, "web", brief)
            await taint(stage, TAINT)
            await stage.pass_time(30)
            lasting = Toleration(key="rack", operator="Equal", value="7")
            patch = {"spec": {"tolerations": (lasting, *pod.spec.tolerations)}}
            await stage.client.patch(Pod, "web", patch, namespace="default")
            await stage.pass_time(100)
            assert await leaving(stage) == []

    asyncio.run(scenario())


def test_pods_on_untainted_nodes_cost_nothing() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_node("n1")
            await add_pod(stage, "web")
            await stage.settle()
            assert stage.controllers.reconcilers[0].queue.added_count == 0

    asyncio.run(scenario())


def test_pods_leave_a_node_that_fell_silent_after_five_minutes() -> None:
    async def scenario() -> None:
        async with Stage("node-lifecycle-controller", NAME) as stage:
            for name in ("n1", "n2"):
                await stage.cluster.add_node(name)
            await add_pod(stage, "web")

            async def pass_time(seconds: int) -> None:
                for _ in range(seconds // 5):
                    now = {"lastHeartbeatTime": Time(stage.clock.now())}
                    ready = {"type": "Ready", "status": "True", **now}
                    patch = {"status": {"conditions": [ready]}}
                    await stage.client.patch(Node, "n2", patch, subresource="status")
                    await stage.pass_time(5)

            await pass_time(60)  # for it to be noticed
            await pass_time(295)
            assert await leaving(stage) == []
            await pass_time(5)
            assert await leaving(stage) == ["web"]

    asyncio.run(scenario())
