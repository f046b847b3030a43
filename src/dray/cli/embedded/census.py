"""A cluster in numbers: nodes, pods, claims, devices, and what waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from dray.api.core import (
    CONDITION_FALSE,
    CONDITION_TRUE,
    NODE_CONDITION_READY,
    POD_CONDITION_SCHEDULED,
    Node,
    Pod,
)
from dray.api.resource import DeviceID, ResourceClaim, ResourceSlice
from dray.errors import shorten

__all__ = [
    "Census",
    "ClaimCounts",
    "DeviceCounts",
    "NodeCounts",
    "PendingPod",
    "PendingReason",
    "take_census",
]

# The first few say it; `kubectl get pods` has all.
PENDING_TOLD_MAX: Final = 20
PODS_NAMED_MAX: Final = 3
REASON_CHARACTERS_MAX: Final = 300

UNSCHEDULABLE_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})


class _Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Written as JSON for programs."""


class NodeCounts(_Struct, frozen=True):
    total: int
    ready: int


class ClaimCounts(_Struct, frozen=True):
    total: int
    allocated: int
    in_use: int


class DeviceCounts(_Struct, frozen=True):
    total: int
    in_use: int
    tainted: int
    unhealthy: int  # of those in use, as pods that have them are told


class PendingPod(_Struct, frozen=True):
    """A pod that waits, and the first reason it has for that."""

    namespace: str
    name: str
    reason: str


class PendingReason(_Struct, frozen=True):
    """What some pods wait for alike."""

    reason: str
    count: int
    pods: tuple[str, ...]  # the first of them, as namespace/name


class Census(_Struct, frozen=True):
    """All numbers of a cluster."""

    nodes: NodeCounts
    pods: dict[str, int]  # by phase
    claims: ClaimCounts
    devices: DeviceCounts
    pending: tuple[PendingPod, ...]  # the longest waiting first
    pending_more: int  # that are not listed
    pending_reasons: tuple[PendingReason, ...] = ()  # of all that wait, the most common first


def take_census(
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    claims: Iterable[ResourceClaim],
    slices: Iterable[ResourceSlice],
) -> Census:
    """Count everything once."""
    nodes, pods, claims = list(nodes), list(pods), list(claims)
    waiting = sorted(
        (pod for pod in pods if pod.status.phase in ("", "Pending")),
        key=lambda pod: (str(pod.metadata.creation_timestamp), *_name(pod)),
    )
    listed = waiting[:PENDING_TOLD_MAX]
    return Census(
        nodes=NodeCounts(total=len(nodes), ready=sum(map(_ready, nodes))),
        pods=dict(sorted(Counter(pod.status.phase or "Pending" for pod in pods).items())),
        claims=ClaimCounts(
            total=len(claims),
            allocated=sum(claim.status.allocation is not None for claim in claims),
            in_use=sum(bool(claim.status.reserved_for) for claim in claims),
        ),
        devices=_devices(list(slices), claims, pods),
        pending=tuple(PendingPod(**_pending(pod)) for pod in listed),
        pending_more=len(waiting) - len(listed),
        pending_reasons=tuple(_grouped(waiting))[:PENDING_TOLD_MAX],
    )


def _name(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name


def _ready(node: Node) -> bool:
    return any(
        one.type == NODE_CONDITION_READY and one.status == CONDITION_TRUE
        for one in node.status.conditions
    )


def _devices(
    slices: list[ResourceSlice], claims: list[ResourceClaim], pods: list[Pod]
) -> DeviceCounts:
    newest: dict[tuple[str, str], int] = {}
    for one in slices:
        pool = one.spec.driver, one.spec.pool.name
        newest[pool] = max(newest.get(pool, 0), one.spec.pool.generation)
    there: set[DeviceID] = set()
    tainted = 0
    for one in slices:
        spec = one.spec
        if spec.pool.generation < newest[spec.driver, spec.pool.name]:
            continue
        for device in spec.devices or ():
            there.add(DeviceID(spec.driver, spec.pool.name, device.name))
            tainted += any(taint.effect in UNSCHEDULABLE_EFFECTS for taint in device.taints)
    used = {
        DeviceID(result.driver, result.pool, result.device)
        for claim in claims
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
        if not result.admin_access
    }
    return DeviceCounts(
        total=len(there),
        in_use=len(used & there),
        tainted=tainted,
        unhealthy=len(set(_unhealthy(pods))),
    )


def _unhealthy(pods: list[Pod]) -> Iterator[tuple[str, str]]:
    for pod in pods:
        if pod.status.phase in ("Succeeded", "Failed"):
            continue
        for container in pod.status.container_statuses:
            for status in container.allocated_resources_status:
                for each in status.resources:
                    if each.health == "Unhealthy":
                        yield pod.spec.node_name, each.resource_id


def _pending(pod: Pod) -> dict[str, str]:
    namespace, name = _name(pod)
    return {
        "namespace": namespace,
        "name": name,
        "reason": shorten(_reason(pod), characters_max=REASON_CHARACTERS_MAX),
    }


def _grouped(waiting: list[Pod]) -> Iterator[PendingReason]:
    pods: dict[str, list[str]] = {}
    for pod in waiting:
        told = _pending(pod)
        pods.setdefault(told["reason"], []).append(f"{told['namespace']}/{told['name']}")
    for reason, names in sorted(pods.items(), key=lambda item: -len(item[1])):
        yield PendingReason(reason=reason, count=len(names), pods=tuple(names[:PODS_NAMED_MAX]))


def _reason(pod: Pod) -> str:
    """Why a pod does not run yet: not scheduled, or a container that waits."""
    if not pod.spec.node_name:
        for one in pod.status.conditions:
            if one.type == POD_CONDITION_SCHEDULED and one.status == CONDITION_FALSE:
                return one.message or one.reason
        return "not scheduled yet"
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for status in statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.message:
            return f"container {status.name}: {waiting.reason}: {waiting.message}"
    for one in pod.status.conditions:
        if one.status == CONDITION_FALSE and one.message:
            return f"{one.reason}: {one.message}" if one.reason else one.message
    return f"starting on {pod.spec.node_name}"
