"""Extended resources that devices stand for: claims are made, used, and never left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any

import pytest

from dray.api.core import (
    Container,
    Node,
    Pod,
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceRequirements,
)
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import EXTENDED_RESOURCE_CLAIM_ANNOTATION, Device, ResourceClaim
from tests.unit.scheduler.stage import SchedulerStage, requests

GPU = "example.com/gpu"


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 20))


async def special_claims(stage: SchedulerStage) -> list[ResourceClaim]:
    return [
        one
        for one in await stage.claims()
        if EXTENDED_RESOURCE_CLAIM_ANNOTATION in one.metadata.annotations
    ]


def test_a_class_serves_a_resource_by_its_own_name_too() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=1)
            name = "deviceclass.resource.kubernetes.io/gpu"
            await stage.add_pod("train", resources={name: "1"})
            assert await stage.node_of("train") == "node-1"
            (claim,) = await special_claims(stage)
            assert claim.metadata.name.startswith("train-extended-resources-")
            (owner,) = claim.metadata.owner_references
            assert (owner.kind, owner.name, owner.controller) == ("Pod", "train", True)

    run(scenario())


def test_of_classes_for_one_resource_the_newest_serves_it() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class("b", extended_resource_name=GPU)
            await stage.pass_time(5)
            await stage.add_class("z", extended_resource_name=GPU)
            await stage.add_class("y", extended_resource_name=GPU)
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("train", resources={GPU: "1"})
            (claim,) = await special_claims(stage)
            (request,) = claim.spec.devices.requests or ()
            assert request.exactly is not None
            assert request.exactly.device_class_name == "y"

    run(scenario())


def test_init_containers_use_what_the_others_will_have() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            await stage.add_node("node-1", devices=2)
            init = Container(
                name="setup",
                image="registry.example/setup:1",
                resources=ResourceRequirements(
                    requests=requests({GPU: "2"}), limits=requests({GPU: "2"})
                ),
            )
            await stage.add_pod("train", resources={GPU: "1"}, init_containers=(init,))
            assert await stage.node_of("train") == "node-1", await stage.why_not("train")
            assert len(await stage.devices_in_use()) == 2
            status = (await stage.pod("train")).status.extended_resource_claim_status
            assert status is not None
            assert [one.container_name for one in status.request_mappings or ()] == [
                "main",
                "setup",
                "setup",
            ]

    run(scenario())


def test_a_pod_has_claims_and_extended_resources_at_once() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            await stage.add_template("one")
            await stage.add_node("small", devices=1)
            await stage.add_node("large", devices=2)
            await stage.add_pod("train", template="one", resources={GPU: "1"})
            assert await stage.node_of("train") == "large"
            assert len(set(await stage.devices_in_use())) == 2

    run(scenario())


def test_where_a_device_plugin_serves_the_resource_no_claim_is_made() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            await stage.add_node("plugin", allocatable={GPU: "1"})
            await stage.add_pod("first", resources={GPU: "1"})
            assert await stage.node_of("first") == "plugin"
            assert await special_claims(stage) == []
            await stage.add_pod("second", resources={GPU: "1"})
            assert "Insufficient example.com/gpu" in await stage.why_not("second")
            await stage.add_node("dra", devices=1, allocatable={GPU: "0"})
            await stage.pass_time(3, steps=3)
            assert await stage.node_of("second") == "dra"
            assert len(await special_claims(stage)) == 1

    run(scenario())


def test_a_plugin_that_appears_takes_over_and_devices_when_it_goes() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            await stage.add_node("node-1", devices=2)
            await stage.add_pod("first", resources={GPU: "1"})
            assert len(await special_claims(stage)) == 1
            amounts = {"allocatable": {GPU: "4"}, "capacity": {GPU: "4"}}
            await stage.client.patch(Node, "node-1", {"status": amounts}, subresource="status")
            await stage.add_pod("second", resources={GPU: "3"})
            assert await stage.node_of("second") == "node-1"
            assert len(await special_claims(stage)) == 1

    run(scenario())


def test_a_claim_of_a_likely_name_keeps_its_devices() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            await stage.add_node("node-1", devices=1)
            await stage.add_claim("train-extended-resources")
            await stage.add_pod("user", claim="train-extended-resources")
            await stage.add_pod("train", resources={GPU: "1"})
            assert not await stage.node_of("train")
            assert await stage.devices_in_use() == [("node-1", "gpu-0")]

    run(scenario())


# What goes wrong ---------------------------------------------------------------------------------


def test_a_quota_that_forbids_the_claim_is_named_and_nothing_is_taken() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            await stage.add_node("node-1", devices=1)
            hard = {"count/resourceclaims.resource.k8s.io": Quantity.parse("0")}
            await stage.client.create(
                ResourceQuota(
                    metadata=ObjectMeta(name="none", namespace="default"),
                    spec=ResourceQuotaSpec(hard=hard),
                )
            )
            await stage.client.patch(
                ResourceQuota,
                "none",
                {"status": {"hard": hard, "used": hard}},
                namespace="default",
                subresource="status",
            )
            await stage.add_pod("train", resources={GPU: "1"})
            assert not await stage.node_of("train")
            assert "exceeded quota: none" in await stage.why_not("train")
            assert await stage.claims() == ()
            await stage.client.delete(ResourceQuota, "none", namespace="default")
            await stage.pass_time(20, steps=20)
            assert await stage.node_of("train") == "node-1"

    run(scenario())


@pytest.mark.parametrize(
    "call",
    [
        "POST resourceclaims",
        "PATCH resourceclaims/status",
        "PATCH pods/status",
        "POST pods/binding",
    ],
)
@pytest.mark.parametrize("how", ["lost", "unsent"])
def test_whatever_is_lost_there_is_one_claim_in_the_end(call: str, how: str) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            await stage.add_node("node-1", devices=1)
            getattr(stage.wire, how).append(call)
            await stage.add_pod("train", resources={GPU: "1"})
            assert not getattr(stage.wire, how), "it happened"
            await stage.pass_time(30, steps=30)
            assert await stage.node_of("train") == "node-1", await stage.why_not("train")
            (claim,) = await special_claims(stage)
            status = (await stage.pod("train")).status.extended_resource_claim_status
            assert status is not None
            assert status.resource_claim_name == claim.metadata.name
            assert len(claim.status.reserved_for) == 1

    run(scenario())


@pytest.mark.parametrize(
    "last",
    [
        "POST resourceclaims",
        "PATCH resourceclaims/status",
        "PATCH pods/status",
        "POST pods/binding",
    ],
)
@pytest.mark.parametrize("arrives", [True, False], ids=["arrived", "lost"])
def test_what_a_scheduler_left_behind_is_deleted_and_made_anew(last: str, arrives: bool) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            await stage.add_node("node-1", devices=1)
            stage.wire.dies_at = (last, arrives)
            await stage.add_pod("train", resources={GPU: "1"})
            assert stage.wire.dead
            await stage.end_scheduler()
            await stage.start_scheduler()
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("train") == "node-1", await stage.why_not("train")
            (claim,) = await special_claims(stage)
            status = (await stage.pod("train")).status.extended_resource_claim_status
            assert status is not None
            assert status.resource_claim_name == claim.metadata.name

    run(scenario())


def test_what_looks_left_behind_is_kept_if_the_pod_was_bound_after_all() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            await stage.add_node("node-1", devices=1)
            with ExitStack() as watches:
                with stage.wire.held("POST pods/binding"):
                    await stage.add_pod("train", resources={GPU: "1"})
                    # The next scheduler does not hear at once what the last one did last.
                    watches.enter_context(stage.traffic.behind("pods"))
                await stage.end_scheduler()
                await stage.start_scheduler()
                await stage.pass_time(3, steps=3)
                assert len(await special_claims(stage)) == 1
            await stage.pass_time(3, steps=3)
            assert await stage.node_of("train") == "node-1"
            (claim,) = await special_claims(stage)
            assert len(claim.status.reserved_for) == 1

    run(scenario())


def test_a_refused_binding_leaves_no_claim() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            await stage.add_node("node-1", devices=1)
            with stage.wire.held("POST pods/binding"):
                await stage.add_pod("train", resources={GPU: "1"})
                assert len(await special_claims(stage)) == 1
                await stage.client.delete(Pod, "train", namespace="default", grace_period_seconds=0)
            await stage.settle()
            assert await special_claims(stage) == []
            await stage.add_pod("next", resources={GPU: "1"})
            assert await stage.node_of("next") == "node-1"

    run(scenario())


def test_drivers_that_refuse_a_device_leave_no_claim() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name=GPU)
            slow = Device(
                name="gpu-0", binding_conditions=("ready",), binding_failure_conditions=("failed",)
            )
            await stage.add_node("node-1", devices=[slow])
            await stage.add_pod("train", resources={GPU: "1"})
            assert not await stage.node_of("train")
            await stage.pass_time(600)
            assert "device binding timeout" in await stage.why_not("train")
            assert await special_claims(stage) == []

    run(scenario())
