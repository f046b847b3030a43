"""Claims are released when their pods are done, and go when nobody needs them."""

from __future__ import annotations

import asyncio

import pytest

from dray.api.core import Container, Pod, PodSpec, ResourceRequirements
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.quantity import Quantity
from dray.api.resource import ResourceClaim, ResourceClaimConsumerReference
from dray.api.wire import replace
from dray.controllers.garbage_collection.controller import GarbageCollector
from tests.unit.controllers.resource_claims.scene import (
    FINALIZER,
    SPEC,
    Scene,
    consumer,
    on_scene,
    play,
    pod,
    template,
)


async def used(scene: Scene, name: str = "web") -> tuple[Pod, ResourceClaim]:
    """A pod on a node, with a claim from a template that is allocated and reserved."""
    await scene.client.create(template(f"{name}-template"))
    web = await scene.add(pod(name, templates={"gpu": f"{name}-template"}))
    claim = await scene.allocate(await scene.claim_of(web), consumer(web))
    web = await scene.bind(web)
    scene.traffic.writes()
    return web, claim


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_claim_of_a_pod_that_has_ended_goes_though_the_pod_stays(phase: str) -> None:
    async def story(scene: Scene) -> None:
        web, claim = await used(scene)
        await scene.finish(web, phase)
        assert await scene.claim(claim.metadata.name) is None
        assert (await scene.pod("web")).status.phase == phase
        await scene.pass_time(1)
        assert await scene.claims() == []

    play(story)


@on_scene
async def test_a_pod_that_only_terminates_keeps_its_claim(scene: Scene) -> None:
    web, claim = await used(scene)
    await scene.client.delete(Pod, "web", namespace="default", grace_period_seconds=30)
    await scene.settle()
    assert scene.traffic.writes() == {}
    found = await scene.claim(claim.metadata.name)
    assert found is not None
    assert found.status.reserved_for == (consumer(web),)


@on_scene
async def test_the_claim_of_a_pod_that_is_gone_goes_though_nobody_collects_it(
    scene: Scene,
) -> None:
    web, claim = await used(scene)
    await scene.remove(web)
    assert await scene.claims() == [claim]
    await scene.pass_time(1)
    assert await scene.claims() == []
    assert scene.traffic.writes() == {"DELETE resourceclaims": 1, "PUT resourceclaims": 1}


def test_the_claim_of_a_pod_that_is_gone_is_left_to_the_garbage_collector() -> None:
    """One of the two would be refused, and would try again."""

    async def story() -> None:
        async with Scene(GarbageCollector.name) as scene:
            web, _claim = await used(scene)
            await scene.remove(web)
            assert await scene.claims() == []
            await scene.pass_time(1)
            assert scene.traffic.writes() == {"DELETE resourceclaims": 1, "PUT resourceclaims": 1}

    asyncio.run(story())


@on_scene
async def test_a_claim_that_others_hold_on_to_gives_its_devices_back_with_its_pods_end(
    scene: Scene,
) -> None:
    web, claim = await used(scene)
    finalizers = (FINALIZER, "example.com/stay")
    await scene.client.update(
        replace(claim, metadata=replace(claim.metadata, finalizers=finalizers))
    )
    await scene.finish(web)
    found = await scene.claim(claim.metadata.name)
    assert found is not None
    assert found.metadata.deletion_timestamp is not None
    assert found.metadata.finalizers == ("example.com/stay",)
    assert found.status.allocation is None
    assert found.status.reserved_for == ()


@on_scene
async def test_a_claim_that_only_others_protect_is_still_given_back(scene: Scene) -> None:
    web, claim = await used(scene)
    metadata = replace(claim.metadata, finalizers=("example.com/stay",))
    await scene.client.update(replace(claim, metadata=metadata))
    await scene.client.delete(ResourceClaim, claim.metadata.name, namespace="default")
    await scene.finish(web)
    found = await scene.claim(claim.metadata.name)
    assert found is not None
    assert found.status.reserved_for == ()


@on_scene
async def test_the_claim_of_a_pod_that_dies_before_allocation_goes_at_once(scene: Scene) -> None:
    await scene.client.create(template("t"))
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    await scene.remove(web)
    assert await scene.claims() == []


@on_scene
async def test_a_claim_that_was_made_while_its_pod_was_deleted_goes_too(scene: Scene) -> None:
    await scene.client.create(template("t"))
    with scene.traffic.behind("resourceclaims"):
        web = await scene.add(pod("web", templates={"gpu": "t"}))
        await scene.remove(web)
        assert len(await scene.claims()) == 1
    await scene.pass_time(1)
    assert await scene.claims() == []


