"""Steps of rollouts, one by one; whole ones are in test_controller."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from dray.api.apps import Deployment, ReplicaSet
from dray.api.features import DEFAULT_GATES
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.client import EventRecorder, Informers
from dray.controllers.deployments.family import REVISION, family_of
from dray.controllers.deployments.rollout import Rollout
from dray.controllers.expectations import Expectations
from dray.controllers.reconciler import Context, Key
from dray.controllers.template_hash import NAME_CHARACTERS_MAX
from dray.entropy import SeededEntropy
from dray.errors import AlreadyExists, APIError
from dray.testing.cluster import Cluster
from tests.unit.controllers.deployments.deployment_parts import make_deployment
from tests.unit.controllers.workloads import make_template, select

LABELS = {"app": "web"}


@dataclass
class Scene:
    """A deployment, and nobody at work on it."""

    cluster: Cluster
    context: Context
    deployments: Expectations[Deployment]
    replica_sets: Expectations[ReplicaSet]

    async def rollout(self) -> Rollout:
        client = self.cluster.client
        deployment = await client.get(Deployment, "web", namespace="default")
        owned = (await client.list(ReplicaSet)).items
        return Rollout(
            self.context,
            deployment,
            family_of(deployment, owned),
            replica_sets=self.replica_sets,
            deployments=self.deployments,
        )


def play(act: Callable[[Scene], Awaitable[None]], **spec: Any) -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            client, clock, entropy = cluster.client, cluster.clock, SeededEntropy(1)
            informers = Informers(client, clock=clock, entropy=entropy)
            events = EventRecorder(client, component="test", clock=clock, entropy=entropy)
            context = Context(client, informers, events, clock, entropy, DEFAULT_GATES)
            deployment = make_deployment(3)
            template = make_template(LABELS)
            wanted = replace(
                deployment,
                metadata=ObjectMeta(name="web", namespace="default"),
                spec=replace(
                    deployment.spec, **{"selector": select(LABELS), "template": template} | spec
                ),
            )
            await client.create(wanted)
            await act(
                Scene(
                    cluster,
                    context,
                    Expectations(informers.of(Deployment), clock),
                    Expectations(informers.of(ReplicaSet), clock),
                )
            )

    asyncio.run(run())


def test_what_was_written_is_waited_for() -> None:
    async def act(scene: Scene) -> None:
        rollout = await scene.rollout()
        await rollout.begin()
        assert not scene.replica_sets.met(Key("default", "web"))
        assert rollout.family.new is not None
        assert rollout.family.new.metadata.annotations[REVISION] == "1"

    play(act)


def test_beginning_twice_finds_what_was_begun() -> None:
    """As when the first answer was lost."""

    async def act(scene: Scene) -> None:
        first, second = await scene.rollout(), await scene.rollout()
        await first.begin()
        await second.begin()
        assert first.family.new == second.family.new
        await second.say_counts()
        stored = await scene.cluster.client.get(Deployment, "web", namespace="default")
        assert stored.status.collision_count is None

    play(act)


def test_a_name_that_somebody_else_has_is_counted_and_raised() -> None:
    async def act(scene: Scene) -> None:
        rollout = await scene.rollout()
        await rollout.begin()
        assert rollout.family.new is not None
        name = rollout.family.new.metadata.name
        orphaned = {"metadata": {"ownerReferences": None}}
        await scene.cluster.client.patch(ReplicaSet, name, orphaned, namespace="default")
        again = Rollout(
            scene.context,
            rollout.deployment,
            family_of(rollout.deployment, []),
            replica_sets=scene.replica_sets,
            deployments=scene.deployments,
        )
        with pytest.raises(AlreadyExists):
            await again.begin()
        stored = await scene.cluster.client.get(Deployment, "web", namespace="default")
        assert stored.status.collision_count == 1

    play(act)


def test_what_cannot_be_made_is_said_in_the_status() -> None:
    async def act(scene: Scene) -> None:
        rollout = await scene.rollout()
        broken = make_template({"app": "other"})
        rollout.deployment = replace(
            rollout.deployment, spec=replace(rollout.deployment.spec, template=broken)
        )
        with pytest.raises(APIError):
            await rollout.begin()
        stored = await scene.cluster.client.get(Deployment, "web", namespace="default")
        (condition,) = stored.status.conditions
        assert (condition.status, condition.reason) == ("False", "ReplicaSetCreateError")
        assert condition.message.startswith('Failed to create new replica set "web-')

    play(act)


def test_scaling_remembers_the_size_even_where_it_stays() -> None:
    async def act(scene: Scene) -> None:
        rollout = await scene.rollout()
        await rollout.begin()
        assert rollout.family.new is not None
        before = rollout.family.new
        uid = before.metadata.uid
        await rollout.scale({uid: 3})
        assert rollout.family.new == before
        rollout.deployment = replace(
            rollout.deployment, spec=replace(rollout.deployment.spec, replicas=5)
        )
        await rollout.scale({uid: 3})
        assert rollout.family.new.spec.replicas == 3
        assert rollout.family.new.metadata.annotations != before.metadata.annotations

    play(act)


def test_names_are_never_too_long() -> None:
    async def act(scene: Scene) -> None:
        rollout = await scene.rollout()
        long = replace(rollout.deployment.metadata, name="x" * 253)
        rollout.deployment = replace(rollout.deployment, metadata=long)
        assert len(rollout._wanted().metadata.name) == NAME_CHARACTERS_MAX

    play(act)
