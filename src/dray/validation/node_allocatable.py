"""What a pod's claims take of its node's own resources (cpu, memory, huge pages).

The scheduler writes this into the pod's status. Hand-written rules say what the entries mean;
declared ones, that nothing is missing or there twice, and those look only at what changed.
Upstream counterparts: validateNodeAllocatableResourceClaimStatus in pkg/apis/core/validation, and
the schema of NodeAllocatableResourceClaimStatus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from dray.api.core import (
    NodeAllocatableMappedResources,
    NodeAllocatableOverheadResources,
    NodeAllocatableResourceClaimStatus,
    PodSpec,
    PodStatus,
)
from dray.api.equality import semantically_equal
from dray.api.pod_resources import is_node_allocatable
from dray.api.quantity import Quantity
from dray.validation.findings import Findings
from dray.validation.rules import declare_unique

__all__ = ["check_node_allocatable", "declare_node_allocatable"]

_PATH: Final = "status.nodeAllocatableResourceClaimStatuses"

T = TypeVar("T")


def check_node_allocatable(found: Findings, status: PodStatus, spec: PodSpec) -> None:
    """The hand-written rules."""
    named = {claim.resource_claim_name for claim in spec.resource_claims}
    named |= {claim.resource_claim_name for claim in status.resource_claim_statuses or ()}
    for index, claim in enumerate(status.node_allocatable_resource_claim_statuses or ()):
        if not claim.resource_claim_name:
            continue
        at = f"{_PATH}[{index}]"
        if claim.resource_claim_name not in named:
            detail = "no mapping found in pod reference"
            found.invalid(f"{at}.resourceClaimName", claim.resource_claim_name, detail)
        for place, mapped in enumerate(claim.mapping):
            where = f"{at}.mapping[{place}]"
            _check_name(found, mapped.name, where)
            _check_not_negative(found, mapped.quantity, f"{where}.quantity")
        for place, overhead in enumerate(claim.overhead):
            where = f"{at}.overhead[{place}]"
            _check_name(found, overhead.name, where)
            if overhead.per_pod is None and overhead.per_container is None:
                detail = "at least one of perPod or perContainer must be set"
                found.invalid(where, "", detail)
            _check_not_negative(found, overhead.per_pod, f"{where}.perPod")
            _check_not_negative(found, overhead.per_container, f"{where}.perContainer")


def _check_name(found: Findings, name: str, path: str) -> None:
    if not is_node_allocatable(name):
        found.invalid(f"{path}.name", name, "must be a node allocatable resource name")


def _check_not_negative(found: Findings, amount: Quantity | None, path: str) -> None:
    if amount is not None and amount.sign < 0:
        found.invalid(path, str(amount), "must be non-negative")


def declare_node_allocatable(found: Findings, new: PodStatus, old: PodStatus | None) -> None:
    """The declared rules, which hold for every write of a pod."""
    stored = () if old is None else old.node_allocatable_resource_claim_statuses or ()
    _declare_list(
        found,
        new.node_allocatable_resource_claim_statuses or (),
        stored,
        lambda status: status.resource_claim_name,
        _declare_status,
        _PATH,
    )


def _declare_list(
    found: Findings,
    new: Sequence[T],
    old: Sequence[T],
    key: Callable[[T], str],
    declare: Callable[[Findings, T, T | None, str], None],
    path: str,
) -> None:
    """A list whose items are known by a key: each once, and the changed ones in themselves."""
    if semantically_equal(new, old):
        return
    declare_unique(found, new, map(key, new), path)
    for index, item in enumerate(new):
        stored = next((other for other in old if key(other) == key(item)), None)
        if stored is None or not semantically_equal(item, stored):
            declare(found, item, stored, f"{path}[{index}]")


def _declare_status(
    found: Findings,
    new: NodeAllocatableResourceClaimStatus,
    old: NodeAllocatableResourceClaimStatus | None,
    path: str,
) -> None:
    # An item is compared with the stored one of the same name, so a name never changes.
    if old is None and not new.resource_claim_name:
        found.required(f"{path}.resourceClaimName")
    if old is None or new.containers != old.containers:
        declare_unique(found, new.containers, new.containers, f"{path}.containers")
    _declare_list(
        found,
        new.mapping,
        old.mapping if old is not None else (),
        lambda mapped: mapped.name,
        _declare_mapped,
        f"{path}.mapping",
    )
    _declare_list(
        found,
        new.overhead,
        old.overhead if old is not None else (),
        lambda overhead: overhead.name,
        _declare_overhead,
        f"{path}.overhead",
    )


def _declare_mapped(
    found: Findings,
    new: NodeAllocatableMappedResources,
    old: NodeAllocatableMappedResources | None,
    path: str,
) -> None:
    if old is None and not new.name:
        found.required(f"{path}.name")
    if new.quantity is None:
        found.required(f"{path}.quantity")


def _declare_overhead(
    found: Findings,
    new: NodeAllocatableOverheadResources,
    old: NodeAllocatableOverheadResources | None,
    path: str,
) -> None:
    if old is None and not new.name:
        found.required(f"{path}.name")
