"""A claim as it will be."""

from __future__ import annotations

from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from dray.scheduler.placement import ClaimPlacement

CLAIM = ResourceClaim(
    metadata=ObjectMeta(name="claim", uid="1"),
    status=ResourceClaimStatus(reserved_for=(ResourceClaimConsumerReference(uid="pod"),)),
)


def test_a_claim_that_gets_devices_keeps_who_uses_it() -> None:
    given = ClaimPlacement(CLAIM, AllocationResult()).allocated
    assert given.status.allocation == AllocationResult()
    assert given.status.reserved_for == CLAIM.status.reserved_for
    assert given.metadata == CLAIM.metadata


def test_a_claim_that_has_devices_stays_as_it_is() -> None:
    assert ClaimPlacement(CLAIM).allocated is CLAIM
