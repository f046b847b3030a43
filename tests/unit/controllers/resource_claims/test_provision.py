"""Pods are given claims: made once, recorded, and reserved where no scheduler does it."""

from __future__ import annotations

from dray.api.core import Pod, ResourceQuota, ResourceQuotaSpec
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import (
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from dray.api.wire import replace
from tests.unit.controllers.resource_claims.scene import (
    FINALIZER,
    SPEC,
    Scene,
    consumer,
    on_scene,
    pod,
    template,
)


@on_scene
async def test_a_claim_is_what_its_template_says_and_belongs_to_the_pod(scene: Scene) -> None:
    labels, annotations = {"team": "blue"}, {"example.com/note": "x"}
    await scene.client.create(template("t", labels=labels, annotations=annotations))
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    claim = await scene.claim_of(web)
    metadata = claim.metadata
    assert metadata.name.startswith("web-gpu-")
    assert metadata.generate_name == "web-gpu-"
    assert metadata.labels == labels
    assert metadata.annotations == annotations | {"resource.kubernetes.io/pod-claim-name": "gpu"}
    assert claim.spec == SPEC
    (owner,) = metadata.owner_references
    assert (owner.api_version, owner.kind, owner.name) == ("v1", "Pod", "web")
    assert (owner.uid, owner.controller) == (web.metadata.uid, True)
    assert owner.block_owner_deletion is None


@on_scene
async def test_a_generated_claim_is_protected_from_the_beginning(scene: Scene) -> None:
    """A departure: it saves the scheduler a write."""
    await scene.client.create(template("t"))
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    assert (await scene.claim_of(web)).metadata.finalizers == (FINALIZER,)


@on_scene
async def test_a_pod_costs_a_write_for_each_claim_and_one_for_its_status(scene: Scene) -> None:
    await scene.client.create(template("t"))
    await scene.add(pod("one", templates={"gpu": "t"}))
    assert scene.traffic.writes() == {"POST resourceclaims": 1, "PATCH pods/status": 1}
    many = await scene.add(pod("many", templates={"gpu": "t", "nic": "t", "disk": "t"}))
    assert scene.traffic.writes() == {"POST resourceclaims": 3, "PATCH pods/status": 1}
    recorded = [status.name for status in many.status.resource_claim_statuses or ()]
    assert sorted(recorded) == ["disk", "gpu", "nic"]


@on_scene
async def test_the_status_is_written_by_upstreams_field_manager(scene: Scene) -> None:
    await scene.client.create(template("t"))
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    managers = {(each.manager, each.subresource) for each in web.metadata.managed_fields}
    assert ("ResourceClaimController", "status") in managers


@on_scene
async def test_a_template_that_appears_later_is_waited_for(scene: Scene) -> None:
    await scene.add(pod("web", templates={"gpu": "t"}))
    (event,) = await scene.events()
    assert (event.type, event.reason) == ("Warning", "FailedResourceClaimCreation")
    assert event.message == (
        'PodResourceClaim gpu: resource claim template "t":'
        ' resourceclaimtemplate.resource.k8s.io "t" not found'
    )
    assert event.source is not None
    assert event.source.component == "resource_claim"
    await scene.client.create(template("t"))
    await scene.settle()
    assert len(await scene.claims()) == 1


@on_scene
async def test_a_pod_that_waits_for_long_is_told_again(scene: Scene) -> None:
    await scene.add(pod("web", templates={"gpu": "t"}))
    await scene.pass_time(601)
    (event,) = await scene.events()
    assert event.count == 2


@on_scene
async def test_what_the_server_refuses_is_told_and_tried_again(scene: Scene) -> None:
    await scene.client.create(template("t"))
    quota = ResourceQuota(
        metadata=ObjectMeta(name="none", namespace="default"),
        spec=ResourceQuotaSpec(hard={"count/resourceclaims.resource.k8s.io": Quantity.parse("0")}),
    )
    await scene.client.create(quota)
    status = {"hard": quota.spec.hard, "used": quota.spec.hard}
    await scene.client.patch(
        ResourceQuota, "none", {"status": status}, namespace="default", subresource="status"
    )
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    (event,) = await scene.events()
    assert event.message.startswith("PodResourceClaim gpu: ")
    assert "exceeded quota" in event.message
    await scene.client.delete(ResourceQuota, "none", namespace="default")
    await scene.pass_time(300)
    assert (await scene.claim_of(web)).metadata.owner_references


@on_scene
async def test_an_answer_that_is_lost_leads_to_no_second_claim(scene: Scene) -> None:
    await scene.client.create(template("t"))
    with scene.traffic.behind("resourceclaims"):
        scene.traffic.lost.append("POST resourceclaims")
        web = await scene.add(pod("web", templates={"gpu": "t"}))
        await scene.pass_time(1)
        (claim,) = await scene.claims()
        assert (await scene.claim_of(web)).metadata.uid == claim.metadata.uid


@on_scene
async def test_a_status_that_could_not_be_written_gets_the_claim_that_was_made(
    scene: Scene,
) -> None:
    await scene.client.create(template("t"))
    with scene.traffic.behind("resourceclaims"):
        scene.traffic.lost.append("PATCH pods/status")
        await scene.add(pod("web", templates={"gpu": "t"}))
        await scene.pass_time(1)
        assert len(await scene.claims()) == 1
    assert scene.traffic.writes()["POST resourceclaims"] == 1


@on_scene
async def test_a_view_that_lags_leads_to_no_second_write(scene: Scene) -> None:
    await scene.client.create(template("t"))
    with scene.traffic.behind("resourceclaims"):
        web = await scene.add(pod("web", templates={"gpu": "t"}))
        # The scheduler says why it waits: one more reason to look at the pod.
        patch = {"metadata": {"labels": {"looked": "at"}}}
        await scene.client.patch(Pod, "web", patch, namespace="default")
        await scene.settle()
    await scene.settle()
    assert len(await scene.claims()) == 1
    assert (await scene.claim_of(web)).metadata.owner_references
    assert scene.traffic.writes() == {"POST resourceclaims": 1, "PATCH pods/status": 1}


@on_scene
async def test_a_claim_of_the_name_that_is_not_the_pods_is_left_alone(scene: Scene) -> None:
    """Its name may be taken: by the claim of a pod of the same name, or by anybody."""
    await scene.client.create(template("t"))
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    claim = await scene.claim_of(web)
    foreign = replace(claim.metadata, owner_references=())
    await scene.client.update(replace(claim, metadata=foreign))
    await scene.settle()
    other = await scene.claim_of(web)
    assert other.metadata.uid != claim.metadata.uid
    assert other.metadata.name.startswith("web-gpu-")
    assert await scene.claim(claim.metadata.name) is not None


@on_scene
async def test_a_recorded_claim_that_is_gone_is_made_anew(scene: Scene) -> None:
    await scene.client.create(template("t"))
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    claim = await scene.claim_of(web)
    name = claim.metadata.name
    await scene.client.delete(ResourceClaim, name, namespace="default")
    await scene.settle()
    assert (await scene.claim_of(web)).metadata.uid != claim.metadata.uid


@on_scene
async def test_pods_that_are_done_get_no_claims(scene: Scene) -> None:
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    await scene.finish(web)
    await scene.client.create(template("t"))
    await scene.settle()
    assert await scene.claims() == []


@on_scene
async def test_a_pod_that_ends_while_its_claim_is_refused_gets_none_later(scene: Scene) -> None:
    await scene.client.create(template("t"))
    scene.traffic.unsent.append("POST resourceclaims")
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    await scene.finish(web)
    scene.traffic.writes()
    await scene.pass_time(10)
    assert scene.traffic.writes() == {}


@on_scene
async def test_a_pod_that_goes_while_its_claim_is_made_is_not_written_to(scene: Scene) -> None:
    web = await scene.add(pod("web", templates={"gpu": "t"}))
    with scene.traffic.behind("pods"):
        await scene.remove(web)
        await scene.client.create(template("t"))
        await scene.settle()
        assert len(await scene.claims()) == 1
    await scene.settle()
    assert await scene.claims() == []
    assert [each.queue.retried_count for each in scene.controllers.reconcilers] == [0]


@on_scene
async def test_a_pod_of_the_same_name_gets_a_claim_of_its_own(scene: Scene) -> None:
    former = await scene.add(pod("web", templates={"gpu": "t"}))
    with scene.traffic.behind("pods"):
        await scene.remove(former)
        await scene.add(pod("web", templates={"gpu": "t"}))
        await scene.client.create(template("t"))
        await scene.settle()
        assert not (await scene.pod("web")).status.resource_claim_statuses
    await scene.pass_time(1)
    web = await scene.pod("web")
    (claim,) = await scene.claims()
    assert (await scene.claim_of(web)).metadata.uid == claim.metadata.uid
    assert claim.metadata.owner_references[0].uid == web.metadata.uid


# Reservation -----------------------------------------------------------------------------------


@on_scene
async def test_a_pod_that_came_without_a_scheduler_is_entered_where_it_may_be(
    scene: Scene,
) -> None:
    claim = await scene.allocate(await scene.add_claim("shared"))
    web = await scene.add(pod("web", claims={"gpu": "shared"}, node="n1"))
    shared = await scene.claim("shared")
    assert shared is not None
    assert shared.status.reserved_for == (consumer(web),)
    assert shared.status.allocation == claim.status.allocation


@on_scene
async def test_a_claim_that_is_allocated_later_is_reserved_then(scene: Scene) -> None:
    claim = await scene.add_claim("shared")
    web = await scene.add(pod("web", claims={"gpu": "shared"}, node="n1"))
    assert scene.traffic.writes() == {}
    await scene.allocate(claim)
    shared = await scene.claim("shared")
    assert shared is not None
    assert shared.status.reserved_for == (consumer(web),)


@on_scene
async def test_nothing_is_reserved_for_pods_that_wait_for_a_scheduler(scene: Scene) -> None:
    await scene.allocate(await scene.add_claim("shared"))
    await scene.add(pod("web", claims={"gpu": "shared"}))
    assert scene.traffic.writes() == {}


@on_scene
async def test_a_claim_that_has_all_the_consumers_it_may_have_gets_no_more(scene: Scene) -> None:
    await scene.client.create(template("t"))
    others = tuple(
        ResourceClaimConsumerReference(
            api_group="example.com", resource="jobs", name=f"j{index}", uid=f"{index}"
        )
        for index in range(256)
    )
    await scene.allocate(await scene.add_claim("shared"), *others)
    await scene.add(pod("web", claims={"gpu": "shared"}, node="n1"))
    assert scene.traffic.writes() == {}


@on_scene
async def test_a_claim_that_is_being_deleted_is_reserved_for_nobody_else(scene: Scene) -> None:
    job = ResourceClaimConsumerReference(
        api_group="example.com", resource="jobs", name="j", uid="1"
    )
    await scene.allocate(await scene.add_claim("shared"), job)
    await scene.client.delete(ResourceClaim, "shared", namespace="default")
    await scene.add(pod("web", claims={"gpu": "shared"}, node="n1"))
    assert scene.traffic.writes() == {}
