"""What is in a namespace."""

from __future__ import annotations

import asyncio

from dray.api.core import ConfigMap, Namespace, Pod, ServiceAccount
from dray.api.meta import ObjectMeta
from dray.controllers.namespaces.content import Content
from tests.unit.controllers.custom_resources import ANIMAL, animal, define_animals
from tests.unit.controllers.stage import Stage


def test_everything_goes_of_all_kinds_and_only_in_the_namespace() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            client = stage.client
            await stage.cluster.add_namespace("zoo")
            await define_animals(client)
            await stage.settle()
            for namespace in ("zoo", "default"):
                await client.create(animal("dog", namespace))
                await client.create(ConfigMap(metadata=ObjectMeta(name="m", namespace=namespace)))
            await client.delete(Namespace, "zoo")
            remains = await Content(client, stage.clock).delete("zoo", stage.clock.now())
            assert not remains.counts
            assert not remains.errors
            for kind in (ANIMAL, ConfigMap):
                found = [obj.metadata.namespace for obj in (await client.list(kind)).items]
                assert "zoo" not in found
                assert "default" in found

    asyncio.run(scenario())


def test_pods_go_before_everything_else() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            client = stage.client
            await stage.cluster.add_namespace("zoo")
            await stage.cluster.add_pod("web", namespace="zoo", node="n1")
            await client.delete(Namespace, "zoo")
            content, deleted_at = Content(client, stage.clock), stage.clock.now()
            remains = await content.delete("zoo", deleted_at)
            assert remains.counts == {"pods.": 1}
            assert remains.estimate_seconds == 30
            assert (await client.list(ServiceAccount, namespace="zoo")).items
            await client.delete(Pod, "web", namespace="zoo", grace_period_seconds=0)
            assert not (await content.delete("zoo", deleted_at)).counts
            assert not (await client.list(ServiceAccount, namespace="zoo")).items

    asyncio.run(scenario())


def test_who_holds_what_remains_is_counted() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            await stage.cluster.add_namespace("zoo")
            for name in ("a", "b"):
                metadata = ObjectMeta(name=name, namespace="zoo", finalizers=("a.example/held",))
                await stage.client.create(ConfigMap(metadata=metadata))
            await stage.client.delete(Namespace, "zoo")
            remains = await Content(stage.client, stage.clock).delete("zoo", stage.clock.now())
            assert remains.counts == {"configmaps.": 2}
            assert remains.finalizers == {"a.example/held": 2}
            assert remains.estimate_seconds == 15
            assert not remains.errors

    asyncio.run(scenario())


def test_a_pod_that_should_be_gone_by_now_is_an_error() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            await stage.cluster.add_namespace("zoo")
            await stage.cluster.add_pod("web", namespace="zoo", node="n1")
            deleted_at = stage.clock.now()
            stage.clock.advance(31)
            remains = await Content(stage.client, stage.clock).delete("zoo", deleted_at)
            (error,) = remains.errors
            assert str(error) == (
                "unexpected items still remain in namespace: zoo for gvr: /v1, Resource=pods"
            )

    asyncio.run(scenario())
