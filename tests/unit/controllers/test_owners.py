"""Who is woken by what happens to pods."""

from __future__ import annotations

import asyncio

from dray.api.apps import ReplicaSet, ReplicaSetSpec
from dray.api.core import Pod
from dray.api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta
from dray.api.wire import replace
from dray.client import Informer, WorkQueue
from dray.client._watch import EventType, WatchEvent
from dray.controllers.owners import GATHERING_SECONDS_MAX, Owners, gathering_seconds
from dray.controllers.ownership import controller_reference
from dray.controllers.reconciler import Key
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.unit.controllers.workloads import select


class Scene:
    def __init__(self, cluster: Cluster) -> None:
        self.clock = FakeClock()
        entropy = SeededEntropy(1)
        self.owners = Informer(cluster.client, ReplicaSet, clock=self.clock, entropy=entropy)
        self.pods = Informer(cluster.client, Pod, clock=self.clock, entropy=entropy)
        self.queue: WorkQueue[Key] = WorkQueue(self.clock)
        Owners(
            self.owners,
            self.pods,
            self.queue,
            kind="ReplicaSet",
            selector=lambda owner: owner.spec.selector,
            count=lambda owner: owner.spec.replicas or 0,
        )

    def put_owner(
        self, name: str, selector: LabelSelector | None = None, replicas: int = 1
    ) -> ReplicaSet:
        owner = ReplicaSet(
            metadata=ObjectMeta(name=name, namespace="default", uid=f"uid-{name}"),
            spec=ReplicaSetSpec(replicas=replicas, selector=selector or select({"app": name})),
        )
        self.owners._apply(WatchEvent(EventType.ADDED, owner))
        return owner

    def put_pod(self, pod: Pod, type_: EventType = EventType.MODIFIED) -> None:
        self.pods._apply(WatchEvent(type_, pod))

    async def woken(self) -> set[str]:
        names = set()
        while len(self.queue):
            key = await self.queue.get()
            names.add(key.name)
            self.queue.done(key)
        return names


def make_pod(owner: ReplicaSet | None = None, app: str = "") -> Pod:
    references = (controller_reference(owner),) if owner else ()
    return Pod(
        metadata=ObjectMeta(
            name="one",
            namespace="default",
            uid="pod",
            owner_references=references,
            labels={"app": app} if app else {},
        )
    )


def test_owners_old_and_new_and_those_who_would_adopt_are_woken() -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            scene = Scene(cluster)
            web, _other = scene.put_owner("web"), scene.put_owner("other")
            expression = LabelSelectorRequirement(key="app", operator="In", values=("other",))
            scene.put_owner("third", LabelSelector(match_expressions=(expression,)))

            scene.put_pod(make_pod(web, "web"))
            assert await scene.woken() == {"web"}
            scene.put_pod(make_pod(web, "other"))
            assert await scene.woken() == {"web"}
            scene.put_pod(make_pod(None, "other"))
            assert await scene.woken() == {"web", "other", "third"}
            scene.put_pod(replace(make_pod(None, "other"), kind="Pod"))
            assert await scene.woken() == set()
            scene.put_pod(make_pod(None, "web"))
            assert await scene.woken() == {"web"}
            scene.put_pod(make_pod(web, "web"))
            await scene.woken()
            scene.put_pod(make_pod(web, "web"), EventType.DELETED)
            assert await scene.woken() == {"web"}

    asyncio.run(run())


def test_an_owner_of_the_same_name_is_not_meant() -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            scene = Scene(cluster)
            web = scene.put_owner("web")
            gone = replace(web, metadata=replace(web.metadata, uid="gone"))
            scene.put_pod(make_pod(gone, "web"))
            assert await scene.woken() == set()

    asyncio.run(run())


def test_events_of_many_pods_are_gathered() -> None:
    async def run() -> None:
        async with Cluster() as cluster:
            scene = Scene(cluster)
            web = scene.put_owner("web", replicas=1000)
            scene.put_pod(make_pod(web, "web"))
            assert await scene.woken() == set()
            scene.clock.advance(gathering_seconds(1000))
            assert (await scene.queue.get()).name == "web"

    asyncio.run(run())


def test_the_more_pods_the_longer_within_reason() -> None:
    assert gathering_seconds(1) == 0
    assert 0 < gathering_seconds(100) < gathering_seconds(1000)
    assert gathering_seconds(10**6) == GATHERING_SECONDS_MAX
