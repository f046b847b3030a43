"""How much of a node a pod takes, in plain integers: cpu in thousandths, the rest in whole units.

A pod takes what its containers need at the moment they need most and what its claims take of the
node's own resources, or instead what it says it needs as a whole, and its overhead on top; rounded
up once, at the end. For scores a container that says nothing of cpu or memory counts a little, so
that silent pods spread; for filters it counts nothing.

Not here: in-place resizing, which dray's server does not offer: a pod takes what its spec says.
Upstream counterparts: component-helpers' resource/helpers.go, and CalculateResource of the
scheduler's framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from dray.api.core import (
    RESOURCE_CPU,
    RESOURCE_MEMORY,
    Container,
    NodeAllocatableResourceClaimStatus,
    Pod,
    PodSpec,
)
from dray.api.pod_resources import is_pod_level_resource, is_sidecar, sum_requests
from dray.api.quantity import Quantity

__all__ = [
    "SCORED_CPU_DEFAULT",
    "SCORED_MEMORY_DEFAULT",
    "requested_amounts",
    "scored_amounts",
    "whole_units",
]

# What a container that says nothing counts for in scores, as upstream: a tenth of a core, 200 Mi.
SCORED_CPU_DEFAULT: Final = 100
SCORED_MEMORY_DEFAULT: Final = 200 * 2**20

_NANO_PER_MILLI: Final = 1_000_000
_NANO_PER_UNIT: Final = 1_000_000_000


def whole_units(amounts: Mapping[str, Quantity]) -> dict[str, int]:
    """Amounts as integers, rounded up; those of zero are left out."""
    found: dict[str, int] = {}
    for name, amount in amounts.items():
        nano = amount.nano
        if nano:
            found[name] = -(-nano // (_NANO_PER_MILLI if name == RESOURCE_CPU else _NANO_PER_UNIT))
    return found


def requested_amounts(pod: Pod) -> dict[str, int]:
    """What a pod takes of a node."""
    spec = pod.spec
    containers = spec.containers or ()
    if len(containers) == 1 and not spec.init_containers:
        amounts = containers[0].resources.requests
    else:
        amounts = sum_requests(spec)
    claims = pod.status.node_allocatable_resource_claim_statuses
    if spec.resources is None and not spec.overhead and not claims:
        return whole_units(amounts)
    total = dict(amounts)
    if claims:
        _add(total, _claimed(claims))
    if spec.resources is not None:
        whole = spec.resources.requests
        total |= {name: whole[name] for name in whole if is_pod_level_resource(name)}
    _add(total, spec.overhead.items())
    return whole_units(total)


def scored_amounts(pod: Pod, requested: Mapping[str, int]) -> tuple[int, int]:
    """Cpu and memory for scores: every container that says nothing of one counts a default."""
    spec = pod.spec
    containers = spec.containers or ()
    if len(containers) == 1 and not spec.init_containers:
        asked = containers[0].resources.requests
        if RESOURCE_CPU in asked and RESOURCE_MEMORY in asked:
            return requested.get(RESOURCE_CPU, 0), requested.get(RESOURCE_MEMORY, 0)
    return (
        _scored(pod, requested, RESOURCE_CPU, SCORED_CPU_DEFAULT, _NANO_PER_MILLI),
        _scored(pod, requested, RESOURCE_MEMORY, SCORED_MEMORY_DEFAULT, _NANO_PER_UNIT),
    )


def _scored(
    pod: Pod, requested: Mapping[str, int], name: str, default: int, nano_per_unit: int
) -> int:
    spec = pod.spec
    if name in requested and _speaks_for_itself(spec):
        return requested[name]  # its silent containers are covered

    def of(container: Container) -> int:
        asked = container.resources.requests.get(name)
        return default * nano_per_unit if asked is None else asked.nano

    total = sum(map(of, spec.containers or ()))
    sidecars = peak = 0
    for container in spec.init_containers:
        if is_sidecar(container):
            sidecars += of(container)
            peak = max(peak, sidecars)
        else:
            peak = max(peak, sidecars + of(container))
    total = max(total + sidecars, peak)
    for claimed, amount in _claimed(pod.status.node_allocatable_resource_claim_statuses or ()):
        if claimed == name:
            total += amount.nano
    if name in spec.overhead:
        total += spec.overhead[name].nano
    return -(-total // nano_per_unit)


def _speaks_for_itself(spec: PodSpec) -> bool:
    return spec.resources is not None and any(map(is_pod_level_resource, spec.resources.requests))


def _claimed(
    claims: Iterable[NodeAllocatableResourceClaimStatus],
) -> Iterable[tuple[str, Quantity]]:
    """What claims take of the node's own resources, and what using them costs on top."""
    for claim in claims:
        for mapped in claim.mapping:
            if mapped.quantity is not None:
                yield mapped.name, mapped.quantity
        for overhead in claim.overhead:
            if overhead.per_pod is not None:
                yield overhead.name, overhead.per_pod
            if overhead.per_container is not None:
                for _ in claim.containers:
                    yield overhead.name, overhead.per_container


def _add(total: dict[str, Quantity], amounts: Iterable[tuple[str, Quantity]]) -> None:
    for name, amount in amounts:
        total[name] = total[name] + amount if name in total else amount
