"""Who owns what: adoption and release."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dray.api.apps import ReplicaSet, ReplicaSetSpec
from dray.api.core import Pod
from dray.api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference
from dray.api.wire import replace
from dray.client import Client, Informer
from dray.controllers.expectations import Expectations
from dray.controllers.ownership import (
    Dependents,
    controller_of,
    controller_reference,
    is_controlled_by,
    selector_of,
)
from dray.entropy import SeededEntropy
from dray.errors import Conflict
from dray.testing.cluster import Cluster
from tests.unit.controllers.workloads import make_template, select

LABELS = {"app": "web"}
HOLD = "example.com/hold"


class Scene:
    """A replica set, pods, and nobody at work."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        client = Client(cluster.transport(), clock=cluster.clock)
        clock = cluster.clock
        self.view = Informer(client, Pod, clock=clock, entropy=SeededEntropy(1))
        self.dependents = Dependents(client, Pod, self.view, Expectations(self.view, clock))

    async def add_owner(self, name: str = "web") -> ReplicaSet:
        return await self.cluster.client.create(
            ReplicaSet(
                metadata=ObjectMeta(name=name, namespace="default"),
                spec=ReplicaSetSpec(
                    replicas=1, selector=select(LABELS), template=make_template(LABELS)
                ),
            )
        )

    async def add_pod(self, name: str, *references: OwnerReference, app: str = "web") -> Pod:
        template = make_template({"app": app})
        metadata = ObjectMeta(
            name=name, namespace="default", labels={"app": app}, owner_references=references
        )
        pod = await self.cluster.client.create(Pod(metadata=metadata, spec=template.spec))
        await self.view._list()
        return pod


def play(act: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            await act(Scene(cluster))

    asyncio.run(run())


def test_only_a_reference_that_says_so_is_the_controller() -> None:
    owner = ReplicaSet(metadata=ObjectMeta(name="web", uid="1"))
    plain = OwnerReference(api_version="v1", kind="Node", name="n", uid="2")
    reference = controller_reference(owner)
    pod = Pod(metadata=ObjectMeta(owner_references=(plain, reference)))
    assert controller_of(pod) == reference
    assert is_controlled_by(pod, owner)
    assert not is_controlled_by(pod, replace(owner, metadata=ObjectMeta(name="web", uid="9")))
    assert controller_of(Pod(metadata=ObjectMeta(owner_references=(plain,)))) is None


def test_an_absent_selector_wants_nothing_and_an_empty_one_everything() -> None:
    assert not selector_of(None).matches(LABELS)
    assert selector_of(LabelSelector()).matches(LABELS)


def test_an_orphan_that_is_selected_is_adopted_with_finalizers() -> None:
    async def act(scene: Scene) -> None:
        owner = await scene.add_owner()
        await scene.add_pod("one")
        await scene.add_pod("two", app="other")
        (pod,) = await scene.dependents.claim(owner, owner.spec.selector, finalizers=[HOLD])
        assert pod.metadata.name == "one"
        assert pod.metadata.finalizers == (HOLD,)
        assert is_controlled_by(pod, owner)

    play(act)


def test_orphans_are_found_by_expressions_alone() -> None:
    async def act(scene: Scene) -> None:
        owner = await scene.add_owner()
        await scene.add_pod("one")
        wanted = LabelSelectorRequirement(key="app", operator="Exists")
        (pod,) = await scene.dependents.claim(owner, LabelSelector(match_expressions=(wanted,)))
        assert pod.metadata.name == "one"

    play(act)


def test_what_is_no_longer_selected_is_released_without_finalizers() -> None:
    async def act(scene: Scene) -> None:
        owner = await scene.add_owner()
        await scene.add_pod("one")
        assert await scene.dependents.claim(owner, owner.spec.selector, finalizers=[HOLD])
        patch = {"metadata": {"labels": {"app": "other"}}}
        await scene.cluster.client.patch(Pod, "one", patch, namespace="default")
        await scene.view._list()
        assert await scene.dependents.claim(owner, owner.spec.selector, finalizers=[HOLD]) == []
        released = await scene.cluster.client.get(Pod, "one", namespace="default")
        assert released.metadata.owner_references == ()
        assert released.metadata.finalizers == ()

    play(act)


def test_what_others_control_is_not_taken() -> None:
    async def act(scene: Scene) -> None:
        owner, other = await scene.add_owner(), await scene.add_owner("other")
        await scene.add_pod("one", controller_reference(other))
        assert await scene.dependents.claim(owner, owner.spec.selector) == []
        assert [pod.metadata.name for pod in scene.dependents.of(other)] == ["one"]

    play(act)


def test_who_was_deleted_meanwhile_adopts_nothing() -> None:
    async def act(scene: Scene) -> None:
        owner = await scene.add_owner()
        await scene.add_pod("one")
        await scene.cluster.client.delete(ReplicaSet, "web", namespace="default")
        await scene.add_owner()
        with pytest.raises(Conflict, match="original ReplicaSet default/web is gone"):
            await scene.dependents.claim(owner, owner.spec.selector)
        pod = await scene.cluster.client.get(Pod, "one", namespace="default")
        assert pod.metadata.owner_references == ()

    play(act)


def test_an_orphan_that_vanished_is_not_missed() -> None:
    async def act(scene: Scene) -> None:
        owner = await scene.add_owner()
        await scene.add_pod("one")
        await scene.cluster.client.delete(Pod, "one", namespace="default")
        assert await scene.dependents.claim(owner, owner.spec.selector) == []

    play(act)
