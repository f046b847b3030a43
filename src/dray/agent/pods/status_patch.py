"""The patch that makes a stored status what it should be: only what differs, only what is ours.

A strategic merge, so that whatever others wrote in between stays. Lists of containers are replaced
as a whole (they have no merge key), conditions are merged by type, addresses are replaced because a
pod's old address is nobody's. Upstream counterpart: pkg/util/pod's PatchPodStatus.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dray.agent.pods.conditions import OWN_TYPES
from dray.api.codec import to_builtins
from dray.api.core import (
    POD_CONDITION_CONTAINERS_READY,
    POD_CONDITION_DISRUPTION_TARGET,
    POD_CONDITION_READY,
    POD_CONDITION_READY_TO_START_CONTAINERS,
    POD_PHASE_PENDING,
    RESOURCE_HEALTH_HEALTHY,
    ContainerStatus,
    PodCondition,
    PodStatus,
)
from dray.api.wire import replace

__all__ = ["DEVICE_FAILED", "is_passing", "status_patch", "without_devices"]

# The reason of a DisruptionTarget that is the node's; others' are left alone.
DEVICE_FAILED: Final = "DeviceFailed"

_PLAIN: Final = {
    "observed_generation": "observedGeneration",
    "phase": "phase",
    "message": "message",
    "reason": "reason",
    "host_ip": "hostIP",
    "pod_ip": "podIP",
}
# Members that say more than how far a pod that starts has come.
_TELLING: Final = (
    "observed_generation",
    "phase",
    "message",
    "reason",
    "host_ip",
    "start_time",
    "init_container_statuses",
    "ephemeral_container_statuses",
)
# Conditions that list in their message what is missing still.
_READINESS: Final = (POD_CONDITION_READY, POD_CONDITION_CONTAINERS_READY)
_CONTAINERS: Final = {
    "init_container_statuses": "initContainerStatuses",
    "container_statuses": "containerStatuses",
    "ephemeral_container_statuses": "ephemeralContainerStatuses",
}
_ADDRESSES: Final = {"host_ips": "hostIPs", "pod_ips": "podIPs"}


def status_patch(stored: PodStatus, wanted: PodStatus) -> dict[str, Any]:
    """The members of `status` to send, structs among them; none if nothing differs."""
    patch: dict[str, Any] = {}
    for name, member in _PLAIN.items():
        value = getattr(wanted, name)
        if value != getattr(stored, name):
            patch[member] = value or None
    if wanted.start_time != stored.start_time and wanted.start_time is not None:
        patch["startTime"] = str(wanted.start_time)
    for name, member in _CONTAINERS.items():
        value = getattr(wanted, name)
        if value != getattr(stored, name):
            patch[member] = value or None
    for name, member in _ADDRESSES.items():
        value = getattr(wanted, name)
        if value != getattr(stored, name):
            patch[member] = [*value, {"$patch": "replace"}]
    conditions = _changed(stored.conditions, wanted.conditions)
    if conditions:
        patch["conditions"] = conditions
    return patch


def is_passing(stored: PodStatus, wanted: PodStatus) -> bool:
    """Whether all that differs is a step of a pod that starts, which nobody acts upon.

    That is: it has its sandbox, an address, devices that are well, containers that are made, or
    some that run while it waits for others. What it waits for is the same.
    """
    if wanted.phase != POD_PHASE_PENDING:
        return False
    if any(getattr(stored, name) != getattr(wanted, name) for name in _TELLING):
        return False
    before = {condition.type: condition.status for condition in stored.conditions}
    return all(
        change["type"] == POD_CONDITION_READY_TO_START_CONTAINERS
        or (change["type"] in _READINESS and before.get(change["type"]) == change["status"])
        for change in _changed(stored.conditions, wanted.conditions)
    ) and _are_starting(stored.container_statuses, wanted.container_statuses)


def _are_starting(stored: Sequence[ContainerStatus], wanted: Sequence[ContainerStatus]) -> bool:
    """Whether containers are as they were, wait for the same as before, or do not any more."""
    if len(stored) != len(wanted):
        return False
    return all(
        one == other
        or (
            one.state.waiting is not None
            and (one.state == other.state or other.state.running is not None)
            and one.last_state == other.last_state
            and _are_well(other)
        )
        for one, other in zip(stored, wanted, strict=True)
    )


def _are_well(status: ContainerStatus) -> bool:
    return all(
        device.health == RESOURCE_HEALTH_HEALTHY
        for resource in status.allocated_resources_status
        for device in resource.resources
    )


def without_devices(status: PodStatus) -> PodStatus:
    """The status without the health of devices."""

    def bare(statuses: Sequence[ContainerStatus]) -> tuple[ContainerStatus, ...]:
        return tuple(replace(one, allocated_resources_status=()) for one in statuses)

    return replace(
        status,
        init_container_statuses=bare(status.init_container_statuses),
        container_statuses=bare(status.container_statuses),
    )


def _changed(
    stored: Sequence[PodCondition], wanted: Sequence[PodCondition]
) -> list[dict[str, Any]]:
    known = {condition.type: condition for condition in stored}
    changed = []
    for condition in wanted:
        before = known.get(condition.type)
        if not _is_own(condition) or before == condition:
            continue
        # Merging keeps members that are not sent: an old reason has to be taken back.
        gone = {} if before is None else dict.fromkeys(to_builtins(before))
        changed.append({**gone, **to_builtins(condition)})
    return changed


def _is_own(condition: PodCondition) -> bool:
    return condition.type in OWN_TYPES or (
        condition.type == POD_CONDITION_DISRUPTION_TARGET and condition.reason == DEVICE_FAILED
    )
