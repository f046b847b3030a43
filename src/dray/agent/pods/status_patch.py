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
    POD_CONDITION_DISRUPTION_TARGET,
    ContainerStatus,
    PodCondition,
    PodStatus,
)
from dray.api.wire import replace

__all__ = ["DEVICE_FAILED", "status_patch", "without_devices"]

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
