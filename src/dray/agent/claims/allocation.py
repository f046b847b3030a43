"""What an allocated claim means for a node, before any driver was called. Pure.

Upstream counterpart: newClaimInfoFromClaim in pkg/kubelet/cm/dra/claiminfo.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dray.agent.claims.claim_info import ClaimInfo, ClaimName, PreparedDevice
from dray.api.resource import DeviceRequestAllocationResult, ResourceClaim

__all__ = ["adopted_claim", "allocated_claim", "name_of"]

_ALL = "*"


def name_of(claim: ResourceClaim) -> ClaimName:
    return ClaimName(claim.metadata.namespace, claim.metadata.name, claim.metadata.uid)


def allocated_claim(claim: ResourceClaim) -> ClaimInfo | None:
    """The entry of a claim that nobody uses yet; None while it is not allocated."""
    results = _results(claim)
    if results is None:
        return None
    by_driver = _by_driver(results)
    return ClaimInfo(
        claim=name_of(claim),
        drivers=dict.fromkeys(by_driver, ()),
        skipped_operations={
            driver: skipped
            for driver, mine in by_driver.items()
            if (skipped := _skipped_operations(mine))
        },
    )


def adopted_claim(claim: ResourceClaim, pod_uid: str) -> ClaimInfo | None:
    """The entry of a claim that a pod used when nobody remembers: its devices are the allocated.

    None if the claim is not allocated, for then nothing is prepared either.
    """
    results, info = _results(claim), allocated_claim(claim)
    if results is None or info is None:
        return None
    return ClaimInfo(
        claim=info.claim,
        pods=frozenset({pod_uid}),
        drivers={driver: _devices(mine) for driver, mine in _by_driver(results).items()},
        skipped_operations=info.skipped_operations,
        adopted=True,
        restored=True,
    )


def _results(claim: ResourceClaim) -> Sequence[DeviceRequestAllocationResult] | None:
    allocation = claim.status.allocation
    return None if allocation is None else allocation.devices.results


def _by_driver(
    results: Sequence[DeviceRequestAllocationResult],
) -> Mapping[str, Sequence[DeviceRequestAllocationResult]]:
    found: dict[str, list[DeviceRequestAllocationResult]] = {}
    for result in results:
        found.setdefault(result.driver, []).append(result)
    return found


def _skipped_operations(results: Sequence[DeviceRequestAllocationResult]) -> tuple[str, ...]:
    """What none of a driver's devices needs: one that does is reason enough to call the driver."""
    if all(_ALL in result.skip_node_operations for result in results):
        return (_ALL,)
    # Operations that are not known here cannot be skipped, but a kubelet may know them.
    named = {name for result in results for name in result.skip_node_operations if name != _ALL}
    return tuple(
        operation
        for operation in sorted(named)
        if all(
            operation in result.skip_node_operations or _ALL in result.skip_node_operations
            for result in results
        )
    )


def _devices(results: Sequence[DeviceRequestAllocationResult]) -> tuple[PreparedDevice, ...]:
    requests: dict[tuple[str, str, str | None], dict[str, None]] = {}
    for result in results:
        base, _, _ = result.request.partition("/")
        requests.setdefault((result.pool, result.device, result.share_id), {})[base] = None
    return tuple(
        PreparedDevice(pool=pool, device=device, requests=tuple(names), share_id=share_id)
        for (pool, device, share_id), names in requests.items()
    )
