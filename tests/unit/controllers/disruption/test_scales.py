"""How many pods there should be."""

from __future__ import annotations

import asyncio

from dray.api.apiextensions import (
    CustomResourceDefinition,
    CustomResourceSubresources,
    CustomResourceSubresourceScale,
)
from dray.api.apps import Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec
from dray.api.codec import decode
from dray.api.core import Container, Pod, PodSpec, PodTemplateSpec
from dray.api.features import DEFAULT_GATES
from dray.api.meta import LabelSelector, Object, ObjectMeta, OwnerReference
from dray.api.wire import replace
from dray.client import EventRecorder
from dray.controllers.disruption.scales import Expected, Scales
from dray.controllers.ownership import controller_reference
from dray.controllers.reconciler import Context
from dray.entropy import SeededEntropy
from tests.unit.controllers.custom_resources import ANIMAL, DEFINITION
from tests.unit.controllers.stage import Stage

SELECTOR = LabelSelector(match_labels={"app": "web"})
TEMPLATE = PodTemplateSpec(
    metadata=ObjectMeta(labels={"app": "web"}),
    spec=PodSpec(containers=(Container(name="main", image="registry.example/main:1"),)),
)


def scales_of(stage: Stage) -> Scales:
    entropy = SeededEntropy(3)
    events = EventRecorder(stage.client, component="test", clock=stage.clock, entropy=entropy)
    return Scales(
        Context(stage.client, stage.informers, events, stage.clock, entropy, DEFAULT_GATES)
    )


def pod(name: str, owner: OwnerReference | None = None) -> Pod:
    owners = (owner,) if owner is not None else ()
    return Pod(metadata=ObjectMeta(name=name, namespace="default", owner_references=owners))


async def add_replica_set(
    stage: Stage, name: str, replicas: int, owner: Object | None = None
) -> OwnerReference:
    owners = (controller_reference(owner),) if owner is not None else ()
    made = await stage.client.create(
        ReplicaSet(
            metadata=ObjectMeta(name=name, namespace="default", owner_references=owners),
            spec=ReplicaSetSpec(replicas=replicas, selector=SELECTOR, template=TEMPLATE),
        )
    )
    return controller_reference(made)


def test_each_controller_counts_once_however_many_pods_it_has() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            scales = scales_of(stage)
            first = await add_replica_set(stage, "first", 3)
            second = await add_replica_set(stage, "second", 4)
            await stage.settle()
            pods = [pod("a", first), pod("b", first), pod("c", second), pod("d")]
            assert await scales.expected(pods) == Expected(7, ("d",))

    asyncio.run(scenario())


def test_a_deployment_speaks_for_its_replica_sets() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            scales = scales_of(stage)
            web = await stage.client.create(
                Deployment(
                    metadata=ObjectMeta(name="web", namespace="default"),
                    spec=DeploymentSpec(replicas=5, selector=SELECTOR, template=TEMPLATE),
                )
            )
            old = await add_replica_set(stage, "old", 2, web)
            new = await add_replica_set(stage, "new", 4, web)
            await stage.settle()
            assert await scales.expected([pod("a", old), pod("b", new)]) == Expected(5)

    asyncio.run(scenario())


def test_what_cannot_be_scaled_cannot_be_counted() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            scales = scales_of(stage)
            await stage.settle()
            daemon = OwnerReference(
                api_version="apps/v1", kind="DaemonSet", name="d", uid="1", controller=True
            )
            told = "daemonsets.apps does not implement the scale subresource"
            assert (await scales.expected([pod("a", daemon)])).problem == told
            unknown = replace(daemon, api_version="a.example/v1", kind="Thing")
            told = 'no matches for kind "Thing" in version "a.example/v1"'
            assert (await scales.expected([pod("a", unknown)])).problem == told
            gone = replace(daemon, kind="ReplicaSet")
            told = 'found no controllers for pod "a"'
            assert (await scales.expected([pod("a", gone)])).problem == told

    asyncio.run(scenario())


def test_kinds_that_users_define_say_it_where_their_definition_says() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            scales = scales_of(stage)
            (version,) = DEFINITION.spec.versions or ()
            scale = CustomResourceSubresourceScale(
                spec_replicas_path=".spec.herd.size", status_replicas_path=".status.size"
            )
            scaled = replace(version, subresources=CustomResourceSubresources(scale=scale))
            await stage.client.create(
                replace(DEFINITION, spec=replace(DEFINITION.spec, versions=(scaled,)))
            )
            await stage.settle()
            body = b'{"metadata":{"name":"sheep","namespace":"default"},"spec":{"herd":{"size":6}}}'
            sheep = await stage.client.create(decode(body, ANIMAL))
            owner = controller_reference(sheep)
            assert await scales.expected([pod("a", owner)]) == Expected(6)
            other = replace(owner, uid="another")
            assert (await scales.expected([pod("a", other)])).problem
            await stage.client.delete(CustomResourceDefinition, DEFINITION.metadata.name)

    asyncio.run(scenario())
