"""Whether owners are there."""

from __future__ import annotations

import asyncio

import pytest

from dray.api.core import Pod
from dray.api.meta import OwnerReference
from dray.api.wire import replace
from dray.client import Client
from dray.controllers.garbage_collection import owners as module
from dray.controllers.garbage_collection.owners import Owners, Standing, waits_for_dependents
from tests.unit.controllers.garbage_collection.test_views import views_of
from tests.unit.controllers.stage import Stage, Traffic


def reference_to(pod: Pod) -> OwnerReference:
    metadata = pod.metadata
    return OwnerReference(api_version="v1", kind="Pod", name=metadata.name, uid=metadata.uid)


def asking(stage: Stage) -> tuple[Owners, Traffic]:
    traffic = Traffic(stage.cluster.transport())
    return Owners(views_of(stage), Client(traffic, clock=stage.clock)), traffic


def test_an_owner_that_our_view_has_need_not_be_asked_for() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            owners, traffic = asking(stage)
            web = reference_to(await stage.cluster.add_pod("web"))
            await stage.settle()
            assert await owners.standing(web, "default") is Standing.SOLID
            found = owners.find(web, "default")
            assert found is not None
            assert found[1].metadata.name == "web"
            assert not traffic.calls
            await stage.client.delete(
                Pod, "web", namespace="default", propagation_policy="Foreground"
            )
            await stage.settle()
            assert await owners.standing(web, "default") is Standing.WAITING
            ending = owners.find(web, "default")
            assert ending is not None
            assert waits_for_dependents(ending[1])
            assert not waits_for_dependents(found[1])

    asyncio.run(scenario())


def test_an_owner_that_our_view_lacks_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            owners, traffic = asking(stage)
            web = reference_to(await stage.cluster.add_pod("web"))
            await stage.settle()
            # A view that lags behind.
            monkeypatch.setattr(stage.informers.of(Pod), "get", lambda *_names: None)
            assert await owners.standing(web, "default") is Standing.SOLID
            assert traffic.calls == {"GET pods": 1}

    asyncio.run(scenario())


def test_an_absent_owner_is_remembered_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ABSENT_MAX", 1)

    async def scenario() -> None:
        async with Stage() as stage:
            owners, traffic = asking(stage)
            web = await stage.cluster.add_pod("web")
            await stage.settle()
            other = replace(reference_to(web), uid="another")
            for _ in range(2):
                assert await owners.standing(other, "default") is Standing.ABSENT
            assert owners.is_known_absent(other, "default")
            assert traffic.calls == {"GET pods": 1}
            found = owners.find(reference_to(web), "default")
            assert found is not None
            owners.gone(*found)
            assert owners.is_known_absent(reference_to(web), "default")
            assert not owners.is_known_absent(other, "default"), "the oldest is forgotten"

    asyncio.run(scenario())


def test_where_the_dependent_is_decides_where_the_owner_can_be() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            owners, _ = asking(stage)
            web = reference_to(await stage.cluster.add_pod("web"))
            await stage.cluster.add_namespace("other")
            await stage.settle()
            assert await owners.standing(web, "other") is Standing.ABSENT
            assert owners.is_elsewhere(web, "other")
            assert not owners.is_elsewhere(web, "default")
            assert await owners.standing(web, "") is Standing.IMPOSSIBLE
            thing = replace(web, kind="Thing")
            assert await owners.standing(thing, "default") is Standing.UNKNOWN
            assert not owners.is_known_absent(thing, "default")

    asyncio.run(scenario())