@on_scene
async def test_a_claim_that_nobody_uses_can_be_deleted_by_hand(scene: Scene) -> None:
    """The finalizer that generated claims are made with is in nobody's way."""
    await scene.client.create(template("t"))
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    claim = await scene.claim_of(web)
    assert claim.metadata.finalizers == (FINALIZER,)
    scene.traffic.writes()
    await scene.client.delete(ResourceClaim, claim.metadata.name, namespace="default")
    await scene.settle()
    # Its pod waits for one, so another is made.
    assert scene.traffic.writes() == {"PUT resourceclaims": 1, "POST resourceclaims": 1}
    (other,) = await scene.claims()
    assert other.metadata.uid != claim.metadata.uid


@on_scene
async def test_a_users_claim_is_given_back_but_stays(scene: Scene) -> None:
    web = await scene.add(pod("web", claims={"gpu": "mine"}))
    await scene.allocate(await scene.add_claim("mine"), consumer(web))
    web = await scene.bind(web)
    await scene.finish(web)
    mine = await scene.claim("mine")
    assert mine is not None
    assert mine.status.allocation is None
    assert mine.status.reserved_for == ()
    assert mine.metadata.finalizers == ()


@on_scene
async def test_an_allocation_lasts_as_long_as_its_last_consumer(scene: Scene) -> None:
    first = await scene.add(pod("first", claims={"gpu": "mine"}))
    second = await scene.add(pod("second", claims={"gpu": "mine"}))
    await scene.allocate(await scene.add_claim("mine"), consumer(first), consumer(second))
    await scene.bind(first)
    await scene.finish(first)
    mine = await scene.claim("mine")
    assert mine is not None
    assert mine.status.reserved_for == (consumer(second),)
    assert mine.status.allocation is not None
    assert mine.metadata.finalizers == (FINALIZER,)


@on_scene
async def test_a_claim_that_was_never_reserved_keeps_its_allocation(scene: Scene) -> None:
    await scene.allocate(await scene.add_claim("mine"))
    assert scene.traffic.writes() == {}


@on_scene
async def test_an_allocated_claim_that_is_deleted_is_let_go(scene: Scene) -> None:
    await scene.allocate(await scene.add_claim("mine"))
    await scene.client.delete(ResourceClaim, "mine", namespace="default")
    await scene.settle()
    assert await scene.claims() == []


@on_scene
async def test_a_claim_that_is_deleted_while_in_use_stays_until_it_is_not(scene: Scene) -> None:
    web, claim = await used(scene)
    await scene.client.delete(ResourceClaim, claim.metadata.name, namespace="default")
    await scene.settle()
    assert scene.traffic.writes() == {}
    await scene.finish(web)
    assert await scene.claims() == []


@on_scene
async def test_a_reservation_for_a_pod_that_nobody_knows_is_taken_back(scene: Scene) -> None:
    gone = ResourceClaimConsumerReference(resource="pods", name="gone", uid="1")
    await scene.allocate(await scene.add_claim("mine"), gone)
    mine = await scene.claim("mine")
    assert mine is not None
    assert mine.status.reserved_for == ()
    assert mine.status.allocation is None


@on_scene
async def test_a_reservation_for_a_pod_that_was_replaced_is_taken_back(scene: Scene) -> None:
    await scene.add(pod("web", claims={"gpu": "mine"}))
    former = ResourceClaimConsumerReference(resource="pods", name="web", uid="1")
    await scene.allocate(await scene.add_claim("mine"), former)
    mine = await scene.claim("mine")
    assert mine is not None
    assert mine.status.reserved_for == ()


@on_scene
async def test_a_reservation_stays_while_the_view_does_not_have_the_pod_yet(scene: Scene) -> None:
    with scene.traffic.behind("pods"):
        web = await scene.add(pod("web", claims={"gpu": "mine"}))
        await scene.allocate(await scene.add_claim("mine"), consumer(web))
        assert scene.traffic.writes() == {}


@on_scene
async def test_a_reservation_stays_while_the_view_still_has_the_pods_predecessor(
    scene: Scene,
) -> None:
    """A departure: upstream takes it back, and with it the devices of a pod that runs."""
    former = await scene.add(pod("web", claims={"gpu": "mine"}))
    with scene.traffic.behind("pods"):
        await scene.remove(former)
        web = await scene.add(pod("web", claims={"gpu": "mine"}))
        await scene.allocate(await scene.add_claim("mine"), consumer(web))
        assert scene.traffic.writes() == {}


