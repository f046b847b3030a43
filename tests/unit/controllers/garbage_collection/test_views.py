"""Objects of all kinds, by key and by reference."""

from __future__ import annotations

import asyncio

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.apps import ReplicaSet
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.meta import Object, OwnerReference
from dray.client import EventRecorder
from dray.controllers.garbage_collection.views import View, Views
from dray.controllers.reconciler import Context, Key
from dray.entropy import SeededEntropy
from dray.testing.cluster import Cluster
from tests.unit.controllers.custom_resources import animal, define_animals
from tests.unit.controllers.stage import Stage


def views_of(stage: Stage) -> Views:
    entropy = SeededEntropy(3)
    events = EventRecorder(stage.client, component="test", clock=stage.clock, entropy=entropy)
    return Views(
        Context(stage.client, stage.informers, events, stage.clock, entropy, DEFAULT_GATES)
    )


def test_a_kind_is_found_by_each_of_its_versions_and_events_are_left_out() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            views = views_of(stage)
            view = views.of_reference(OwnerReference(api_version="apps/v1", kind="ReplicaSet"))
            assert view is not None
            assert (view.type, view.resource, view.namespaced) == (
                ReplicaSet,
                "replicasets.apps",
                True,
            )
            for version in ("v1", "v1beta1", "v1beta2"):
                reference = OwnerReference(
                    api_version=f"resource.k8s.io/{version}", kind="ResourceClaim"
                )
                assert views.of_reference(reference) is views.of("resourceclaims.resource.k8s.io")
            old = OwnerReference(api_version="apps/v1beta1", kind="ReplicaSet")
            assert views.of_reference(old) is None
            assert views.of("events") is None

    asyncio.run(scenario())


def test_an_object_is_found_by_its_key() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            views = views_of(stage)
            pod = await stage.cluster.add_pod("web")
            await stage.settle()
            found = views.get(Key("default", "pods/web"))
            assert found is not None
            view, obj = found
            assert obj.metadata.uid == pod.metadata.uid
            assert view.key(obj) == Key("default", "pods/web")
            assert views.get(Key("default", "secrets/web")) is None
            assert views.get(Key("default", "things/web")) is None

    asyncio.run(scenario())


def test_a_kind_that_is_defined_comes_and_goes_with_its_definition() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            heard: list[tuple[str, bool]] = []

            def listen(view: View, old: Object | None, new: Object | None) -> None:
                if view.resource == "animals.zoo.example":
                    obj = new or old
                    assert obj is not None
                    heard.append((obj.metadata.name, new is not None))

            views = views_of(stage)
            views.listen(listen)
            stage.start(views.run())
            await define_animals(stage.client)
            await stage.client.create(animal("dog"))
            await stage.settle()
            assert heard == [("dog", True)]
            assert views.get(Key("default", "animals.zoo.example/dog")) is not None
            await stage.client.delete(CustomResourceDefinition, "animals.zoo.example")
            await stage.settle()
            assert heard == [("dog", True), ("dog", False)]
            assert views.of("animals.zoo.example") is None
            named = OwnerReference(api_version="zoo.example/v1", kind="Animal")
            assert views.of_reference(named) is None

    asyncio.run(scenario())


def test_a_kind_that_the_server_may_lack_is_watched_if_it_is_served() -> None:
    async def scenario(served: bool) -> None:
        stage = Stage()
        if served:
            stage.cluster = Cluster(
                clock=stage.clock,
                gates=FeatureGates.parse("DRAResourcePoolStatus=true"),
                versions=lambda *_version: True,
            )
        async with stage:
            views = views_of(stage)
            views.listen(lambda *_change: None)
            stage.start(views.run())
            await stage.settle()
            resource = "resourcepoolstatusrequests.resource.k8s.io"
            assert (views.of(resource) is not None) is served

    for served in (False, True):
        asyncio.run(scenario(served))
