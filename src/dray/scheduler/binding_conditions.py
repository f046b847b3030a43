"""Whether drivers have said that a claim's devices can be used now.

A device may have conditions that have to become true before a pod is bound to it, and others that,
once true, mean that it will never be. Drivers report them in the claim's status. Pure: the time is
an argument. Upstream counterpart: isClaimReadyForBinding and isClaimTimeout of the plugin.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from dray.api.core import CONDITION_TRUE
from dray.api.resource import (
    AllocatedDeviceStatus,
    DeviceRequestAllocationResult,
    ResourceClaim,
)

__all__ = ["Readiness", "ReadinessState", "has_binding_conditions", "readiness"]


class ReadinessState(Enum):
    """How far a claim's devices are."""

    READY = "Ready"
    WAITING = "Waiting"
    FAILED = "Failed"
    TIMED_OUT = "TimedOut"


class Readiness(NamedTuple):
    """How far a claim's devices are, and why."""

    state: ReadinessState
    message: str = ""  # of what failed, or took too long


def has_binding_conditions(claim: ResourceClaim) -> bool:
    """Whether a driver has to say something before a pod may be bound."""
    allocation = claim.status.allocation
    return allocation is not None and any(
        result.binding_conditions for result in allocation.devices.results
    )


def readiness(claim: ResourceClaim, now: datetime, timeout_seconds: float) -> Readiness:
    """What drivers have said so far of the devices that a claim has."""
    allocation = claim.status.allocation
    if allocation is None or not has_binding_conditions(claim):
        return Readiness(ReadinessState.READY)
    name = claim.metadata.name
    waiting = False
    for result in allocation.devices.results:
        if not result.binding_conditions:
            continue
        conditions = {
            condition.type: condition
            for status in _statuses(claim, result)
            for condition in status.conditions or ()
        }
        for kind in result.binding_failure_conditions:
            found = conditions.get(kind)
            if found is not None and found.status == CONDITION_TRUE:
                return Readiness(
                    ReadinessState.FAILED,
                    f"device binding failed: claim={name}, reason={found.reason}, "
                    f'message="{found.message}"',
                )
        for kind in result.binding_conditions:
            found = conditions.get(kind)
            if found is None or found.status != CONDITION_TRUE:
                waiting = True
    if not waiting:
        return Readiness(ReadinessState.READY)
    since = allocation.allocation_timestamp
    if since is not None and since.instant + timedelta(seconds=timeout_seconds) < now:
        return Readiness(ReadinessState.TIMED_OUT, f"device binding timeout: claim={name}")
    return Readiness(ReadinessState.WAITING)


def _statuses(
    claim: ResourceClaim, result: DeviceRequestAllocationResult
) -> list[AllocatedDeviceStatus]:
    """What is reported of a device. Shares of it become ready together."""
    wanted = (result.driver, result.pool, result.device)
    return [one for one in claim.status.devices if (one.driver, one.pool, one.device) == wanted]