@on_scene
async def test_consumers_of_kinds_that_nobody_knows_are_kept(scene: Scene) -> None:
    job = ResourceClaimConsumerReference(
        api_group="example.com", resource="jobs", name="j", uid="1"
    )
    gone = ResourceClaimConsumerReference(resource="pods", name="gone", uid="2")
    await scene.allocate(await scene.add_claim("mine"), job, gone)
    mine = await scene.claim("mine")
    assert mine is not None
    assert mine.status.reserved_for == (job,)
    assert mine.status.allocation is not None


@on_scene
async def test_the_claim_behind_extended_resources_goes_with_the_pods_end(scene: Scene) -> None:
    amount = {"example.com/gpu": Quantity.parse("1")}
    resources = ResourceRequirements(requests=amount, limits=amount)
    spec = PodSpec(containers=(Container(name="main", image="i", resources=resources),))
    web = await scene.cluster.add_pod("web", spec=spec)
    owner = OwnerReference(
        api_version="v1", kind="Pod", name="web", uid=web.metadata.uid, controller=True
    )
    metadata = ObjectMeta(
        name="web-extended-resources-x",
        namespace="default",
        annotations={"resource.kubernetes.io/extended-resource-claim": "true"},
        owner_references=(owner,),
    )
    claim = await scene.client.create(ResourceClaim(metadata=metadata, spec=SPEC))
    await scene.allocate(claim, consumer(web))
    mapping = {"containerName": "main", "resourceName": "example.com/gpu", "requestName": "r"}
    status = {"resourceClaimName": claim.metadata.name, "requestMappings": [mapping]}
    await scene.client.patch(
        Pod,
        "web",
        {"status": {"extendedResourceClaimStatus": status}},
        namespace="default",
        subresource="status",
    )
    web = await scene.bind(web)
    assert scene.traffic.writes() == {}
    await scene.finish(web)
    assert await scene.claims() == []


@on_scene
async def test_a_claim_that_changes_meanwhile_is_looked_at_again(scene: Scene) -> None:
    """Nothing is taken away on the ground of what was true before."""
    web, claim = await used(scene)
    with scene.traffic.behind("resourceclaims"):
        labelled = replace(claim.metadata, labels={"a": "b"})
        await scene.client.update(replace(claim, metadata=labelled))
        await scene.finish(web)
        assert await scene.claim(claim.metadata.name) is not None
    await scene.pass_time(1)
    assert await scene.claims() == []


@on_scene
async def test_a_claim_that_others_protect_too_loses_its_devices_all_the_same(
    scene: Scene,
) -> None:
    claim = await scene.add_claim("mine", finalizers=(FINALIZER, "example.com/stay"))
    await scene.allocate(claim)
    await scene.client.delete(ResourceClaim, "mine", namespace="default")
    await scene.settle()
    mine = await scene.claim("mine")
    assert mine is not None
    assert mine.status.allocation is None
    assert mine.metadata.finalizers == ("example.com/stay",)


def owned_by(name: str, uid: str) -> ResourceClaim:
    """A claim that was made for a pod, of which the pod's status says nothing."""
    owner = OwnerReference(api_version="v1", kind="Pod", name=name, uid=uid, controller=True)
    metadata = ObjectMeta(name="made", namespace="default", owner_references=(owner,))
    return ResourceClaim(metadata=metadata, spec=SPEC)


@on_scene
async def test_a_claim_whose_pod_was_replaced_goes(scene: Scene) -> None:
    await scene.add(pod("web", claims={"gpu": "mine"}))
    await scene.client.create(owned_by("web", "another"))
    await scene.settle()
    assert await scene.claims() == []


@on_scene
async def test_a_claim_that_was_never_recorded_goes_with_its_pods_end(scene: Scene) -> None:
    web = await scene.add(pod("web", claims={"gpu": "mine"}))
    await scene.client.create(owned_by("web", web.metadata.uid))
    await scene.settle()
    assert len(await scene.claims()) == 1
    await scene.finish(web)
    assert await scene.claims() == []


@on_scene
async def test_a_claim_that_somebody_has_reserved_meanwhile_is_not_deleted(scene: Scene) -> None:
    job = ResourceClaimConsumerReference(
        api_group="example.com", resource="jobs", name="j", uid="1"
    )
    await scene.client.create(template("t"))
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    claim = await scene.claim_of(web)
    with scene.traffic.behind("resourceclaims"):
        await scene.allocate(claim, job)
        await scene.finish(web)
    await scene.pass_time(1)
    found = await scene.claim(claim.metadata.name)
    assert found is not None
    assert found.metadata.deletion_timestamp is None
