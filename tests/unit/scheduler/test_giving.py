"""Devices are written down for one claim and one more pod, unless somebody else wrote first."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import Raw

from dray.api.resource import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    OpaqueDeviceConfiguration,
    ResourceClaim,
)
from dray.api.wire import replace
from dray.errors import Conflict
from dray.scheduler.giving import give
from tests.unit.scheduler.stage import DRIVER, SchedulerStage

RESULT = DeviceRequestAllocationResult(request="gpu", driver=DRIVER, pool="node-1", device="gpu-0")
ALLOCATION = AllocationResult(devices=DeviceAllocationResult(results=(RESULT,)))


def test_a_claim_gets_devices_once_and_one_pod_more_each_time() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            pods = [await stage.add_pod(name) for name in ("a", "b")]
            claim = await stage.add_claim("own")
            once = await give(stage.client, claim, ALLOCATION, pods[0])
            both = await give(stage.client, once, ALLOCATION, pods[1])
            assert both.status.allocation == ALLOCATION
            assert both.spec == claim.spec
            assert [one.name for one in both.status.reserved_for] == ["a", "b"]
            stored = await stage.client.get(ResourceClaim, "own", namespace="default")
            assert stored == both

    asyncio.run(scenario())


def test_who_comes_second_hears_of_it() -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            pod = await stage.add_pod("a")
            claim = await stage.add_claim("own")
            await stage.client.patch(
                ResourceClaim, "own", {"metadata": {"labels": {"x": "y"}}}, namespace="default"
            )
            with pytest.raises(Conflict):
                await give(stage.client, claim, ALLOCATION, pod)
            (stored,) = await stage.claims()
            assert stored.status.allocation is None

    asyncio.run(scenario())


def configured(parameters: bytes) -> AllocationResult:
    opaque = OpaqueDeviceConfiguration(driver=DRIVER, parameters=Raw(parameters))
    config = DeviceAllocationConfiguration(source="FromClaim", opaque=opaque)
    return AllocationResult(devices=DeviceAllocationResult(results=(RESULT,), config=(config,)))


@pytest.mark.parametrize(
    "parameters",
    [b'{"mode":null,"limits":[{"memory":null}]}', b'{"flags":"a\\u0026b","share":1.10}'],
)
def test_parameters_are_given_as_they_were_written(parameters: bytes) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            pod = await stage.add_pod("a")
            claim = await stage.add_claim("own")
            allocation = configured(parameters)
            given = await give(stage.client, claim, allocation, pod)
            assert given.status.allocation == allocation
            assert [one.name for one in given.status.reserved_for] == ["a"]

    asyncio.run(scenario())


@pytest.mark.parametrize("parameters", [b'{"mode":null}', b'{"flags":"a\\u0026b","share":1e2}'])
def test_a_pod_joins_a_claim_however_its_allocation_was_written(parameters: bytes) -> None:
    async def scenario() -> None:
        async with SchedulerStage() as stage:
            pod = await stage.add_pod("a")
            claim = await stage.add_claim("own")
            allocation = configured(parameters)
            status = replace(claim.status, allocation=allocation)
            allocated = await stage.client.update_status(replace(claim, status=status))
            joined = await give(stage.client, allocated, allocation, pod)
            assert joined.status.allocation == allocation
            assert [one.name for one in joined.status.reserved_for] == ["a"]

    asyncio.run(scenario())
