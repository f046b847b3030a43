"""Writing down that devices are given away: to a claim, and the claim to a pod.

Only what changes is sent, which is half the work of sending all of the claim, for both ends. That
nobody else wrote meanwhile is said by the claim's version: if somebody did, it is a Conflict.
Parameters for drivers are another matter. To a patch a null in them means absence, and a server may
write them anew; so what has parameters is sent with all of the claim, as it was written.
"""

from __future__ import annotations

from typing import Any

from dray.api.core import Pod
from dray.api.resource import AllocationResult, ResourceClaim, ResourceClaimConsumerReference
from dray.api.wire import replace
from dray.client import Client, PatchType

__all__ = ["give"]


async def give(
    client: Client, claim: ResourceClaim, allocation: AllocationResult, pod: Pod
) -> ResourceClaim:
    """The claim as it is stored, with the devices, and reserved for the pod as well."""
    metadata = claim.metadata
    consumer = ResourceClaimConsumerReference(
        resource="pods", name=pod.metadata.name, uid=pod.metadata.uid
    )
    reserved_for = (*claim.status.reserved_for, consumer)
    changes: dict[str, Any] = {"reservedFor": reserved_for}
    if allocation != claim.status.allocation:
        if allocation.devices.config:
            status = replace(claim.status, allocation=allocation, reserved_for=reserved_for)
            return await client.update_status(replace(claim, status=status))
        changes["allocation"] = allocation
    return await client.patch(
        ResourceClaim,
        metadata.name,
        {
            "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version},
            "status": changes,
        },
        namespace=metadata.namespace,
        type=PatchType.MERGE,
        subresource="status",
    )
