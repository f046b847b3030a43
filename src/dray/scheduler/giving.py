"""Writing down that devices are given away: to a claim, and the claim to a pod.

Only what changes is sent, which is half the work of sending all of the claim, for both ends. That
nobody else wrote meanwhile is said by the claim's version: if somebody did, it is a Conflict.
"""

from __future__ import annotations

from dray.api.core import Pod
from dray.api.resource import AllocationResult, ResourceClaim, ResourceClaimConsumerReference
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
    return await client.patch(
        ResourceClaim,
        metadata.name,
        {
            "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version},
            "status": {
                "allocation": allocation,
                "reservedFor": (*claim.status.reserved_for, consumer),
            },
        },
        namespace=metadata.namespace,
        type=PatchType.MERGE,
        subresource="status",
    )
