"""What can be done for a pod that fits nowhere: free devices that nobody uses, or evict others.

A claim that has devices where the pod cannot go, and that nobody else is using, gives them back, so
that the next attempt may find others. One claim at a time, as upstream: it may be enough.

Upstream counterparts: PostFilter of the DynamicResources plugin, and DefaultPreemption.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dray.api.core import Pod
from dray.api.resource import ResourceClaim, ResourceClaimStatus
from dray.api.wire import replace
from dray.client import Client
from dray.errors import APIError, TransportError
from dray.scheduler.claims import Claims
from dray.scheduler.placement import Refusal
from dray.scheduler.pod_info import PodInfo

__all__ = ["MakingRoom", "Room"]


class Room(NamedTuple):
    """What was done."""

    message: str = ""  # for whoever reads why the pod has no node yet
    victims: tuple[Pod, ...] = ()
    node_name: str = ""  # which the victims had to leave
    nominated: str | None = None  # where the pod is to go; "": nowhere any more; None: as it was


NOTHING: Final = Room()


class MakingRoom:
    """Makes room for pods that were refused."""

    def __init__(self, client: Client, claims: Claims) -> None:
        self._client = client
        self._claims = claims

    async def consider(self, pod: PodInfo, refusal: Refusal) -> Room:
        """Do what can be done. Failures are no more than that: nothing was done."""
        for claim in refusal.misplaced:
            newest = self._claims.get(claim.metadata.name, claim.metadata.namespace)
            if newest is None or not _is_idle(newest, pod.pod):
                continue
            try:
                stored = await self._client.update_status(
                    replace(newest, status=ResourceClaimStatus())
                )
            except (APIError, TransportError) as error:
                return Room(f"claim {newest.metadata.name} keeps its devices: {error}")
            self._claims.assume(stored)
            return Room("deallocation of ResourceClaim completed")
        return NOTHING


def _is_idle(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether nobody uses the claim, this pod aside."""
    return claim.status.allocation is not None and all(
        consumer.uid == pod.metadata.uid for consumer in claim.status.reserved_for
    )
