"""What drivers have said of devices that must be made ready first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dray.api.meta import Condition, ObjectMeta
from dray.api.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from dray.api.wire import Time
from dray.scheduler.binding_conditions import ReadinessState, has_binding_conditions, readiness

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def claim(*reported: Condition, conditions: tuple[str, ...] = ("Attached",)) -> ResourceClaim:
    result = DeviceRequestAllocationResult(
        request="gpu",
        driver="d",
        pool="p",
        device="x",
        binding_conditions=conditions,
        binding_failure_conditions=("Broken",),
    )
    devices = (AllocatedDeviceStatus(driver="d", pool="p", device="x", conditions=reported),)
    return ResourceClaim(
        metadata=ObjectMeta(name="claim", namespace="default"),
        status=ResourceClaimStatus(
            allocation=AllocationResult(
                devices=DeviceAllocationResult(results=(result,)),
                allocation_timestamp=Time(NOW),
            ),
            devices=devices if reported else (),
        ),
    )


def said(kind: str, status: str) -> Condition:
    return Condition(type=kind, status=status, reason="Because", message="it says so")


@pytest.mark.parametrize(
    ("asked", "state"),
    [
        pytest.param(ResourceClaim(), ReadinessState.READY, id="no-devices"),
        pytest.param(claim(conditions=()), ReadinessState.READY, id="no-conditions"),
        pytest.param(claim(), ReadinessState.WAITING, id="nothing-said"),
        pytest.param(claim(said("Attached", "False")), ReadinessState.WAITING, id="not-yet"),
        pytest.param(claim(said("Attached", "True")), ReadinessState.READY, id="ready"),
        pytest.param(
            claim(said("Attached", "True"), said("Broken", "True")),
            ReadinessState.FAILED,
            id="failure-outweighs",
        ),
        pytest.param(
            claim(said("Attached", "True"), conditions=("Attached", "Configured")),
            ReadinessState.WAITING,
            id="one-of-two",
        ),
    ],
)
def test_a_claim_is_ready_when_all_was_said(asked: ResourceClaim, state: ReadinessState) -> None:
    assert readiness(asked, NOW, 600).state is state


def test_time_runs_out_from_when_devices_were_given() -> None:
    assert readiness(claim(), NOW + timedelta(seconds=600), 600).state is ReadinessState.WAITING
    late = readiness(claim(), NOW + timedelta(seconds=601), 600)
    assert late.state is ReadinessState.TIMED_OUT
    assert late.message == "device binding timeout: claim=claim"


def test_a_failure_is_told_in_the_drivers_words() -> None:
    failed = readiness(claim(said("Broken", "True")), NOW, 600)
    assert failed.message == (
        'device binding failed: claim=claim, reason=Because, message="it says so"'
    )


def test_claims_without_conditions_wait_for_nobody() -> None:
    assert has_binding_conditions(claim())
    assert not has_binding_conditions(claim(conditions=()))
