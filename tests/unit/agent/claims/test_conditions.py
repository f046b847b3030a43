"""What a claim's status says of devices that could not be prepared."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dray.agent.claims import conditions
from dray.agent.claims.claim_info import ClaimName
from dray.agent.claims.conditions import CONDITION_TYPE, ConditionWriter
from dray.agent.claims.failures import ClaimFailure, DeviceFailure, ErrorClass, PrepareFailed
from dray.agent.claims.manager import ClaimManager
from dray.api.meta import Condition, ObjectMeta
from dray.api.resource import (
    AllocatedDeviceStatus,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dray.api.wire import Time, replace
from dray.client import Client, PatchType
from dray.entropy import SeededEntropy
from dray.errors import Conflict, Forbidden, NotFound, Unavailable
from dray.proto.dra_v1_pb2 import NodePrepareResourceErrorType
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.unit.agent.claims.world import (
    GPU,
    NIC,
    NODE,
    FakeAPI,
    FakeDriver,
    FakePlugins,
    claim,
    failing,
    pod,
    result,
)

NAME = ClaimName("ml", "gpu", "uid-gpu")
TWO = claim(results=[result(GPU, "gpu-0"), result(GPU, "gpu-1"), result(NIC, "nic-0")])


def failure(error_class: ErrorClass, *devices: DeviceFailure) -> ClaimFailure:
    return ClaimFailure(NAME, "no power", GPU, error_class, devices)


class Writer:
    def __init__(self) -> None:
        self.api, self.clock = FakeAPI([TWO]), FakeClock()
        self.events: list[tuple[str, str]] = []
        self.writer = ConditionWriter(
            self.api, self.clock, on_event=lambda *event: self.events.append(event)
        )

    def written(self) -> dict[str, dict[str, Any]]:
        """What is in the claim now, by device."""
        asyncio.run(self.writer.write())
        _, patch, _ = self.api.patches[-1]
        return {device["device"]: device["conditions"][0] for device in patch["status"]["devices"]}


@pytest.mark.parametrize(
    ("error_class", "reason"),
    [
        (ErrorClass.UNKNOWN, "DevicePrepareRetrying"),
        (ErrorClass.TRANSIENT, "DevicePrepareRetrying"),
        (ErrorClass.PERMANENT, "DevicePrepareFailed"),
        (ErrorClass.INVALID_CONFIG, "InvalidDeviceConfig"),
        (ErrorClass.DEVICE_FAILED, "DeviceFailed"),
    ],
)
def test_every_device_of_the_driver_gets_the_reason(error_class: ErrorClass, reason: str) -> None:
    world = Writer()
    world.writer.failed(TWO, [failure(error_class)])
    written = world.written()
    assert {name: one["reason"] for name, one in written.items()} == {
        "gpu-0": reason,
        "gpu-1": reason,
    }
    assert written["gpu-1"] == {
        "type": "dray.dev/Prepared",
        "status": "False",
        "reason": reason,
        "message": "Driver gpu.example.com, device node-1/gpu-1: no power (attempt 1)",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def test_a_device_that_the_driver_blames_is_told_from_the_others() -> None:
    world = Writer()
    blamed = DeviceFailure(NODE, "gpu-1", "fell off the bus", ErrorClass.DEVICE_FAILED)
    world.writer.failed(TWO, [failure(ErrorClass.PERMANENT, blamed)])
    written = world.written()
    assert written["gpu-0"]["reason"] == "OtherDeviceFailed"
    assert written["gpu-1"]["reason"] == "DeviceFailed"
    assert "fell off the bus" in written["gpu-1"]["message"]


def test_attempts_are_counted_and_the_time_is_that_of_the_first() -> None:
    world = Writer()
    for _ in range(3):
        world.writer.failed(TWO, [failure(ErrorClass.TRANSIENT)])
        world.clock.advance(5)
    written = world.written()["gpu-0"]
    assert written["message"].endswith("(attempt 3)")
    assert written["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    # Only the latest is written.
    assert len(world.api.patches) == 1


def test_success_is_said_after_a_failure_only() -> None:
    world = Writer()
    world.writer.prepared(TWO)
    asyncio.run(world.writer.write())
    assert not world.api.patches
    world.writer.failed(TWO, [failure(ErrorClass.TRANSIENT)])
    world.clock.advance(5)
    world.writer.prepared(TWO)
    world.writer.prepared(TWO)
    written = world.written()
    assert set(written) == {"gpu-0", "gpu-1"}
    assert (written["gpu-0"]["status"], written["gpu-0"]["reason"]) == ("True", "Prepared")
    assert written["gpu-0"]["lastTransitionTime"] == "2026-01-01T00:00:05Z"
    world.writer.failed(TWO, [failure(ErrorClass.TRANSIENT)])
    assert world.written()["gpu-0"]["message"].endswith("(attempt 1)")


def test_what_an_agent_before_this_one_said_is_taken_back() -> None:
    said = AllocatedDeviceStatus(
        driver=GPU,
        pool=NODE,
        device="gpu-1",
        conditions=(
            Condition(
                type=CONDITION_TYPE,
                status="False",
                reason="x",
                last_transition_time=Time(FakeClock().now()),
            ),
        ),
    )
    world = Writer()
    world.writer.prepared(replace(TWO, status=replace(TWO.status, devices=(said,))))
    assert {name: one["status"] for name, one in world.written().items()} == {"gpu-1": "True"}


def test_it_is_applied_as_the_agents_own_and_to_this_very_claim() -> None:
    world = Writer()
    world.writer.failed(TWO, [failure(ErrorClass.TRANSIENT)])
    world.written()
    [(name, patch, options)] = world.api.patches
    assert name == "gpu"
    assert patch["metadata"] == {"name": "gpu", "namespace": "ml", "uid": "uid-gpu"}
    assert options == {
        "namespace": "ml",
        "type": PatchType.APPLY,
        "subresource": "status",
        "field_manager": "dray-agent",
        "force": True,
    }


def test_shares_of_a_device_are_told_apart() -> None:
    shared = claim(results=[result(share_id="s1"), result(share_id="s2")])
    world = Writer()
    world.writer.failed(shared, [failure(ErrorClass.TRANSIENT)])
    world.written()
    _, patch, _ = world.api.patches[0]
    assert [device["shareID"] for device in patch["status"]["devices"]] == ["s1", "s2"]


def test_being_forbidden_is_said_once_and_tried_again_much_later() -> None:
    world = Writer()
    world.api.patch_error = Forbidden("nodes may not")
    for _ in range(3):
        world.writer.failed(TWO, [failure(ErrorClass.TRANSIENT)])
        asyncio.run(world.writer.write())
    assert len(world.api.patches) == 1
    world.clock.advance(600)
    world.writer.failed(TWO, [failure(ErrorClass.TRANSIENT)])
    asyncio.run(world.writer.write())
    assert len(world.api.patches) == 2
    [(reason, _)] = world.events
    assert reason == "ClaimConditionsForbidden"


@pytest.mark.parametrize("error", [NotFound("gone"), Conflict("another UID")])
def test_a_claim_that_is_gone_is_forgotten(error: Exception) -> None:
    world = Writer()
    world.api.patch_error = error
    world.writer.failed(TWO, [failure(ErrorClass.TRANSIENT)])
    assert asyncio.run(world.writer.write()) == 0
    assert asyncio.run(world.writer.write()) == 0
    assert len(world.api.patches) == 1


def test_while_the_api_is_away_it_waits() -> None:
    async def scenario() -> None:
        world.api.patch_error = Unavailable("starting")
        task = asyncio.create_task(world.writer.run())
        world.writer.failed(TWO, [failure(ErrorClass.TRANSIENT)])
        await world.api.patched.wait()
        world.api.patched.clear()
        await asyncio.sleep(0)
        world.api.patch_error = None
        world.clock.advance(5)
        await world.api.patched.wait()
        task.cancel()
        await asyncio.wait([task])

    world = Writer()
    asyncio.run(scenario())
    assert len(world.api.patches) == 2


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "CLAIMS_MAX", 3)
    world = Writer()
    for n in range(10):
        world.writer.failed(claim(f"c{n}"), [failure(ErrorClass.TRANSIENT)])
    world.api.add(*(claim(f"c{n}") for n in range(10)))
    world.written()
    assert [name for name, _, _ in world.api.patches] == ["c7", "c8", "c9"]


def test_failures_without_a_driver_say_nothing_of_devices() -> None:
    world = Writer()
    world.writer.failed(TWO, [ClaimFailure(NAME, "not allocated")])
    asyncio.run(world.writer.write())
    assert not world.api.patches


USER = pod("pod-1", "gpu")
SPEC = ResourceClaimSpec(
    devices=DeviceClaim(
        requests=(DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu")),)
    )
)


async def allocated(cluster: Cluster) -> ResourceClaim:
    await cluster.add_namespace("ml")
    created = await cluster.client.create(
        ResourceClaim(metadata=ObjectMeta(name="gpu", namespace="ml"), spec=SPEC)
    )
    return await cluster.client.update_status(replace(created, status=claim().status))


def manager_of(client: Client, driver: FakeDriver, path: Path) -> ClaimManager:
    return ClaimManager(
        client,
        FakePlugins(driver),
        path=path,
        node_name=NODE,
        clock=FakeClock(),
        entropy=SeededEntropy(1),
    )


async def shown(cluster: Cluster) -> list[tuple[str, str]]:
    found = await cluster.client.get(ResourceClaim, "gpu", namespace="ml")
    return [
        (one.type, one.status)
        for device in found.status.devices
        for one in device.conditions or ()
        if (device.driver, device.pool, device.device) == (GPU, NODE, "gpu-0")
    ]


def test_a_real_server_takes_them_beside_those_of_the_driver(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Cluster() as cluster:
            found = await allocated(cluster)
            ready = {
                "type": "Ready",
                "status": "True",
                "reason": "Up",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            await cluster.client.patch(
                ResourceClaim,
                "gpu",
                {
                    "apiVersion": "resource.k8s.io/v1",
                    "kind": "ResourceClaim",
                    "status": {
                        "devices": [
                            {
                                "driver": GPU,
                                "pool": NODE,
                                "device": "gpu-0",
                                "conditions": [ready],
                            }
                        ]
                    },
                },
                namespace="ml",
                type=PatchType.APPLY,
                subresource="status",
                field_manager="the-driver",
            )
            uid = found.metadata.uid
            driver = FakeDriver(GPU)
            driver.errors[uid] = failing("no power", NodePrepareResourceErrorType.TRANSIENT)
            manager = manager_of(cluster.client, driver, tmp_path / "state")
            with pytest.raises(PrepareFailed):
                await manager.prepare(USER)
            assert await manager._conditions.write() == 0
            assert sorted(await shown(cluster)) == [("Ready", "True"), (CONDITION_TYPE, "False")]
            driver.errors.clear()
            await manager.prepare(USER)
            assert await manager._conditions.write() == 0
            assert sorted(await shown(cluster)) == [("Ready", "True"), (CONDITION_TYPE, "True")]

    asyncio.run(scenario())


def test_a_node_that_may_not_write_to_claims_says_so_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Cluster() as cluster:
            found = await allocated(cluster)
            node = cluster.client_of(f"system:node:{NODE}", groups=("system:nodes",))
            writer = ConditionWriter(node, FakeClock(), on_event=lambda *event: said.append(event))
            writer.failed(found, [failure(ErrorClass.TRANSIENT)])
            assert await writer.write() == 0
            assert await shown(cluster) == []

    said: list[tuple[str, str]] = []
    asyncio.run(scenario())
    assert [reason for reason, _ in said] == ["ClaimConditionsForbidden"]
