"""What was decided is stored whole, or not at all, whoever else writes and whatever is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any

import pytest

from dray.api.core import Event, Pod, PodSchedulingGate
from dray.api.meta import Condition
from dray.api.resource import AllocatedDeviceStatus, Device, ResourceClaim, ResourceSlice
from dray.api.wire import Time
from dray.scheduler.settings import SchedulerSettings
from tests.unit.scheduler.stage import DRIVER, SchedulerStage


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 20))


async def add_basics(stage: SchedulerStage, *, nodes: int = 1, devices: int = 1) -> None:
    await stage.add_class()
    await stage.add_template("one")
    for number in range(1, nodes + 1):
        await stage.add_node(f"node-{number}", devices=devices)


# Answers that are lost ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    ["PUT resourceclaims", "PATCH resourceclaims/status", "POST pods/binding"],
)
def test_a_write_whose_answer_is_lost_is_done_once(call: str) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage, devices=2)
            await stage.add_claim("own")
            stage.wire.lost.append(call)
            pod = await stage.add_pod("train", claim="own")
            assert not stage.wire.lost, "it was lost"
            await stage.pass_time(3, steps=3)
            assert await stage.node_of("train") == "node-1"
            (claim,) = await stage.claims()
            assert [one.uid for one in claim.status.reserved_for] == [pod.metadata.uid]
            assert len(await stage.devices_in_use()) == 1
            events = (await stage.client.list(Event)).items
            assert "FailedScheduling" not in [event.reason for event in events]

    run(scenario())


@pytest.mark.parametrize("call", ["PATCH resourceclaims/status", "POST pods/binding"])
@pytest.mark.parametrize("times", [1, 20], ids=["once", "for long"])
def test_a_server_that_fails_after_the_fact_is_asked_again(call: str, times: int) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage, devices=2)
            await stage.add_claim("own")
            stage.wire.failing[call] = times
            pod = await stage.add_pod("train", claim="own")
            await stage.pass_time(60, steps=60)
            assert await stage.node_of("train") == "node-1"
            (claim,) = await stage.claims()
            assert [one.uid for one in claim.status.reserved_for] == [pod.metadata.uid]
            assert len(await stage.devices_in_use()) == 1

    run(scenario())


def test_devices_are_nobody_elses_while_it_is_not_known_who_has_them() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage)
            with stage.traffic.behind("resourceclaims"):
                stage.wire.lost += ["PATCH resourceclaims/status", "GET resourceclaims"]
                await stage.add_claim("first")
                await stage.add_claim("second")
            await stage.settle()
            with stage.traffic.behind("resourceclaims"):
                await stage.add_pod("first", claim="first")
                await stage.add_pod("second", claim="second")
                await stage.pass_time(0.5)
                used = await stage.devices_in_use()
                assert used == [("node-1", "gpu-0")]
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("first") == "node-1"
            assert not await stage.node_of("second")
            assert await stage.devices_in_use() == [("node-1", "gpu-0")]

    run(scenario())


# Other writers -----------------------------------------------------------------------------------


def test_a_claim_that_changed_meanwhile_is_read_again() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage)
            await stage.add_claim("shared")
            with stage.traffic.behind("resourceclaims"):
                patch = {"metadata": {"labels": {"touched": "yes"}}}
                await stage.client.patch(ResourceClaim, "shared", patch, namespace="default")
                await stage.add_pod("train", claim="shared")
                assert await stage.node_of("train") == "node-1"
            await stage.settle()
            (claim,) = await stage.claims()
            assert claim.metadata.labels == {"touched": "yes"}

    run(scenario())


def test_a_claim_that_somebody_else_allocated_meanwhile_is_left_to_them() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage, nodes=2)
            await stage.add_claim("example")
            await stage.add_pod("example", claim="example")
            (example,) = await stage.claims()
            assert example.status.allocation is not None
            taken = await stage.node_of("example")
            await stage.client.delete(Pod, "example", namespace="default", grace_period_seconds=0)
            await stage.client.delete(ResourceClaim, "example", namespace="default")
            await stage.add_claim("shared")
            with stage.traffic.behind("resourceclaims"):
                await stage.client.patch(
                    ResourceClaim,
                    "shared",
                    {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}},
                    namespace="default",
                )
                await stage.client.patch(
                    ResourceClaim,
                    "shared",
                    {"status": {"allocation": example.status.allocation}},
                    namespace="default",
                    subresource="status",
                )
                await stage.add_pod("train", claim="shared")
                said = await stage.why_not("train")
                assert "claim default/shared got allocated elsewhere in the meantime" in said
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("train") == taken
            assert len(await stage.devices_in_use()) == 1

    run(scenario())


def test_a_claim_that_is_deleted_meanwhile_gives_its_devices_back() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage)
            await stage.add_claim("shared")
            with stage.traffic.behind("resourceclaims"):
                await stage.client.delete(ResourceClaim, "shared", namespace="default")
                await stage.add_pod("train", claim="shared")
                assert not await stage.node_of("train")
            await stage.settle()
            await stage.add_pod("other", template="one")
            assert await stage.node_of("other") == "node-1"

    run(scenario())


def test_a_pod_that_is_deleted_while_it_is_bound_leaves_nothing() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage)
            await stage.add_claim("shared")
            gate = (PodSchedulingGate(name="example.com/wait"),)
            await stage.add_pod("train", claim="shared", scheduling_gates=gate)
            await stage.client.patch(
                Pod, "train", {"spec": {"schedulingGates": None}}, namespace="default"
            )
            # The scheduler hears of this first, and the pod is gone when it comes to bind it.
            with stage.wire.held("POST pods/binding"):
                await stage.settle()
                await stage.client.delete(Pod, "train", namespace="default", grace_period_seconds=0)
            await stage.pass_time(3, steps=3)
            (claim,) = await stage.claims()
            assert claim.status.reserved_for == ()
            assert claim.status.allocation is None, "the controller saw that nobody uses it"
            await stage.add_pod("other", template="one")
            assert await stage.node_of("other") == "node-1"

    run(scenario())


def test_a_pod_that_somebody_else_bound_is_left_to_them() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_node("node-1", allocatable={"cpu": "1"})
            with stage.wire.held("POST pods/binding"):
                await stage.add_pod("train", resources={"cpu": "1"})
                await stage.add_node("node-2", allocatable={"cpu": "1"})
                await stage.bind("train", "node-2")
                await stage.settle()
            await stage.pass_time(30, steps=30)
            assert await stage.node_of("train") == "node-2"
            await stage.add_pod("next", resources={"cpu": "1"})
            assert await stage.node_of("next") == "node-1"
            await stage.add_pod("last", resources={"cpu": "1"})
            assert "2 Insufficient cpu" in await stage.why_not("last")

    run(scenario())


@pytest.mark.parametrize("how", ["deleted", "ended"])
def test_a_pod_that_came_and_went_unseen_takes_nothing_of_its_node(how: str) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage)
            with ExitStack() as watches:
                with stage.wire.held("POST pods/binding"):
                    await stage.add_pod("train", template="one", resources={"cpu": "3"})
                    watches.enter_context(stage.traffic.behind("pods", expires=True))
                await stage.settle()
                assert await stage.node_of("train") == "node-1"
                if how == "ended":
                    await stage.end_pod("train")
                else:
                    await stage.client.delete(
                        Pod, "train", namespace="default", grace_period_seconds=0
                    )
                await stage.add_pod("other")
            await stage.pass_time(10, steps=10)
            await stage.add_pod("next", template="one", resources={"cpu": "3"})
            await stage.pass_time(10, steps=10)
            assert await stage.node_of("next") == "node-1", await stage.why_not("next")

    run(scenario())


def test_what_a_pod_that_was_not_bound_would_have_taken_is_others() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage)
            with stage.wire.held("POST pods/binding"):
                await stage.add_pod("first", template="one", resources={"cpu": "3"})
                await stage.add_pod("waits", resources={"cpu": "3"})
                await stage.add_pod("waits-too", template="one")
                assert "Insufficient cpu" in await stage.why_not("waits")
                await stage.client.delete(Pod, "first", namespace="default", grace_period_seconds=0)
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("waits") == "node-1"
            assert await stage.node_of("waits-too") == "node-1"

    run(scenario())


def test_devices_that_another_claim_got_first_are_looked_for_elsewhere() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage, devices=2)
            for name in ("own", "other"):
                await stage.add_claim(name)
            with stage.traffic.behind("resourceclaims"):
                await allocate(stage, "other", "gpu-0")
                stage.traffic.calls.clear()
                await stage.add_pod("train", claim="own")
                said = await stage.why_not("train")
                assert said.endswith(
                    f"device {DRIVER}/node-1/gpu-0 is already allocated to claim default/other"
                )
                assert stage.traffic.calls["PATCH resourceclaims/status"] == 1
                assert stage.traffic.calls["GET resourceclaims"] == 0
                # Nobody is told of the other claim: the same is tried again, ever more seldom.
                await stage.pass_time(60, steps=60)
                assert stage.traffic.calls["PATCH resourceclaims/status"] < 12
            await stage.pass_time(11, steps=11)
            assert await stage.node_of("train") == "node-1"
            assert await stage.devices_in_use() == [("node-1", "gpu-0"), ("node-1", "gpu-1")]

    run(scenario())


def test_devices_that_another_claim_got_first_are_waited_for() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage)
            for name in ("own", "other"):
                await stage.add_claim(name)
            with stage.traffic.behind("resourceclaims"):
                await allocate(stage, "other", "gpu-0")
                await stage.add_pod("train", claim="own")
            await stage.pass_time(11, steps=11)
            assert "1 in use by default/other" in await stage.why_not("train")
            await allocate(stage, "other")
            await stage.pass_time(11, steps=11)
            assert await stage.node_of("train") == "node-1"

    run(scenario())


def test_extended_resources_that_another_claim_got_first_are_looked_for_elsewhere() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class(extended_resource_name="example.com/gpu")
            await stage.add_node("node-1", devices=2)
            await stage.add_claim("other")
            with stage.traffic.behind("resourceclaims"):
                await allocate(stage, "other", "gpu-0")
                await stage.add_pod("train", resources={"example.com/gpu": "1"})
                assert "already allocated to claim default/other" in await stage.why_not("train")
                assert [claim.metadata.name for claim in await stage.claims()] == ["other"]
            await stage.pass_time(11, steps=11)
            assert await stage.node_of("train") == "node-1"
            assert await stage.devices_in_use() == [("node-1", "gpu-0"), ("node-1", "gpu-1")]
            assert len(await stage.claims()) == 2

    run(scenario())


async def allocate(stage: SchedulerStage, name: str, *devices: str) -> None:
    """Give a claim devices of the first node, as another scheduler would, or take them back."""
    given = [
        {"request": "gpu", "driver": DRIVER, "pool": "node-1", "device": device}
        for device in devices
    ]
    await stage.client.patch(
        ResourceClaim,
        name,
        {"status": {"allocation": {"devices": {"results": given}} if given else None}},
        namespace="default",
        subresource="status",
    )
    await stage.settle()


@pytest.mark.parametrize("heard", ["before", "after"])
def test_a_pod_that_somebody_else_bound_keeps_its_claims(heard: str) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage)
            await stage.add_claim("own")
            with ExitStack() as watches:
                with stage.wire.held("POST pods/binding"):
                    pod = await stage.add_pod("train", claim="own")
                    if heard == "after":
                        watches.enter_context(stage.traffic.behind("pods"))
                    await stage.bind("train", "node-1")
                    await stage.settle()
                await stage.settle()
            await stage.pass_time(30, steps=30)
            (claim,) = await stage.claims()
            assert [one.uid for one in claim.status.reserved_for] == [pod.metadata.uid]
            scheduled = [
                (each.status, each.reason)
                for each in (await stage.pod("train")).status.conditions
                if each.type == "PodScheduled"
            ]
            assert scheduled == [("True", "")]

    run(scenario())


# Binding conditions ------------------------------------------------------------------------------


def slow_device(name: str) -> Device:
    return Device(
        name=name,
        binding_conditions=("example.com/attached",),
        binding_failure_conditions=("example.com/failed",),
    )


async def report(stage: SchedulerStage, condition: str) -> None:
    """What the driver says of the devices of the only claim that has some."""
    for claim in await stage.claims():
        if claim.status.allocation is None:
            continue
        statuses = [
            AllocatedDeviceStatus(
                driver=result.driver,
                pool=result.pool,
                device=result.device,
                conditions=(
                    Condition(
                        type=condition,
                        status="True",
                        reason="Said",
                        message="by the driver",
                        last_transition_time=Time(stage.clock.now()),
                    ),
                ),
            )
            for result in claim.status.allocation.devices.results
        ]
        await stage.client.patch(
            ResourceClaim,
            claim.metadata.name,
            {"status": {"devices": statuses}},
            namespace="default",
            subresource="status",
        )
    await stage.settle()


async def add_slow(stage: SchedulerStage, devices: int = 1) -> None:
    await stage.add_class()
    await stage.add_template("one")
    await stage.add_node("node-1", devices=[slow_device(f"gpu-{n}") for n in range(devices)])


async def reasons(stage: SchedulerStage) -> list[str]:
    await stage.pass_time(1)
    return [event.reason for event in (await stage.client.list(Event)).items]


def test_a_pod_is_bound_once_drivers_say_that_its_devices_are_ready() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_slow(stage)
            await stage.add_pod("train", template="one")
            assert not await stage.node_of("train")
            (claim,) = await stage.claims()
            assert claim.status.allocation is not None
            assert claim.status.allocation.allocation_timestamp is not None
            assert "BindingConditionsPending" in await reasons(stage)
            await report(stage, "example.com/attached")
            assert await stage.node_of("train") == "node-1"
            told = stage.scheduler.metrics().decode()
            assert (
                "scheduler_dra_bindingconditions_allocations_total"
                '{profile="default-scheduler",status="success"} 1' in told
            )

    run(scenario())


def test_a_device_that_cannot_be_made_ready_is_given_back_for_another() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_slow(stage)
            await stage.add_pod("train", template="one")
            await report(stage, "example.com/failed")
            assert "device binding failed: claim=" in await stage.why_not("train")
            (claim,) = await stage.claims()
            assert claim.status.reserved_for == ()
            # The driver takes the device away, and there is another.
            await stage.add_node("node-2", devices=1)
            await stage.client.delete(ResourceSlice, f"node-1-{DRIVER}-1")
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("train") == "node-2"
            assert await stage.devices_in_use() == [("node-2", "gpu-0")]
            (claim,) = await stage.claims()
            assert claim.status.devices == ()

    run(scenario())


def test_drivers_that_say_nothing_are_waited_for_so_long_and_no_longer() -> None:
    async def scenario() -> None:
        settings = SchedulerSettings(binding_timeout_seconds=60)
        async with SchedulerStage(settings=settings) as stage:
            await add_slow(stage)
            await stage.add_pod("train", template="one")
            await stage.pass_time(59)
            assert not await stage.why_not("train")
            await stage.pass_time(1)
            assert "device binding timeout" in await stage.why_not("train")
            await stage.add_node("node-2", devices=1)
            await stage.client.delete(ResourceSlice, f"node-1-{DRIVER}-1")
            await stage.pass_time(10, steps=10)
            assert await stage.node_of("train") == "node-2"

    run(scenario())


def test_pods_that_wait_for_drivers_keep_nobody_else_waiting() -> None:
    async def scenario() -> None:
        async with SchedulerStage(settings=SchedulerSettings(bindings_max=2)) as stage:
            await add_slow(stage, devices=3)
            for number in range(3):
                await stage.add_pod(f"slow-{number}", template="one")
            await stage.add_pod("plain")
            assert await stage.node_of("plain") == "node-1"
            await report(stage, "example.com/attached")
            for number in range(3):
                assert await stage.node_of(f"slow-{number}") == "node-1"

    run(scenario())


# Schedulers that end -----------------------------------------------------------------------------


def test_a_scheduler_that_ends_waits_for_no_driver_and_leaves_no_reservation() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_slow(stage)
            await stage.add_pod("train", template="one")
            await stage.end_scheduler()
            (claim,) = await stage.claims()
            assert claim.status.reserved_for == ()
            assert not await stage.why_not("train")
            await report(stage, "example.com/attached")
            await stage.start_scheduler()
            assert await stage.node_of("train") == "node-1"
            assert len(await stage.devices_in_use()) == 1

    run(scenario())


@pytest.mark.parametrize(
    "last", ["PUT resourceclaims", "PATCH resourceclaims/status", "POST pods/binding"]
)
@pytest.mark.parametrize("arrives", [True, False], ids=["arrived", "lost"])
def test_a_scheduler_that_dies_between_writes_leaves_nothing_stuck(
    last: str, arrives: bool
) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await add_basics(stage)
            await stage.add_claim("own")
            stage.wire.dies_at = (last, arrives)
            await stage.add_pod("train", claim="own")
            assert stage.wire.dead
            await stage.end_scheduler()
            await stage.start_scheduler()
            assert await stage.node_of("train") == "node-1"
            (claim,) = await stage.claims()
            assert len(claim.status.reserved_for) == 1
            await stage.end_pod("train")
            await stage.add_pod("next", template="one")
            await stage.pass_time(5, steps=5)
            assert await stage.node_of("next") == "node-1"

    run(scenario())
