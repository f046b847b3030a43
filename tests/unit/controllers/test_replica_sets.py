"""Replica sets: as many pods as wanted, of those that are theirs."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.apps import ReplicaSet, ReplicaSetSpec, ReplicaSetStatus
from dray.api.core import Pod, PodResourceClaim
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from tests.unit.controllers.stage import Stage
from tests.unit.controllers.workloads import (
    NAMESPACE,
    LateStage,
    events_of,
    finish,
    make_ready,
    make_template,
    on_stage,
    pods_of,
    select,
)

NAME = "replicaset-controller"
LABELS = {"app": "web"}


def make_replica_set(replicas: int, **spec: Any) -> ReplicaSet:
    return ReplicaSet(
        metadata=ObjectMeta(name="web", namespace=NAMESPACE),
        spec=ReplicaSetSpec(
            replicas=replicas,
            selector=select(LABELS),
            **{"template": make_template(LABELS), **spec},
        ),
    )


async def scale(stage: Stage, replicas: int) -> None:
    patch = {"spec": {"replicas": replicas}}
    await stage.client.patch(ReplicaSet, "web", patch, namespace=NAMESPACE)
    await stage.settle()


async def status_of(stage: Stage) -> ReplicaSetStatus:
    await stage.settle()
    return (await stage.client.get(ReplicaSet, "web", namespace=NAMESPACE)).status


@on_stage(NAME)
async def test_it_makes_as_many_pods_as_are_wanted_and_owns_them(stage: Stage) -> None:
    made = await stage.client.create(make_replica_set(3))
    pods = await pods_of(stage)
    assert len(pods) == 3
    for pod in pods:
        (owner,) = pod.metadata.owner_references
        assert (owner.kind, owner.name, owner.uid) == ("ReplicaSet", "web", made.metadata.uid)
        assert (owner.controller, owner.block_owner_deletion) == (True, True)
        assert pod.metadata.name.startswith("web-")
    assert (await status_of(stage)).replicas == 3
    assert (await status_of(stage)).observed_generation == 1
    told = await events_of(stage, "web")
    assert ("SuccessfulCreate", f"Created pod: {pods[0].metadata.name}") in told


@on_stage(NAME)
async def test_pods_get_the_claims_of_the_template(stage: Stage) -> None:
    claims = (PodResourceClaim(name="gpu", resource_claim_template_name="one-gpu"),)
    template = make_template(LABELS, resource_claims=claims)
    await stage.client.create(make_replica_set(2, template=template))
    for pod in await pods_of(stage):
        assert pod.spec.resource_claims == claims


@on_stage(NAME)
async def test_a_pod_that_ends_or_goes_is_replaced(stage: Stage) -> None:
    await stage.client.create(make_replica_set(2))
    first, second = await pods_of(stage)
    await finish(stage, first, exit_code=1)
    await stage.client.delete(Pod, second.metadata.name, namespace=NAMESPACE)
    pods = await pods_of(stage)
    assert len([pod for pod in pods if pod.status.phase != "Failed"]) == 2


@on_stage(NAME)
async def test_with_too_many_the_least_useful_go_first(stage: Stage) -> None:
    await stage.client.create(make_replica_set(4))
    pods = await pods_of(stage)
    await make_ready(stage, pods[1], pods[3])
    await scale(stage, 2)
    left = {pod.metadata.name for pod in await pods_of(stage)}
    assert left == {pods[1].metadata.name, pods[3].metadata.name}
    assert (await status_of(stage)).ready_replicas == 2
    assert [reason for reason, _ in await events_of(stage, "web")].count("SuccessfulDelete") == 2


@on_stage(NAME)
async def test_it_adopts_what_it_selects_and_releases_what_it_no_longer_does(stage: Stage) -> None:
    orphan = await stage.cluster.add_pod("orphan")
    labels = {"metadata": {"labels": LABELS}}
    await stage.client.patch(Pod, "orphan", labels, namespace=NAMESPACE)
    made = await stage.client.create(make_replica_set(2))
    await stage.settle()
    adopted = await stage.client.get(Pod, "orphan", namespace=NAMESPACE)
    assert adopted.metadata.uid == orphan.metadata.uid
    assert adopted.metadata.owner_references[0].uid == made.metadata.uid
    assert len(await pods_of(stage)) == 2

    other = {"metadata": {"labels": {"app": "other"}}}
    await stage.client.patch(Pod, "orphan", other, namespace=NAMESPACE)
    await stage.settle()
    released = await stage.client.get(Pod, "orphan", namespace=NAMESPACE)
    assert released.metadata.owner_references == ()
    assert len(await pods_of(stage)) == 3


@on_stage(NAME)
async def test_a_pod_of_somebody_else_is_left_alone(stage: Stage) -> None:
    await stage.client.create(make_replica_set(1))
    (pod,) = await pods_of(stage)
    other = replace(make_replica_set(1), metadata=ObjectMeta(name="two", namespace=NAMESPACE))
    await stage.client.create(other)
    pods = await pods_of(stage)
    assert len(pods) == 2
    kept = next(each for each in pods if each.metadata.name == pod.metadata.name)
    assert kept.metadata.owner_references == pod.metadata.owner_references


@on_stage(NAME)
async def test_a_pod_is_available_once_it_was_ready_for_long_enough(stage: Stage) -> None:
    await stage.client.create(make_replica_set(1, min_ready_seconds=10))
    await make_ready(stage, *await pods_of(stage))
    status = await status_of(stage)
    assert (status.ready_replicas, status.available_replicas) == (1, 0)
    await stage.pass_time(9)
    assert (await status_of(stage)).available_replicas == 0
    await stage.pass_time(1)
    assert (await status_of(stage)).available_replicas == 1


@on_stage(NAME)
async def test_what_cannot_be_made_is_said_once_and_tried_again(stage: Stage) -> None:
    template = make_template(LABELS, priority_class_name="none")
    await stage.client.create(make_replica_set(50, template=template))
    status = await status_of(stage)
    (condition,) = status.conditions
    assert (condition.type, condition.status) == ("ReplicaFailure", "True")
    assert condition.reason == "FailedCreate"
    assert "no PriorityClass with name none was found" in condition.message
    assert stage.traffic.calls["POST pods"] == 1  # the other 49 were not even tried
    reason, message = (await events_of(stage, "web"))[0]
    assert reason == "FailedCreate"
    assert message.startswith("Error creating: ")

    patch = {"spec": {"template": {"spec": {"priorityClassName": None}}}}
    await stage.client.patch(ReplicaSet, "web", patch, namespace=NAMESPACE)
    await stage.pass_time(1)
    assert len(await pods_of(stage)) == 50
    assert (await status_of(stage)).conditions == ()


@on_stage(NAME)
async def test_nothing_is_written_when_nothing_changed(stage: Stage) -> None:
    await stage.client.create(make_replica_set(2))
    await make_ready(stage, *await pods_of(stage))
    stage.traffic.writes()
    patch = {"metadata": {"annotations": {"note": "1"}}}
    await stage.client.patch(ReplicaSet, "web", patch, namespace=NAMESPACE)
    await stage.settle()
    assert stage.traffic.writes() == {}


@on_stage(NAME)
async def test_one_that_is_being_deleted_makes_no_more_pods(stage: Stage) -> None:
    held = replace(
        make_replica_set(1),
        metadata=ObjectMeta(name="web", namespace=NAMESPACE, finalizers=("example.com/hold",)),
    )
    await stage.client.create(held)
    (pod,) = await pods_of(stage)
    await stage.client.delete(ReplicaSet, "web", namespace=NAMESPACE)
    await stage.client.delete(Pod, pod.metadata.name, namespace=NAMESPACE)
    assert await pods_of(stage) == []


@on_stage(NAME, kind=LateStage)
async def test_what_is_heard_of_late_is_not_done_twice(stage: Stage) -> None:
    await stage.client.create(make_replica_set(5))
    await stage.pass_time(20, steps=40)
    await scale(stage, 2)
    await stage.pass_time(20, steps=40)
    await scale(stage, 6)
    await stage.pass_time(20, steps=40)
    assert len(await pods_of(stage)) == 6
    assert stage.traffic.calls["POST pods"] == 9
    assert stage.traffic.calls["DELETE pods"] == 3
    assert (await status_of(stage)).replicas == 6


@on_stage(NAME)
async def test_a_pod_that_came_and_went_unseen_is_replaced(stage: Stage) -> None:
    with stage.traffic.behind("pods", expires=True):
        await stage.client.create(make_replica_set(1))
        (pod,) = await pods_of(stage)
        await stage.client.delete(Pod, pod.metadata.name, namespace=NAMESPACE)
        await stage.settle()
    await stage.pass_time(10, steps=10)
    assert len(await pods_of(stage)) == 1


@pytest.mark.slow
@on_stage(NAME)
async def test_a_thousand_pods_take_few_looks(stage: Stage) -> None:
    """Each is made once, and the status is not written for each."""
    await stage.client.create(make_replica_set(1000))
    await stage.pass_time(5, steps=5)
    assert len(await pods_of(stage)) == 1000
    assert stage.traffic.calls["POST pods"] == 1000
    assert stage.traffic.calls["PUT replicasets/status"] < 10
