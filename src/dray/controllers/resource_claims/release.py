"""Releases claims from pods that are done, and lets go of claims that nobody needs.

The last consumer's end takes the allocation along; whoever comes next may get other devices, on
another node. A claim that was allocated and never reserved is left alone. A claim that was made for
a pod is deleted once that pod is done, and its devices go with it. Upstream takes them away first,
which is one write more and frees them no sooner: nobody reserves a claim that is about to go. Where
the pod is gone, the garbage collector gets the time to delete the claim, lest both try. What is
written is based on the claim that was looked at: if that has changed, all is looked at again.

Where the view has another pod of the consumer's name, or none, the server is asked before anything
is taken away; upstream believes a view that has another
(test_a_reservation_stays_while_the_view_still_has_the_pods_predecessor). Upstream counterpart:
syncClaim in pkg/controller/resourceclaim.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from dray.api.core import Pod
from dray.api.meta import OwnerReference
from dray.api.resource import CLAIM_FINALIZER, ResourceClaim, ResourceClaimConsumerReference
from dray.api.wire import replace
from dray.client import Client
from dray.controllers.resource_claims.generation import owner_of
from dray.controllers.resource_claims.views import Views, is_done
from dray.errors import NotFound

__all__ = ["Release"]

# The garbage collector hears of a pod's end when we do, and is through with it in milliseconds. So
# long devices stay taken where there is none.
COLLECTION_SECONDS: Final = 1.0


class _Fate(Enum):
    NEEDS_IT = auto()
    DONE = auto()
    REPLACED = auto()  # the view has another of its name: before or after it
    UNKNOWN = auto()


class Release:
    """What is done about claims."""

    def __init__(self, client: Client, views: Views) -> None:
        self._client = client
        self._views = views

    def is_wanted(self, claim: ResourceClaim) -> bool:
        """Whether there is, or may be, something to do about a claim."""
        consumers = claim.status.reserved_for
        if consumers:
            namespace = claim.metadata.namespace
            return any(
                self._fate(namespace, consumer.name, consumer.uid) is not _Fate.NEEDS_IT
                for consumer in consumers
                if _is_pod(consumer)
            )
        if claim.metadata.deletion_timestamp is not None:
            return CLAIM_FINALIZER in claim.metadata.finalizers
        return self._owners_fate(claim) in (_Fate.DONE, _Fate.REPLACED)

    def delay_seconds(self, claim: ResourceClaim) -> float:
        """For how long a claim may be left to the garbage collector."""
        metadata, owner = claim.metadata, owner_of(claim)
        collected = owner is not None and self._views.is_deleted(owner.uid)
        return COLLECTION_SECONDS if collected and metadata.deletion_timestamp is None else 0.0

    async def release(self, claim: ResourceClaim) -> None:
        """Take away what nobody needs any more."""
        consumers, metadata = claim.status.reserved_for, claim.metadata
        ending = metadata.deletion_timestamp is not None
        remaining = [
            consumer
            for consumer in consumers
            if not _is_pod(consumer) or await self._needs_it(claim, consumer)
        ]
        if remaining:
            if len(remaining) < len(consumers):
                status = replace(claim.status, reserved_for=tuple(remaining))
                await self._client.update_status(replace(claim, status=status))
        elif ending and metadata.finalizers == (CLAIM_FINALIZER,):
            await self._remove_finalizer(claim)  # it goes, and its devices with it
        elif not ending and await self._is_left_over(claim):
            await self._delete(claim)
        elif consumers or (ending and CLAIM_FINALIZER in metadata.finalizers):
            await self._deallocate(claim)

    # Private -----------------------------------------------------------------------------------

    async def _deallocate(self, claim: ResourceClaim) -> None:
        """Take away reservations, and what the finalizer is for: the devices, then itself."""
        status = replace(claim.status, reserved_for=())
        protected = CLAIM_FINALIZER in claim.metadata.finalizers
        if protected:
            status = replace(status, allocation=None)
        if status != claim.status:
            claim = await self._client.update_status(replace(claim, status=status))
        if protected:
            await self._remove_finalizer(claim)

    async def _remove_finalizer(self, claim: ResourceClaim) -> None:
        metadata = claim.metadata
        others = tuple(each for each in metadata.finalizers if each != CLAIM_FINALIZER)
        await self._client.update(replace(claim, metadata=replace(metadata, finalizers=others)))

    async def _is_left_over(self, claim: ResourceClaim) -> bool:
        """Whether the claim was made for a pod that is done: the pod itself may stay for long."""
        owner = owner_of(claim)
        # A pod that is unknown may not be known yet. If it is gone, its claims are collected.
        if owner is None or self._owners_fate(claim) is _Fate.UNKNOWN:
            return False
        return not await self._needs_it(claim, owner)

    async def _delete(self, claim: ResourceClaim) -> None:
        """Delete a claim; what protects it is taken away once that is seen."""
        metadata = claim.metadata
        await self._client.delete(
            ResourceClaim,
            metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
        )

    def _owners_fate(self, claim: ResourceClaim) -> _Fate:
        owner = owner_of(claim)
        if owner is None:
            return _Fate.NEEDS_IT  # it is no pod's, and stays
        return self._fate(claim.metadata.namespace, owner.name, owner.uid)

    def _fate(self, namespace: str, name: str, uid: str) -> _Fate:
        pod = self._views.pods.get(name, namespace)
        if pod is not None and pod.metadata.uid == uid:
            return _Fate.DONE if is_done(pod) else _Fate.NEEDS_IT
        if self._views.is_deleted(uid):
            return _Fate.DONE
        return _Fate.UNKNOWN if pod is None else _Fate.REPLACED

    async def _needs_it(
        self, claim: ResourceClaim, whose: ResourceClaimConsumerReference | OwnerReference
    ) -> bool:
        """Whether a pod may still use the claim: as the view says, or else the server."""
        namespace = claim.metadata.namespace
        fate = self._fate(namespace, whose.name, whose.uid)
        if fate in (_Fate.NEEDS_IT, _Fate.DONE):
            return fate is _Fate.NEEDS_IT
        try:
            pod = await self._client.get(Pod, whose.name, namespace=namespace)
        except NotFound:
            return False
        return pod.metadata.uid == whose.uid and not is_done(pod)


def _is_pod(consumer: ResourceClaimConsumerReference) -> bool:
    """What others need cannot be told: their reservations are kept."""
    return consumer.resource == "pods" and not consumer.api_group
