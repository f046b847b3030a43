"""Pods get nodes and claims get devices, whatever comes in between."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from dray.api.core import Node, Pod, PodSchedulingGate
from dray.api.resource import ResourceClaim
from tests.unit.scheduler.stage import SchedulerStage, one_device


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 20))


def test_a_pod_goes_where_its_devices_are() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_template("one")
            await stage.add_node("plain")
            await stage.add_node("with-gpu", devices=1)
            pod = await stage.add_pod("train", template="one")
            assert await stage.node_of("train") == "with-gpu"
            (claim,) = await stage.claims()
            assert [one.uid for one in claim.status.reserved_for] == [pod.metadata.uid]
            assert await stage.devices_in_use() == [("with-gpu", "gpu-0")]

    run(scenario())


def test_a_pod_that_does_not_fit_is_told_why_and_tried_when_that_changes() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_template("one")
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("first", template="one")
            await stage.add_pod("second", template="one")
            assert not await stage.node_of("second")
            why = await stage.why_not("second")
            assert why.startswith("0/1 nodes are available: 1 cannot allocate all claims (")
            assert "1 in use by default/first" in why
            await stage.end_pod("first")
            await stage.pass_time(2)
            assert await stage.node_of("second") == "node-1"
            assert len(await stage.devices_in_use()) == 1

    run(scenario())


def test_pods_that_come_at_once_never_get_the_same_device() -> None:
    async def scenario() -> None:
        async with SchedulerStage(second=True) as stage:
            await stage.add_class()
            await stage.add_template("one")
            for number in range(3):
                await stage.add_node(f"node-{number}", devices=4)
            for number in range(12):
                await stage.add_pod(f"pod-{number}", template="one", settle=False)
            await stage.pass_time(30, steps=30)
            used = await stage.devices_in_use()
            assert len(used) == len(set(used)) == 12
            assert all([await stage.node_of(f"pod-{number}") for number in range(12)])

    run(scenario())


def test_pods_share_a_claim_on_the_node_of_the_first() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_claim("shared")
            for name in ("node-1", "node-2"):
                await stage.add_node(name, devices=1)
            for number in range(5):
                await stage.add_pod(f"pod-{number}", claim="shared", settle=False)
            await stage.pass_time(10, steps=10)
            nodes = {await stage.node_of(f"pod-{number}") for number in range(5)}
            assert len(nodes) == 1
            assert "" not in nodes
            (claim,) = await stage.claims()
            assert len(claim.status.reserved_for) == 5

    run(scenario())


def test_a_claim_that_is_where_the_pod_cannot_go_gives_its_devices_back() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_claim("shared")
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("first", claim="shared")
            await stage.client.patch(Node, "node-1", {"spec": {"unschedulable": True}})
            # Reserved for nobody any more, and still allocated: as a scheduler leaves it that died.
            (claim,) = await stage.claims()
            await stage.client.delete(Pod, "first", namespace="default", grace_period_seconds=0)
            await stage.client.patch(
                ResourceClaim,
                "shared",
                {"status": {"allocation": None, "reservedFor": None}},
                namespace="default",
                subresource="status",
            )
            await stage.client.patch(
                ResourceClaim,
                "shared",
                {"status": {"allocation": claim.status.allocation}},
                namespace="default",
                subresource="status",
            )
            await stage.add_node("node-2", devices=1)
            await stage.add_pod("second", claim="shared")
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("second") == "node-2"

    run(scenario())


def test_a_pod_with_no_claims_needs_no_devices() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_node("node-1", allocatable={"cpu": "1"})
            await stage.add_pod("small", resources={"cpu": "600m"})
            await stage.add_pod("large", resources={"cpu": "600m"})
            assert await stage.node_of("small") == "node-1"
            assert await stage.why_not("large") == "0/1 nodes are available: 1 Insufficient cpu."

    run(scenario())


def test_extended_resources_are_served_by_devices() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name="example.com/gpu")
            await stage.add_node("node-1", devices=2)
            await stage.add_pod("train", resources={"example.com/gpu": "2"})
            pod = await stage.pod("train")
            assert pod.spec.node_name == "node-1", await stage.why_not("train")
            status = pod.status.extended_resource_claim_status
            assert status is not None
            (mapping,) = status.request_mappings or ()
            assert (mapping.container_name, mapping.resource_name) == ("main", "example.com/gpu")
            (claim,) = await stage.claims()
            assert claim.metadata.name == status.resource_claim_name
            assert len(await stage.devices_in_use()) == 2
            await stage.add_pod("late", resources={"example.com/gpu": "1"})
            assert not await stage.node_of("late")

    run(scenario())


def test_what_a_claim_asks_for_must_be_known() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_template("one", one_device())
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("train", template="one")
            said = await stage.why_not("train")
            assert "request gpu: device class gpu does not exist" in said
            await stage.add_class()
            await stage.pass_time(2)
            assert await stage.node_of("train") == "node-1"

    run(scenario())


def test_a_more_important_pod_takes_the_devices_of_a_less_important_one() -> None:
    async def scenario() -> None:
        async with SchedulerStage("garbage-collector-controller") as stage:
            await stage.add_class()
            await stage.add_template("one")
            await stage.add_priority("high", 1000)
            await stage.add_node("node-1", devices=2)
            await stage.add_pod("first", template="one")
            await stage.add_pod("second", template="one")
            await stage.add_pod("urgent", template="one", priority_class_name="high")
            urgent = await stage.pod("urgent")
            assert urgent.status.nominated_node_name == "node-1"
            assert "1 pod of lower priority must leave node node-1" in await stage.why_not("urgent")
            leaving = [
                name
                for name in ("first", "second")
                if (await stage.pod(name)).metadata.deletion_timestamp is not None
            ]
            assert len(leaving) == 1
            await stage.client.delete(Pod, leaving[0], namespace="default", grace_period_seconds=0)
            await stage.settle()
            assert await stage.node_of("urgent") == "node-1"
            assert len(await stage.devices_in_use()) == 2

    run(scenario())


def test_nobody_has_to_go_if_that_would_not_help() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_template("one")
            await stage.add_template("three", one_device(count=3))
            await stage.add_priority("high", 1000)
            await stage.add_node("node-1", devices=2)
            await stage.add_pod("first", template="one")
            await stage.add_pod("urgent", template="three", priority_class_name="high")
            assert not (await stage.pod("urgent")).status.nominated_node_name
            assert (await stage.pod("first")).metadata.deletion_timestamp is None

    run(scenario())


# Telling, and keeping quiet ----------------------------------------------------------------------


def test_a_scheduler_with_nothing_to_do_writes_nothing() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_template("one")
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("first", template="one")
            await stage.add_pod("waits", template="one")
            await stage.pass_time(5, steps=5)
            stage.traffic.writes()
            tried = stage.attempts()
            # Nodes say every few seconds that they are well.
            for beat in range(20):
                condition = {"type": "Ready", "status": "True", "reason": f"beat-{beat}"}
                await stage.client.patch(
                    Node, "node-1", {"status": {"conditions": [condition]}}, subresource="status"
                )
                await stage.pass_time(10)
            assert stage.attempts() == tried
            assert stage.traffic.writes() == {}

    run(scenario())


def test_pods_that_wait_are_tried_now_and_then_even_if_nothing_happens() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_node("node-1", allocatable={"cpu": "1"})
            await stage.add_pod("large", resources={"cpu": "2"})
            tried = stage.attempts()
            stage.traffic.writes()
            await stage.pass_time(400, steps=40)
            assert stage.attempts() == tried + 1
            assert stage.traffic.writes() == {}, "there is nothing new to say"

    run(scenario())


def test_a_pod_behind_gates_is_left_alone_until_they_open() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_node("node-1")
            gate = (PodSchedulingGate(name="example.com/wait"),)
            await stage.add_pod("gated", scheduling_gates=gate)
            await stage.pass_time(30)
            pod = await stage.pod("gated")
            assert not pod.spec.node_name
            (condition,) = [c for c in pod.status.conditions if c.type == "PodScheduled"]
            assert (condition.status, condition.reason) == ("False", "SchedulingGated")
            assert condition.message == "Scheduling is blocked due to non-empty scheduling gates"
            await stage.client.patch(
                Pod, "gated", {"spec": {"schedulingGates": None}}, namespace="default"
            )
            await stage.settle()
            assert await stage.node_of("gated") == "node-1"

    run(scenario())


def test_a_pod_whose_claim_is_missing_waits_for_it_in_silence() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=1)
            await stage.add_pod("early", claim="late")
            await stage.pass_time(10)
            assert not await stage.why_not("early"), "as upstream"
            assert stage.attempts() == 0
            await stage.add_claim("late")
            await stage.settle()
            assert await stage.node_of("early") == "node-1"

    run(scenario())


def test_pods_of_other_schedulers_count_and_are_not_touched() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_node("node-1", allocatable={"cpu": "1"})
            await stage.add_pod("theirs", scheduler_name="other", resources={"cpu": "1"})
            assert not await stage.node_of("theirs")
            await stage.bind("theirs", "node-1")
            await stage.add_pod("ours", resources={"cpu": "1"})
            assert "Insufficient cpu" in await stage.why_not("ours")

    run(scenario())


def test_a_node_that_is_promised_and_does_not_fit_is_only_a_hint() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_node("small", allocatable={"cpu": "100m"})
            gate = (PodSchedulingGate(name="example.com/wait"),)
            await stage.add_pod("train", resources={"cpu": "1"}, scheduling_gates=gate)
            await stage.client.patch(
                Pod,
                "train",
                {"status": {"nominatedNodeName": "small"}},
                namespace="default",
                subresource="status",
            )
            await stage.add_node("large")
            await stage.client.patch(
                Pod, "train", {"spec": {"schedulingGates": None}}, namespace="default"
            )
            await stage.settle()
            assert await stage.node_of("train") == "large"

    run(scenario())


def test_without_nodes_pods_wait_for_one_and_are_not_tried_again_and_again() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_pod("early")
            assert await stage.why_not("early") == "no nodes available to schedule pods"
            await stage.pass_time(60, steps=60)
            assert stage.attempts() == 1
            await stage.add_node("node-1")
            await stage.settle()
            assert await stage.node_of("early") == "node-1"

    run(scenario())
