"""What can be done for a pod that fits nowhere: free devices that nobody uses, or evict others.

A claim that has devices where the pod cannot go, and that nobody else is using, gives them back, so
that the next attempt may find others. One claim at a time, as upstream: it may be enough. A claim
that an unfinished attempt made for the pod is deleted, with the same effect. If there is none of
either, pods of lower priority may have to go. The pod is then meant for their node, and is tried
again when they are gone.

Upstream counterparts: PostFilter of the DynamicResources plugin, and of DefaultPreemption.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from dray.api.core import (
    CONDITION_TRUE,
    POD_CONDITION_DISRUPTION_TARGET,
    POD_REASON_PREEMPTION_BY_SCHEDULER,
    Pod,
    PodCondition,
)
from dray.api.resource import ResourceClaim, ResourceClaimStatus
from dray.api.wire import Time, replace
from dray.client import Client, PatchType
from dray.clock import Clock
from dray.errors import APIError, NotFound, TransportError
from dray.scheduler.claims import Claims
from dray.scheduler.placement import Refusal
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.preemption import Preemption, Sacrifice

__all__ = ["MakingRoom", "Room"]

_log = logging.getLogger(__name__)


class Room(NamedTuple):
    """What was done."""

    message: str = ""  # for whoever reads why the pod has no node yet
    victims: tuple[Pod, ...] = ()
    node_name: str = ""  # which the victims had to leave
    nominated: str | None = None  # where the pod is to go; "": nowhere any more; None: as it was
    again: bool = False  # to be tried again after a rest, even if nothing happens


Leftovers = Callable[[ResourceClaim], Awaitable[bool]]
"""Deletes a claim that an unfinished attempt made; whether it is gone."""


class MakingRoom:
    """Makes room for pods that were refused."""

    def __init__(
        self,
        client: Client,
        claims: Claims,
        preemption: Preemption | None,
        clock: Clock,
        delete_leftover: Leftovers,
        *,
        scheduler_name: str,
    ) -> None:
        """Without `preemption` nobody has to go."""
        self._client = client
        self._claims = claims
        self._preemption = preemption
        self._clock = clock
        self._delete_leftover = delete_leftover
        self._scheduler_name = scheduler_name

    def find(self, pod: PodInfo, refusal: Refusal) -> Sacrifice | None:
        """Whom to evict. To be asked before anything changes: it looks at the same state."""
        if self._preemption is None or refusal.leftovers:
            return None
        if any(_is_idle(claim, pod.pod) for claim in refusal.misplaced):
            return None
        return self._preemption.find(pod, refusal)

    async def make(self, pod: PodInfo, refusal: Refusal, sacrifice: Sacrifice | None) -> Room:
        """Do what can be done. Failures are no more than that: nothing was done."""
        for claim in refusal.misplaced:
            newest = self._claims.get(claim.metadata.name, claim.metadata.namespace)
            if newest is not None and _is_idle(newest, pod.pod):
                return await self._deallocate(newest)
        if refusal.leftovers:
            return await self._clear(pod, refusal.leftovers)
        if sacrifice is None:
            waits = self._preemption is not None and self._preemption.waits(pod)
            return Room(nominated=None if waits else "")
        left = await asyncio.gather(*(self._evict(each.pod) for each in sacrifice.victims))
        count = len(sacrifice.victims)
        pods = "1 pod" if count == 1 else f"{count} pods"
        return Room(
            f"preemption: {pods} of lower priority must leave node {sacrifice.node_name} first.",
            tuple([victim.pod for victim, how in zip(sacrifice.victims, left, strict=True) if how]),
            sacrifice.node_name,
            sacrifice.node_name,
            again=None in left,
        )

    async def _clear(self, pod: PodInfo, leftovers: Iterable[ResourceClaim]) -> Room:
        """Delete claims that an unfinished attempt made for a pod."""
        try:
            # Views may be behind: whoever made the claims may have bound the pod after all.
            newest = await self._client.get(Pod, pod.name, namespace=pod.namespace)
        except (APIError, TransportError) as error:
            return Room(f"nobody knows whether the pod is bound: {error}", again=True)
        if newest.metadata.uid != pod.uid or newest.spec.node_name:
            return Room(again=True)
        gone = [await self._delete_leftover(claim) for claim in leftovers]
        return Room("deletion of ResourceClaim completed" if all(gone) else "", again=True)

    async def _deallocate(self, claim: ResourceClaim) -> Room:
        try:
            stored = await self._client.update_status(replace(claim, status=ResourceClaimStatus()))
        except (APIError, TransportError) as error:
            return Room(f"claim {claim.metadata.name} keeps its devices: {error}", again=True)
        self._claims.assume(stored)
        return Room("deallocation of ResourceClaim completed")

    async def _evict(self, victim: Pod) -> bool | None:
        """Have a pod go: whether it was this that made it go; None if that failed."""
        metadata = victim.metadata
        if metadata.deletion_timestamp is not None:
            return False
        condition = PodCondition(
            type=POD_CONDITION_DISRUPTION_TARGET,
            observed_generation=metadata.generation,
            status=CONDITION_TRUE,
            reason=POD_REASON_PREEMPTION_BY_SCHEDULER,
            message=f"{self._scheduler_name}: preempting to accommodate a higher priority pod",
            last_transition_time=Time(self._clock.now()),
        )
        try:
            await self._client.patch(
                Pod,
                metadata.name,
                {"metadata": {"uid": metadata.uid}, "status": {"conditions": [condition]}},
                namespace=metadata.namespace,
                type=PatchType.STRATEGIC,
                subresource="status",
            )
            await self._client.delete(
                Pod, metadata.name, namespace=metadata.namespace, uid=metadata.uid
            )
        except NotFound:
            return False
        except (APIError, TransportError) as error:
            _log.info("pod %s/%s stays: %s", metadata.namespace, metadata.name, error)
            return None
        return True


def _is_idle(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether nobody uses the claim, this pod aside."""
    return claim.status.allocation is not None and all(
        consumer.uid == pod.metadata.uid for consumer in claim.status.reserved_for
    )
