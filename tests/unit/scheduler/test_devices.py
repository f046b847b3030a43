"""The devices of the cluster follow what watches say, and no more than that."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from dray.api.core import Node
from dray.api.features import FeatureGates
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceClass,
    DeviceRequestAllocationResult,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceSlice,
)
from dray.api.wire import replace
from dray.entropy import SeededEntropy
from dray.scheduler.devices import Devices
from tests.unit.scheduler.stage import DRIVER, SchedulerStage, one_device


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 20))


WANTED = ResourceClaim(
    metadata=ObjectMeta(name="wanted", namespace="default", uid="wanted"),
    spec=ResourceClaimSpec(
        devices=DeviceClaim(requests=(one_device(allocation_mode="ExactCount", count=1),))
    ),
)


async def watch(stage: SchedulerStage, gates: FeatureGates | None = None) -> Devices:
    """Devices of their own beside those of the stage's scheduler."""
    devices = Devices(stage.informers, gates or FeatureGates(), SeededEntropy(5), steps_max=10_000)
    stage.informers.of(Node).listen(devices.hear_node)
    await stage.settle()
    return devices


def fitting(devices: Devices) -> tuple[str, ...]:
    return devices.survey((WANTED,)).fitting()


def held(pool: str, device: str) -> ResourceClaim:
    result = DeviceRequestAllocationResult(request="gpu", driver=DRIVER, pool=pool, device=device)
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    return ResourceClaim(
        metadata=ObjectMeta(name="held", namespace="default", uid="held"),
        status=ResourceClaimStatus(allocation=allocation),
    )


def test_slices_nodes_and_classes_come_and_go() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=1)
            devices = await watch(stage)
            assert fitting(devices) == ("node-1",), "what was there before is known"
            await stage.add_node("node-2", devices=1)
            assert fitting(devices) == ("node-1", "node-2")
            await stage.client.delete(ResourceSlice, f"node-1-{DRIVER}-1")
            await stage.settle()
            assert fitting(devices) == ("node-2",)
            await stage.client.delete(Node, "node-2")
            await stage.settle()
            assert fitting(devices) == ()
            await stage.client.delete(DeviceClass, "gpu")
            await stage.settle()
            assert devices.classes == {}

    run(scenario())


def test_what_claims_hold_is_not_offered() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=1)
            devices = await watch(stage)
            devices.add_claim(held("node-1", "gpu-0"))
            assert fitting(devices) == ()
            devices.remove_claim(held("node-1", "gpu-0"))
            assert fitting(devices) == ("node-1",)

    run(scenario())


def test_changes_that_say_nothing_of_devices_change_nothing() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=1)
            devices = await watch(stage)
            before = devices.version
            patch = {"metadata": {"annotations": {"seen": "yes"}}}
            await stage.client.patch(Node, "node-1", patch)
            await stage.client.patch(ResourceSlice, f"node-1-{DRIVER}-1", patch)
            await stage.client.patch(Node, "node-1", {"spec": {"unschedulable": True}})
            await stage.settle()
            assert devices.version == before
            await stage.client.patch(Node, "node-1", {"metadata": {"labels": {"zone": "a"}}})
            await stage.settle()
            assert devices.version > before, "devices may be bound to labels"

    run(scenario())


def test_rules_taint_devices_where_that_is_turned_on() -> None:
    async def scenario() -> None:
        gates = FeatureGates({"DRADeviceTaintRules": True})
        async with SchedulerStage(gates=gates) as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=1)
            off = FeatureGates({"DRADeviceTaintRules": False})
            ruled, unruled = await watch(stage, gates), await watch(stage, off)
            taint = DeviceTaint(key="broken", effect="NoSchedule")
            selector = DeviceTaintSelector(driver=DRIVER)
            rule = DeviceTaintRule(
                metadata=ObjectMeta(name="repair"),
                spec=DeviceTaintRuleSpec(device_selector=selector, taint=taint),
            )
            await stage.client.create(rule)
            await stage.settle()
            assert fitting(ruled) == ()
            assert fitting(unruled) == ("node-1",)
            await stage.client.delete(DeviceTaintRule, "repair")
            await stage.settle()
            assert fitting(ruled) == ("node-1",)

    run(scenario())


def test_a_new_generation_of_a_pool_replaces_the_old_one() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            await stage.add_class()
            await stage.add_node("node-1", devices=1)
            devices = await watch(stage)
            name = f"node-1-{DRIVER}-1"
            slice_ = await stage.client.get(ResourceSlice, name)
            pool = replace(slice_.spec.pool, generation=2)
            spec = replace(slice_.spec, pool=pool, devices=(Device(name="other"),))
            await stage.client.update(replace(slice_, spec=spec))
            await stage.settle()
            devices.add_claim(held("node-1", "gpu-0"))
            assert fitting(devices) == ("node-1",), "it is another device by now"

    run(scenario())
