"""From a decision to what is stored: claims get their devices, then the pod its node.

Claims come first, so that a pod that has a node has everything else. What another writer changed
meanwhile is read again and tried again, a bounded number of times, unless it makes the decision
void. If anything fails, the pod's reservations are given back; the devices stay with the claims,
which is no harm: the next attempt goes where they are, or has them freed.

Upstream counterparts: PreBind and Unreserve of the DynamicResources plugin, and DefaultBinder.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from dray.api.core import Binding, ObjectReference, Pod
from dray.api.meta import ObjectMeta, Status
from dray.api.resource import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from dray.api.wire import Time, replace
from dray.client import Client, EventRecorder, PatchType
from dray.clock import Clock, within
from dray.errors import APIError, Conflict, SchedulingError, TransportError
from dray.scheduler.binding_conditions import (
    ReadinessState,
    has_binding_conditions,
    readiness,
)
from dray.scheduler.claims import Claims
from dray.scheduler.placement import ClaimPlacement, Placement

__all__ = ["FINALIZER", "Binder", "SpecialClaims"]

_log = logging.getLogger(__name__)

FINALIZER: Final = "resource.kubernetes.io/delete-protection"

# Upstream's: the resource claim controller writes too, and drivers do.
TRIES_MAX: Final = 5

SpecialClaims = Callable[[Placement], Awaitable[ResourceClaim]]
"""Stores the claim behind extended resources, with its devices, and notes it in the pod."""


class Binder:
    """Writes what was decided."""

    def __init__(
        self,
        client: Client,
        claims: Claims,
        events: EventRecorder,
        clock: Clock,
        *,
        binding_conditions: bool,
        binding_timeout_seconds: float,
        special_claims: SpecialClaims | None = None,
    ) -> None:
        self._client = client
        self._claims = claims
        self._events = events
        self._clock = clock
        self._binding_conditions = binding_conditions
        self._timeout_seconds = binding_timeout_seconds
        self._special_claims = special_claims
        self._writing: dict[str, asyncio.Lock] = {}  # by uid, of claims that are being written
        self._waits: dict[str, list[asyncio.Event]] = {}  # by uid, who waits for news of a claim
        claims.listen(self._hear)

    async def bind(self, placement: Placement) -> None:
        """Store it all. Raises SchedulingError, APIError or TransportError if that fails."""
        pod = placement.pod.pod
        stored = []
        reserved: list[ResourceClaim] = []
        bound = False
        try:
            for each in placement.claims:
                claim, added = await self._store(each, pod)
                stored.append(claim)
                if added:
                    reserved.append(claim)
            if placement.special is not None and self._special_claims is not None:
                stored.append(await self._special_claims(placement))
            if self._binding_conditions:
                await self._wait_for_conditions(stored, placement)
            await self._bind(pod, placement.node_name)
            bound = True
        finally:
            # Also if this is cancelled: a scheduler that ends leaves no reservations behind.
            for claim in () if bound else reserved:
                await self._unreserve(claim, pod)

    # Claims ------------------------------------------------------------------------------------

    async def _store(self, each: ClaimPlacement, pod: Pod) -> tuple[ResourceClaim, bool]:
        """The claim with its devices, reserved for the pod, and whether that was to be done."""
        async with self._alone(each.claim.metadata.uid):
            claim = self._newest(each.claim)
            for attempt in range(TRIES_MAX):
                if attempt:
                    claim = await self._read_again(each.claim)
                self._check(claim, each.allocation)
                if _is_reserved(claim, pod):
                    return claim, False
                try:
                    claim = await self._write(claim, each.allocation, pod)
                except Conflict:
                    continue
                self._claims.assume(claim)
                self._claims.release(claim)
                return claim, True
            raise SchedulingError(
                f"{_named(claim)} was changed by others {TRIES_MAX} times while it was reserved"
            )

    def _newest(self, claim: ResourceClaim) -> ResourceClaim:
        newest = self._claims.get(claim.metadata.name, claim.metadata.namespace)
        return newest if newest is not None and newest.metadata.uid == claim.metadata.uid else claim

    async def _read_again(self, claim: ResourceClaim) -> ResourceClaim:
        metadata = claim.metadata
        found = await self._client.get(ResourceClaim, metadata.name, namespace=metadata.namespace)
        if found.metadata.uid != metadata.uid:
            raise SchedulingError(f"{_named(claim)} was deleted and made anew in the meantime")
        return found

    def _check(self, claim: ResourceClaim, allocation: AllocationResult | None) -> None:
        if claim.metadata.deletion_timestamp is not None:
            raise SchedulingError(f"{_named(claim)} got deleted in the meantime")
        if allocation is not None and claim.status.allocation is not None:
            raise SchedulingError(f"{_named(claim)} got allocated elsewhere in the meantime")
        if allocation is None and claim.status.allocation is None:
            raise SchedulingError(f"{_named(claim)} got deallocated elsewhere in the meantime")

    async def _write(
        self, claim: ResourceClaim, allocation: AllocationResult | None, pod: Pod
    ) -> ResourceClaim:
        metadata = claim.metadata
        if FINALIZER not in metadata.finalizers:
            finalizers = (*metadata.finalizers, FINALIZER)
            claim = await self._client.update(
                replace(claim, metadata=replace(metadata, finalizers=finalizers))
            )
        status = claim.status
        allocation = allocation or status.allocation
        assert allocation is not None, "it was checked"
        if self._binding_conditions and allocation.allocation_timestamp is None:
            allocation = replace(allocation, allocation_timestamp=Time(self._clock.now()))
        consumer = ResourceClaimConsumerReference(
            resource="pods", name=pod.metadata.name, uid=pod.metadata.uid
        )
        status = replace(
            status, allocation=allocation, reserved_for=(*status.reserved_for, consumer)
        )
        return await self._client.update_status(replace(claim, status=status))

    async def _unreserve(self, claim: ResourceClaim, pod: Pod) -> None:
        metadata = claim.metadata
        patch = {
            "metadata": {"uid": metadata.uid},
            "status": {"reservedFor": [{"$patch": "delete", "uid": pod.metadata.uid}]},
        }
        try:
            stored = await self._client.patch(
                ResourceClaim,
                metadata.name,
                patch,
                namespace=metadata.namespace,
                type=PatchType.STRATEGIC,
                subresource="status",
            )
        except (APIError, TransportError) as error:
            # The resource claim controller does so as well, once the pod is gone.
            _log.info("%s stays reserved for pod %s: %s", _named(claim), pod.metadata.name, error)
        else:
            self._claims.assume(stored)

    @asynccontextmanager
    async def _alone(self, uid: str) -> AsyncIterator[None]:
        """Pods that share a claim reserve it one after the other, not in each other's way."""
        lock = self._writing.setdefault(uid, asyncio.Lock())
        async with lock:
            yield
        if not lock.locked() and self._writing.get(uid) is lock:
            del self._writing[uid]

    # Binding conditions ------------------------------------------------------------------------

    async def _wait_for_conditions(self, claims: list[ResourceClaim], placement: Placement) -> None:
        waiting = [claim for claim in claims if has_binding_conditions(claim)]
        if not waiting:
            return
        self._events.record(
            placement.pod.pod,
            "Normal",
            "BindingConditionsPending",
            f"waiting for binding conditions for device on node {placement.node_name}",
        )
        news = asyncio.Event()
        for claim in waiting:
            self._waits.setdefault(claim.metadata.uid, []).append(news)
        try:
            await within(self._clock, self._timeout_seconds, self._until_ready(waiting, news))
        except TimeoutError as error:
            raise SchedulingError("device binding timeout: context deadline exceeded") from error
        finally:
            for claim in waiting:
                waits = self._waits[claim.metadata.uid]
                waits.remove(news)
                if not waits:
                    del self._waits[claim.metadata.uid]

    async def _until_ready(self, claims: list[ResourceClaim], news: asyncio.Event) -> None:
        while True:
            news.clear()
            ready = True
            for claim in claims:
                newest = self._newest(claim)
                if newest.status.allocation is None:
                    raise SchedulingError(f"{_named(claim)} got deallocated in the meantime")
                found = readiness(newest, self._clock.now(), self._timeout_seconds)
                if found.state is ReadinessState.WAITING:
                    ready = False
                elif found.state is not ReadinessState.READY:
                    raise SchedulingError(found.message)
            if ready:
                return
            await news.wait()

    def _hear(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        either = new if new is not None else old
        if either is not None:
            for news in self._waits.get(either.metadata.uid, ()):
                news.set()

    # The pod -----------------------------------------------------------------------------------

    async def _bind(self, pod: Pod, node_name: str) -> None:
        metadata = pod.metadata
        await self._client.create_subresource(
            Pod,
            metadata.name,
            "binding",
            Binding(
                metadata=ObjectMeta(
                    name=metadata.name, namespace=metadata.namespace, uid=metadata.uid
                ),
                target=ObjectReference(kind="Node", name=node_name),
            ),
            Status,
            namespace=metadata.namespace,
        )


def _is_reserved(claim: ResourceClaim, pod: Pod) -> bool:
    return any(one.uid == pod.metadata.uid for one in claim.status.reserved_for)


def _named(claim: ResourceClaim) -> str:
    return f"claim {claim.metadata.namespace}/{claim.metadata.name}"
