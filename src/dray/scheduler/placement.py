"""What an attempt to schedule a pod comes to: a place, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dray.api.core import ContainerExtendedResourceRequest
from dray.api.resource import AllocationResult, ResourceClaim
from dray.scheduler.filters.filter import Rejection
from dray.scheduler.pod_info import PodInfo

__all__ = ["ClaimPlacement", "Demand", "Placement", "Refusal", "SpecialClaim"]


class ClaimPlacement(NamedTuple):
    """A claim of the pod, and the devices it is to get unless it has some."""

    claim: ResourceClaim
    allocation: AllocationResult | None = None

    @property
    def allocated(self) -> ResourceClaim:
        """The claim as it will be."""
        if self.allocation is None:
            return self.claim
        status = type(self.claim.status)(
            allocation=self.allocation, reserved_for=self.claim.status.reserved_for
        )
        return type(self.claim)(metadata=self.claim.metadata, spec=self.claim.spec, status=status)


class SpecialClaim(NamedTuple):
    """The claim behind a pod's extended resources, made once it is known what it gets."""

    claim: ResourceClaim  # without a name so far
    mappings: tuple[ContainerExtendedResourceRequest, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a pod wants of the devices of some nodes. Nodes differ if device plugins serve some."""

    claims: tuple[ResourceClaim, ...]  # that have no devices so far
    special: SpecialClaim | None = None  # whose claim is the last of them
    served_resources: frozenset[str] = frozenset()  # extended resources that claims stand for


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the pod goes, and what its claims get there."""

    pod: PodInfo
    node_name: str
    claims: tuple[ClaimPlacement, ...] = ()
    special: SpecialClaim | None = None
    special_allocation: AllocationResult | None = None

    @property
    def special_allocated(self) -> ResourceClaim | None:
        """The claim behind the extended resources as it will be, but for its name."""
        if self.special is None or self.special_allocation is None:
            return None
        return ClaimPlacement(self.special.claim, self.special_allocation).allocated


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the pod goes nowhere for now."""

    message: str
    plugins: frozenset[str]  # who refused: whatever changes their mind gives the pod another try
    rejections: Mapping[str, Rejection] = field(default_factory=dict)  # by node
    misplaced: tuple[ResourceClaim, ...] = ()  # claims whose devices are where the pod cannot go
    leftovers: tuple[ResourceClaim, ...] = ()  # made for the pod by somebody who did not finish
    failed: bool = False  # nobody can say whether it fits: a mistake in the claim, or of ours
