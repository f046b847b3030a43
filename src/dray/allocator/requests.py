"""The requests of claims, one by one, in the form the allocator works with.

An exact request is one want; a prioritized list is one want per alternative. Wants that are
alternatives of one request share a Stage; stages follow each other in the order of claims and
requests. Upstream counterpart: requestData and requestAccessor of the structured allocator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dray.api.quantity import Quantity
from dray.api.resource import (
    DeviceClass,
    DeviceSelector,
    DeviceToleration,
    ResourceClaim,
)

__all__ = ["Stage", "Want", "claim_key"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Want:
    """One exact request, or one alternative of a prioritized list."""

    index: int  # among all wants of the claims, in order
    claim: ResourceClaim
    claim_index: int
    request_index: int
    alternative: int | None  # which entry of firstAvailable; None for an exact request
    name: str  # the request's name, or the alternative's own
    full_name: str  # as results and constraints name it: `request` or `request/alternative`
    parent_name: str  # the request's name, in either case
    device_class: DeviceClass
    selectors: tuple[DeviceSelector, ...]
    tolerations: tuple[DeviceToleration, ...]
    capacity: Mapping[str, Quantity]  # what is wanted of each capacity; may be empty
    derived_attributes: Mapping[str, str]  # fully qualified name → expression
    admin_access: bool
    all_devices: bool  # allocationMode: All
    count: int  # 0 where all devices are wanted

    def named_by(self, names: tuple[str, ...]) -> bool:
        """Whether a constraint or a configuration for these requests is for this one."""
        return not names or self.parent_name in names or self.full_name in names


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One request of one claim: its want, or its alternatives in order of preference."""

    claim_index: int
    request_index: int
    wants: tuple[Want, ...]
    prioritized: bool


def claim_key(claim: ResourceClaim) -> str:
    """How messages name a claim: `namespace/name`."""
    meta = claim.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
