"""From a decision to what is stored: claims get their devices, then the pod its node.

Claims come first, so that a pod that has a node has everything else. What another writer changed
meanwhile is read again and tried again, a bounded number of times, unless it makes the decision
void: so does a server that says that another claim got the devices first. If anything fails, the
pod's reservations are given back; the devices stay with the claims, which is no harm: the next
attempt goes where they are, or has them freed. Only a pod that somebody else has bound keeps its
reservations, for it is going to run.

Invariant: what was decided is given up only once it is known not to be stored. A write without an
answer may have been done, or be done yet; it is repeated until there is an answer, for otherwise
somebody else could get the same devices. It is safe to repeat: whoever comes second is refused.

Upstream counterparts: PreBind and Unreserve of the DynamicResources plugin, and DefaultBinder.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol

from dray.api.core import Binding, ObjectReference, Pod
from dray.api.meta import ObjectMeta, Status
from dray.api.resource import (
    CLAIM_FINALIZER,
    AllocationResult,
    ResourceClaim,
)
from dray.api.wire import Time, replace
from dray.client import Client, EventRecorder, PatchType
from dray.clock import Clock, within
from dray.errors import (
    CAUSE_DEVICES_TAKEN,
    APIError,
    Conflict,
    NotFound,
    SchedulingError,
    TransportError,
)
from dray.scheduler.binding_conditions import (
    Readiness,
    ReadinessState,
    has_binding_conditions,
    readiness,
)
from dray.scheduler.claims import Claims
from dray.scheduler.giving import give
from dray.scheduler.placement import ClaimPlacement, Placement

__all__ = ["Binder", "BoundByOthersError", "SpecialClaims"]

_log = logging.getLogger(__name__)

# Upstream's: the resource claim controller writes too, and drivers do.
TRIES_MAX: Final = 5

# Codes from here on say that the server failed, not what became of the request.
SERVER_ERRORS: Final = 500

# Between tries to get an answer from a server that gives none.
RETRY_SECONDS: Final = 1.0

Waited = Callable[[str, float], None]
"""Told how waiting for drivers ended (success, failure, timeout or error), and how long it took."""


class SpecialClaims(Protocol):
    """The claims behind extended resources."""

    async def store(self, placement: Placement) -> ResourceClaim:
        """Store one with its devices, and note it in the pod; or leave nothing, and raise."""

    async def delete(self, claim: ResourceClaim) -> bool:
        """Have one gone that nobody uses; whether that is so. Raises nothing."""


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
        special_claims: SpecialClaims,
        slots: asyncio.Semaphore,
        waited: Waited,
    ) -> None:
        """Whoever binds has one of the `slots`, and lends it while drivers take their time."""
        self._client = client
        self._claims = claims
        self._events = events
        self._clock = clock
        self._binding_conditions = binding_conditions
        self._timeout_seconds = binding_timeout_seconds
        self._special_claims = special_claims
        self._slots = slots
        self._waited = waited
        self._stopped = asyncio.Event()
        # By uid, of claims that are being written: by how many, and whose turn it is.
        self._writing: dict[str, tuple[int, asyncio.Lock]] = {}
        self._waits: dict[str, list[asyncio.Event]] = {}  # by uid, who waits for news of a claim
        claims.listen(self._hear)

    def stop(self) -> None:
        """Have nobody wait any longer for drivers, or for a server that does not answer."""
        self._stopped.set()
        for waits in self._waits.values():
            for news in waits:
                news.set()

    async def bind(self, placement: Placement) -> None:
        """Store it all. Raises SchedulingError, APIError or TransportError if that fails.

        BoundByOthersError among them: then there is nothing left to do about the pod.
        """
        pod = placement.pod.pod
        stored: list[ResourceClaim] = []
        special: ResourceClaim | None = None
        settled = False
        try:
            for each in placement.claims:
                claim = await self._store(each, pod)
                stored += (claim,)  # one by one: what was stored counts if the next one fails
            if placement.special is not None:
                special = await self._special_claims.store(placement)
            if self._binding_conditions:
                claims = [*stored, special] if special is not None else stored
                await self._wait_for_conditions(claims, placement)
            await self._bind(pod, placement.node_name)
            settled = True
        except _InDoubtError:
            settled = True  # it may run: then it needs its claims
            raise
        except BoundByOthersError as error:
            settled = True  # it will run
            if special is not None and special.metadata.name != error.special_claim_name:
                await self._special_claims.delete(special)
            raise
        finally:
            if not settled:
                for claim in stored:
                    await self._unreserve(claim, pod)
                if special is not None:
                    await self._special_claims.delete(special)

    # Claims ------------------------------------------------------------------------------------

    async def _store(self, each: ClaimPlacement, pod: Pod) -> ResourceClaim:
        """The claim with its devices, reserved for the pod."""
        async with self._alone(each.claim.metadata.uid):
            claim = self._newest(each.claim)
            tries = 0
            fresh = True
            while tries < TRIES_MAX:
                try:
                    if not fresh:
                        claim = await self._read_again(each.claim)
                    fresh = False
                    if not _is_stored(claim, each.allocation, pod):
                        self._check(claim, each.allocation)
                        claim = await self._write(claim, each.allocation, pod)
                except Conflict as error:
                    if _has_lost_devices(error):
                        raise  # to another claim, however often this one is read again
                    tries += 1
                    continue
                except (TransportError, APIError) as error:
                    tries = _no_answer(error, tries)
                    await self._pause(error)
                    continue
                self._claims.assume(claim)
                self._claims.release(each.allocated)
                return claim
            raise SchedulingError(
                f"{_named(claim)} was changed by others {TRIES_MAX} times while it was reserved"
            )

    async def _pause(self, error: TransportError | APIError) -> None:
        """Before the next try to get an answer. There is none any more when all is to end."""
        if not self._stopped.is_set():
            try:
                await within(self._clock, RETRY_SECONDS, self._stopped.wait())
            except TimeoutError:
                return
        raise error

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
        if CLAIM_FINALIZER not in metadata.finalizers:
            finalizers = (*metadata.finalizers, CLAIM_FINALIZER)
            claim = await self._client.update(
                replace(claim, metadata=replace(metadata, finalizers=finalizers))
            )
        allocation = allocation or claim.status.allocation
        assert allocation is not None, "it was checked"
        if self._binding_conditions and allocation.allocation_timestamp is None:
            allocation = replace(allocation, allocation_timestamp=Time(self._clock.now()))
        return await give(self._client, claim, allocation, pod)

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
        count, lock = self._writing.get(uid) or (0, asyncio.Lock())
        self._writing[uid] = (count + 1, lock)
        try:
            async with lock:
                yield
        finally:
            count, _ = self._writing[uid]
            if count > 1:
                self._writing[uid] = (count - 1, lock)
            else:
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
            action="Scheduling",
        )
        news = asyncio.Event()
        for claim in waiting:
            self._waits.setdefault(claim.metadata.uid, []).append(news)
        began = self._clock.monotonic()
        outcome = "error"
        self._slots.release()  # however many wait for drivers, others go on
        try:
            await within(self._clock, self._timeout_seconds, self._until_ready(waiting, news))
            outcome = "success"
        except TimeoutError as error:
            outcome = "timeout"
            raise SchedulingError("device binding timeout: context deadline exceeded") from error
        except _NotReadyError as error:
            outcome = error.outcome
            raise
        finally:
            for claim in waiting:
                waits = self._waits[claim.metadata.uid]
                waits.remove(news)
                if not waits:
                    del self._waits[claim.metadata.uid]
            self._waited(outcome, self._clock.monotonic() - began)
            await self._slots.acquire()

    async def _until_ready(self, claims: list[ResourceClaim], news: asyncio.Event) -> None:
        while True:
            news.clear()
            ready = True
            if self._stopped.is_set():
                raise SchedulingError("the scheduler ends before devices are ready")
            for claim in claims:
                newest = self._newest(claim)
                if newest.status.allocation is None:
                    raise SchedulingError(f"{_named(claim)} got deallocated in the meantime")
                found = readiness(newest, self._clock.now(), self._timeout_seconds)
                if found.state is ReadinessState.WAITING:
                    ready = False
                elif found.state is not ReadinessState.READY:
                    raise _NotReadyError(found)
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
        lost = False
        tries = 0
        while True:
            try:
                await self._create_binding(pod, node_name)
            except Conflict:
                found = await self._read_pod(pod)
                if found is None or not found.spec.node_name:
                    raise
                if lost and found.spec.node_name == node_name:
                    return  # by us: what was lost was the answer
                raise BoundByOthersError(found) from None
            except (TransportError, APIError) as error:
                if not _is_no_answer(error):
                    raise
                lost = True
                try:
                    tries = _no_answer(error, tries)
                    await self._pause(error)
                except (TransportError, APIError):
                    raise _InDoubtError(error) from error
            else:
                return

    async def _create_binding(self, pod: Pod, node_name: str) -> None:
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

    async def _read_pod(self, pod: Pod) -> Pod | None:
        """The pod as it is stored, unless it is gone."""
        metadata = pod.metadata
        try:
            found = await self._client.get(Pod, metadata.name, namespace=metadata.namespace)
        except NotFound:
            return None
        except (TransportError, APIError) as error:
            raise _InDoubtError(error) from error
        return found if found.metadata.uid == metadata.uid else None


class BoundByOthersError(SchedulingError):
    """Another scheduler was quicker: the pod has a node."""

    def __init__(self, pod: Pod) -> None:
        super().__init__(f"another scheduler bound the pod to node {pod.spec.node_name}")
        special = pod.status.extended_resource_claim_status
        self.special_claim_name = "" if special is None else special.resource_claim_name


class _InDoubtError(SchedulingError):
    """The pod may be bound, or be bound yet: nothing of it may be taken back."""

    def __init__(self, error: TransportError | APIError) -> None:
        super().__init__(f"nobody knows whether the pod is bound: {error}")


class _NotReadyError(SchedulingError):
    """Drivers said no, or nothing for too long."""

    def __init__(self, found: Readiness) -> None:
        super().__init__(found.message)
        self.outcome = "timeout" if found.state is ReadinessState.TIMED_OUT else "failure"


def _has_lost_devices(error: Conflict) -> bool:
    return any(cause.reason == CAUSE_DEVICES_TAKEN for cause in error.details.causes)


def _is_no_answer(error: TransportError | APIError) -> bool:
    """Whether a write may have been done, or be done yet, all the same."""
    return isinstance(error, TransportError) or error.code >= SERVER_ERRORS


def _no_answer(error: TransportError | APIError, tries: int) -> int:
    """The tries so far, with one that came to nothing; raises the error if that was the last one.

    A server that does not answer at all is waited for; one that says again and again that
    something is wrong with itself may go on to say so.
    """
    if isinstance(error, TransportError):
        return tries
    if error.code < SERVER_ERRORS or tries + 1 >= TRIES_MAX:
        raise error
    return tries + 1


def _is_stored(claim: ResourceClaim, allocation: AllocationResult | None, pod: Pod) -> bool:
    """Whether it is as it is to be, as after a write whose answer was lost."""
    had = claim.status.allocation
    return (
        had is not None
        and (allocation is None or had.devices.results == allocation.devices.results)
        and claim.metadata.deletion_timestamp is None
        and _is_reserved(claim, pod)
    )


def _is_reserved(claim: ResourceClaim, pod: Pod) -> bool:
    return any(one.uid == pod.metadata.uid for one in claim.status.reserved_for)


def _named(claim: ResourceClaim) -> str:
    return f"claim {claim.metadata.namespace}/{claim.metadata.name}"
