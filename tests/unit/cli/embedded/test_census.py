"""A cluster in numbers."""

from __future__ import annotations

import pytest

from dray.api.core import (
    ContainerState,
    ContainerStateWaiting,
    ContainerStatus,
    Node,
    NodeCondition,
    NodeStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    ResourceHealth,
    ResourceStatus,
)
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    DeviceTaint,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.cli.embedded.census import PENDING_TOLD_MAX, take_census

DRIVER = "gpu.example.com"


def node(name: str, ready: str) -> Node:
    status = NodeStatus(conditions=(NodeCondition(type="Ready", status=ready),))
    return Node(metadata=ObjectMeta(name=name), status=status)


def pod(name: str, phase: str = "Pending", *, node: str = "", **status: object) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name, namespace="ns"),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase, **status),  # type: ignore[arg-type]  # as the test says
    )


def claim(device: str = "", *, used: bool = False, admin: bool = False) -> ResourceClaim:
    result = DeviceRequestAllocationResult(
        driver=DRIVER, pool="n1", device=device, admin_access=admin or None
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    return ResourceClaim(
        status=ResourceClaimStatus(
            allocation=allocation if device else None,
            reserved_for=(ResourceClaimConsumerReference(name="p"),) if used else (),
        )
    )


def slice_(*devices: Device, generation: int = 1) -> ResourceSlice:
    pool = ResourcePool(name="n1", generation=generation)
    return ResourceSlice(spec=ResourceSliceSpec(driver=DRIVER, pool=pool, devices=devices))


TAINTED = Device(name="gpu-1", taints=(DeviceTaint(key="hot", effect="NoSchedule"),))
MARKED = Device(name="gpu-2", taints=(DeviceTaint(key="warm", effect="None"),))


def test_everything_is_counted() -> None:
    sick = ResourceHealth(resource_id="gpu-0", health="Unhealthy")
    statuses = (
        ContainerStatus(
            name="main",
            allocated_resources_status=(ResourceStatus(name="claim:gpu", resources=(sick,)),),
        ),
    )
    census = take_census(
        [node("n1", "True"), node("n2", "Unknown")],
        [
            pod("a", "Running", node="n1", container_statuses=statuses),
            pod("b", "Succeeded", container_statuses=statuses),
            pod("c"),
        ],
        [claim(), claim("gpu-0", used=True), claim("gpu-1"), claim("gpu-2", admin=True)],
        [
            slice_(Device(name="gpu-0"), TAINTED, MARKED, generation=2),
            slice_(Device(name="gpu-9"), generation=1),
        ],
    )
    assert (census.nodes.total, census.nodes.ready) == (2, 1)
    assert census.pods == {"Pending": 1, "Running": 1, "Succeeded": 1}
    assert (census.claims.total, census.claims.allocated, census.claims.in_use) == (4, 3, 1)
    devices = census.devices
    assert (devices.total, devices.in_use, devices.tainted, devices.unhealthy) == (3, 2, 1, 1)


WAITING = ContainerState(waiting=ContainerStateWaiting(reason="ErrImagePull", message="no image"))


def condition(kind: str, reason: str, message: str) -> PodCondition:
    return PodCondition(type=kind, status="False", reason=reason, message=message)


@pytest.mark.parametrize(
    ("waiting", "reason"),
    [
        pytest.param(pod("a"), "not scheduled yet", id="new"),
        pytest.param(
            pod("a", conditions=(condition("PodScheduled", "Unschedulable", "0/2 nodes"),)),
            "0/2 nodes",
            id="unschedulable",
        ),
        pytest.param(
            pod("a", node="n1", container_statuses=(ContainerStatus(name="m", state=WAITING),)),
            "container m: ErrImagePull: no image",
            id="container",
        ),
        pytest.param(
            pod("a", node="n1", conditions=(condition("Ready", "PrepareFailed", "driver away"),)),
            "PrepareFailed: driver away",
            id="condition",
        ),
        pytest.param(pod("a", node="n1"), "starting on n1", id="starting"),
    ],
)
def test_a_pod_that_waits_has_a_reason(waiting: Pod, reason: str) -> None:
    (told,) = take_census([], [waiting], [], []).pending
    assert (told.namespace, told.name, told.reason) == ("ns", "a", reason)


def test_the_list_of_those_who_wait_is_bounded() -> None:
    pods = [pod(f"p{number:03}") for number in range(PENDING_TOLD_MAX + 5)]
    census = take_census([], reversed(pods), [], [])
    assert len(census.pending) == PENDING_TOLD_MAX
    assert census.pending[0].name == "p000"
    assert census.pending_more == 5


def test_those_who_wait_for_the_same_are_told_together() -> None:
    full = (condition("PodScheduled", "Unschedulable", "0/2 nodes"),)
    pods = [pod("a"), *(pod(f"p{number}", conditions=full) for number in range(30))]
    most, other = take_census([], pods, [], []).pending_reasons
    assert (most.reason, most.count) == ("0/2 nodes", 30)
    assert most.pods == ("ns/p0", "ns/p1", "ns/p10")
    assert (other.reason, other.count, other.pods) == ("not scheduled yet", 1, ("ns/a",))
