"""Devices that nobody uses are freed, and less important pods leave, for a pod that needs room."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from dray.api.core import Event, Node, Pod
from dray.api.resource import ResourceClaim
from dray.scheduler.settings import SchedulerSettings
from tests.unit.scheduler.stage import SchedulerStage


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 20))


async def misplace(stage: SchedulerStage) -> None:
    """A claim with devices of a node that takes no more pods, and that nobody uses."""
    await stage.add_class()
    await stage.add_claim("shared")
    await stage.add_node("node-1", devices=1)
    await stage.add_pod("first", claim="shared")
    (claim,) = await stage.claims()
    await stage.client.patch(Node, "node-1", {"spec": {"unschedulable": True}})
    await stage.client.delete(Pod, "first", namespace="default", grace_period_seconds=0)
    await stage.settle()
    await stage.client.patch(
        ResourceClaim,
        "shared",
        {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}},
        namespace="default",
    )
    await stage.client.patch(
        ResourceClaim,
        "shared",
        {"status": {"allocation": claim.status.allocation}},
        namespace="default",
        subresource="status",
    )
    await stage.settle()


def test_devices_that_nobody_uses_are_freed_and_the_pod_is_told() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await misplace(stage)
            await stage.add_node("bare")
            await stage.add_pod("second", claim="shared")
            await stage.pass_time(1)
            events = (await stage.client.list(Event)).items
            told = [event.message for event in events if event.reason == "FailedScheduling"]
            assert any(text.endswith("deallocation of ResourceClaim completed") for text in told), (
                told
            )
            assert await stage.devices_in_use() == []
            await stage.add_node("node-2", devices=1)
            await stage.pass_time(3, steps=3)
            assert await stage.node_of("second") == "node-2"

    run(scenario())


@pytest.mark.parametrize("how", ["lost", "unsent"])
def test_freeing_devices_is_tried_again_if_that_went_wrong(how: str) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await misplace(stage)
            await stage.add_node("node-2", devices=1)
            getattr(stage.wire, how).append("PATCH resourceclaims/status")
            await stage.add_pod("second", claim="shared")
            assert not getattr(stage.wire, how), "it went wrong"
            await stage.pass_time(10, steps=10)
            assert await stage.node_of("second") == "node-2"

    run(scenario())


def test_devices_that_another_pod_uses_are_left_alone() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_claim("shared")
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("first", claim="shared")
            await stage.client.patch(Node, "node-1", {"spec": {"unschedulable": True}})
            await stage.add_node("node-2", devices=1)
            await stage.add_pod("second", claim="shared")
            await stage.pass_time(5, steps=5)
            said = await stage.why_not("second")
            assert "1 resourceclaim not available on the node" in said
            assert "1 node(s) were unschedulable" in said
            assert await stage.devices_in_use() == [("node-1", "gpu-0")]

    run(scenario())


async def fill(stage: SchedulerStage, *, nodes: int = 1) -> None:
    """Nodes whose cpu is all used, by one pod each."""
    await stage.add_priority("high", 1000)
    for number in range(1, nodes + 1):
        await stage.add_node(f"node-{number}", allocatable={"cpu": "1"})
        await stage.add_pod(f"low-{number}", resources={"cpu": "1"})


async def is_leaving(stage: SchedulerStage, name: str) -> bool:
    return (await stage.pod(name)).metadata.deletion_timestamp is not None


def test_victims_are_told_why_and_by_whom() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await fill(stage)
            urgent = await stage.add_pod(
                "urgent", resources={"cpu": "1"}, priority_class_name="high"
            )
            victim = await stage.pod("low-1")
            condition = next(c for c in victim.status.conditions if c.type == "DisruptionTarget")
            assert condition.reason == "PreemptionByScheduler"
            assert await is_leaving(stage, "low-1")
            await stage.pass_time(1)
            events = (await stage.client.list(Event)).items
            (preempted,) = [event for event in events if event.reason == "Preempted"]
            told = f"Preempted by pod {urgent.metadata.uid} on node node-1"
            assert preempted.message == told

    run(scenario())


def test_nobody_else_has_to_go_while_victims_are_leaving() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await fill(stage, nodes=2)
            await stage.add_pod("urgent", resources={"cpu": "1"}, priority_class_name="high")
            # Something happens that gives it another try.
            await stage.add_node("node-3", allocatable={"cpu": "100m"})
            await stage.pass_time(30, steps=30)
            leaving = [n for n in (1, 2) if await is_leaving(stage, f"low-{n}")]
            assert len(leaving) == 1

    run(scenario())


@pytest.mark.parametrize("how", ["lost", "unsent"])
def test_an_eviction_that_went_wrong_is_tried_again(how: str) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await fill(stage)
            getattr(stage.wire, how).append("DELETE pods")
            await stage.add_pod("urgent", resources={"cpu": "1"}, priority_class_name="high")
            assert not getattr(stage.wire, how), "it went wrong"
            await stage.pass_time(5, steps=5)
            assert await is_leaving(stage, "low-1")
            await stage.client.delete(Pod, "low-1", namespace="default", grace_period_seconds=0)
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("urgent") == "node-1"

    run(scenario())


def test_a_pod_that_was_promised_a_node_which_is_gone_is_promised_nothing() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await fill(stage)
            await stage.add_pod("urgent", resources={"cpu": "1"}, priority_class_name="high")
            assert (await stage.pod("urgent")).status.nominated_node_name == "node-1"
            await stage.client.delete(Node, "node-1")
            await stage.add_node("node-2", allocatable={"cpu": "100m"})
            await stage.pass_time(5, steps=5)
            assert not (await stage.pod("urgent")).status.nominated_node_name

    run(scenario())


def test_what_others_promised_a_pod_is_theirs_to_take_back() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_node("node-1", allocatable={"cpu": "100m"})
            await stage.add_pod("train", resources={"cpu": "1"})
            await stage.client.patch(
                Pod,
                "train",
                {"status": {"nominatedNodeName": "node-2"}},
                namespace="default",
                subresource="status",
            )
            await stage.add_node("node-3", allocatable={"cpu": "200m"})
            await stage.pass_time(5, steps=5)
            assert (await stage.pod("train")).status.nominated_node_name == "node-2"
            await stage.add_node("node-2", allocatable={"cpu": "1"})
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("train") == "node-2"

    run(scenario())


def test_room_that_was_made_for_a_pod_is_not_taken_by_less_important_ones() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_priority("high", 1000)
            await stage.add_node("node-1", allocatable={"cpu": "2"})
            for name in ("low-1", "low-2"):
                await stage.add_pod(name, resources={"cpu": "1"})
            await stage.add_pod("urgent", resources={"cpu": "2"}, priority_class_name="high")
            await stage.add_pod("sneaky", resources={"cpu": "1"})
            await stage.client.delete(Pod, "low-1", namespace="default", grace_period_seconds=0)
            await stage.pass_time(5, steps=5)
            assert not await stage.node_of("sneaky")
            await stage.client.delete(Pod, "low-2", namespace="default", grace_period_seconds=0)
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("urgent") == "node-1"

    run(scenario())


def test_a_scheduler_may_be_told_to_evict_nobody() -> None:
    async def scenario() -> None:
        async with SchedulerStage(settings=SchedulerSettings(preemption=False)) as stage:
            await fill(stage)
            await stage.add_pod("urgent", resources={"cpu": "1"}, priority_class_name="high")
            assert not await is_leaving(stage, "low-1")

    run(scenario())
