"""Namespaces that are deleted."""

from __future__ import annotations

import asyncio

from dray.api.core import ConfigMap, Namespace, Pod
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.errors import NotFound
from tests.unit.controllers.stage import Stage

NAME = "namespace-controller"


async def find(stage: Stage) -> Namespace | None:
    try:
        return await stage.client.get(Namespace, "zoo")
    except NotFound:
        return None


async def delete(stage: Stage) -> None:
    await stage.client.delete(Namespace, "zoo")
    await stage.settle()


def test_a_namespace_goes_with_all_that_is_in_it() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_namespace("zoo")
            await stage.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="zoo")))
            await stage.cluster.add_pod("web", namespace="zoo")
            await delete(stage)
            assert await find(stage) is None
            assert not (await stage.client.list(ConfigMap, namespace="zoo")).items
            assert not (await stage.client.list(Pod, namespace="zoo")).items

    asyncio.run(scenario())


def test_a_namespace_waits_for_its_pods_and_goes_as_soon_as_they_are_gone() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_namespace("zoo")
            for name in ("a", "b"):
                await stage.cluster.add_pod(name, namespace="zoo", node="n1")
            await delete(stage)
            waiting = await find(stage)
            assert waiting is not None
            told = {each.type: each for each in waiting.status.conditions}
            assert told["NamespaceContentRemaining"].message == (
                "Some resources are remaining: pods. has 2 resource instances"
            )
            stage.traffic.writes()
            await stage.client.delete(Pod, "a", namespace="zoo", grace_period_seconds=0)
            await stage.settle()
            assert not stage.traffic.writes(), "one pod is left"
            await stage.client.delete(Pod, "b", namespace="zoo", grace_period_seconds=0)
            await stage.settle()
            assert await find(stage) is None

    asyncio.run(scenario())


def test_a_namespace_waits_for_finalizers_and_is_looked_at_again() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            await stage.cluster.add_namespace("zoo")
            metadata = ObjectMeta(name="a", namespace="zoo", finalizers=("a.example/held",))
            await stage.client.create(ConfigMap(metadata=metadata))
            await delete(stage)
            patch = {"metadata": {"finalizers": None}}
            await stage.client.patch(ConfigMap, "a", patch, namespace="zoo")
            await stage.pass_time(7)
            assert await find(stage) is not None
            await stage.pass_time(1.1)
            assert await find(stage) is None

    asyncio.run(scenario())


def test_others_may_hold_a_namespace_that_is_empty() -> None:
    async def scenario() -> None:
        async with Stage(NAME) as stage:
            zoo = await stage.cluster.add_namespace("zoo")
            held = replace(zoo.spec, finalizers=(*zoo.spec.finalizers, "a.example/held"))
            await stage.client.update(replace(zoo, spec=held), subresource="finalize")
            await delete(stage)
            found = await find(stage)
            assert found is not None
            assert found.spec.finalizers == ("a.example/held",)
            assert {each.status for each in found.status.conditions} == {"False"}

    asyncio.run(scenario())
