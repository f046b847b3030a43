"""The controller as a whole: what it costs, and what it counts."""

from __future__ import annotations

import asyncio

from tests.unit.controllers.resource_claims.scene import (
    Scene,
    consumer,
    on_scene,
    pod,
    template,
)


@on_scene
async def test_the_whole_life_of_a_pod_takes_four_writes(scene: Scene) -> None:
    """Two before it is scheduled and two when it is done; nothing in between, and no reading."""
    await scene.client.create(template("t"))
    scene.traffic.calls.clear()
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    await scene.allocate(await scene.claim_of(web), consumer(web))
    web = await scene.bind(web)
    assert scene.traffic.calls == {"POST resourceclaims": 1, "PATCH pods/status": 1}
    await scene.finish(web)
    assert scene.traffic.calls.total() == 4
    await scene.remove(web)
    assert scene.traffic.calls.total() == 4


@on_scene
async def test_pods_are_looked_at_side_by_side(scene: Scene) -> None:
    await scene.client.create(template("t"))
    names = [f"web-{index}" for index in range(100)]
    await asyncio.gather(
        *(scene.client.create(pod(name, templates={"gpu": "t"})) for name in names)
    )
    await scene.settle()
    assert len(await scene.claims()) == 100
    assert scene.traffic.writes() == {"POST resourceclaims": 100, "PATCH pods/status": 100}
    assert scene.traffic.pending_count_max > 10


@on_scene
async def test_pods_without_claims_are_none_of_its_business(scene: Scene) -> None:
    await scene.add(pod("web"))
    (reconciler,) = scene.controllers.reconcilers
    assert reconciler.queue.added_count == 0


@on_scene
async def test_claims_are_counted_by_state_and_origin(scene: Scene) -> None:
    await scene.client.create(template("t"))
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    await scene.allocate(await scene.claim_of(web), consumer(web))
    await scene.add_claim("mine")
    await scene.settle()
    text = scene.controllers.metrics().decode()
    name = "dynamic_resource_allocation_resource_claims"
    source = 'source="resource_claim_template"'
    assert f'{name}{{allocated="true",admin_access="false",{source}}} 1' in text
    assert f'{name}{{allocated="false",admin_access="false",source=""}} 1' in text
    assert (
        'dynamic_resource_allocation_resourceclaim_creates_total{status="success",'
        'admin_access="false",owner_api_group="",owner_api_kind="Pod"} 1'
    ) in text
