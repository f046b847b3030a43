"""How each device of a claim fared, told in the claim's status: where `kubectl get` shows it.

A condition `Prepared` of each device says why it is not, with the class of the error as reason.
Success is told only after failure was: most claims are prepared at once, and nobody needs to read
so. All of it is done on the side and as well as it can be: an answer to the node never waits for
it. Upstream's place for it is claim.status.devices (KEP-4817), and nothing else there is touched.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from dray.api.meta import Condition, ObjectMeta
from dray.api.resource import AllocatedDeviceStatus, ResourceClaim, ResourceClaimStatus
from dray.api.wire import Time
from dray.clock import Clock
from dray.errors import APIError, TooManyRequests, TransportError, Unavailable, shorten
from dray.errors import Timeout as APITimeout
from dray.sdk._claims import results_of
from dray.sdk._failures import ClaimFailure
from dray.sdk._journal import DeviceKey, JournalDevice

__all__ = ["CONDITION_PREPARED", "ClaimStatuses", "ClaimWriter"]

_log = logging.getLogger(__name__)

CONDITION_PREPARED: Final = "Prepared"

# What waits is one status for each claim; a node has some hundreds of claims.
WAITING_MAX: Final = 1024

# Statuses that were told as failed, so that success is told, too.
FAILED_MAX: Final = 4096

ATTEMPTS_MAX: Final = 3
PAUSE_SECONDS: Final = 2.0

# The API takes 32 KB, people read less.
MESSAGE_CHARACTERS_MAX: Final = 2048


class ClaimWriter(Protocol):
    """Where statuses go: the client."""

    async def apply(
        self,
        obj: ResourceClaim,
        *,
        subresource: str = "",
        field_manager: str = "",
        force: bool = True,
    ) -> ResourceClaim: ...


class ClaimStatuses:
    """Tells the API, one claim after the other; of a claim that waits, the last word."""

    def __init__(self, writer: ClaimWriter, *, driver: str, clock: Clock) -> None:
        self._writer = writer
        self._driver = driver
        self._clock = clock
        self._waiting: dict[str, ResourceClaim] = {}
        self._failed: dict[str, None] = {}
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def failed(self, claim: ResourceClaim, failure: ClaimFailure) -> None:
        """The claim was not made ready."""
        uid = claim.metadata.uid
        self._failed.pop(uid, None)
        self._failed[uid] = None
        while len(self._failed) > FAILED_MAX:
            del self._failed[next(iter(self._failed))]
        conditions = {
            each.key: self._condition("False", each.error_class.reason, each.message)
            for each in failure.devices
        }
        if not conditions:
            told = self._condition("False", failure.error_class.reason, failure.message)
            conditions = {results.key: told for results in results_of(claim, driver=self._driver)}
        self._tell(claim, conditions)

    def prepared(self, claim: ResourceClaim, devices: Sequence[JournalDevice]) -> None:
        """The claim is ready: news only if something else was told before."""
        uid = claim.metadata.uid
        if uid not in self._failed and not self._reads_failed(claim):
            return
        self._failed.pop(uid, None)
        told = self._condition("True", CONDITION_PREPARED, "")
        self._tell(claim, {device.key: told for device in devices})

    async def run(self) -> None:
        """Write what there is to tell, until cancelled."""
        while True:
            if not self._waiting:
                self._idle.set()
                self._news.clear()
                await self._news.wait()
            uid = next(iter(self._waiting))
            await self._write(self._waiting.pop(uid))

    async def idle(self) -> None:
        """Wait until everything was told."""
        await self._idle.wait()

    def _reads_failed(self, claim: ResourceClaim) -> bool:
        """Whether the claim still says what an earlier process found."""
        return any(
            condition.type == CONDITION_PREPARED and condition.status == "False"
            for device in claim.status.devices
            if device.driver == self._driver
            for condition in device.conditions or ()
        )

    def _condition(self, status: str, reason: str, message: str) -> Condition:
        return Condition(
            type=CONDITION_PREPARED,
            status=status,
            reason=reason,
            message=shorten(message, characters_max=MESSAGE_CHARACTERS_MAX),
            last_transition_time=Time(self._clock.now()),
        )

    def _tell(self, claim: ResourceClaim, conditions: Mapping[DeviceKey, Condition]) -> None:
        if not conditions:
            return
        metadata = claim.metadata
        self._waiting.pop(metadata.uid, None)
        self._waiting[metadata.uid] = ResourceClaim(
            # With its UID, so that a claim that took its place is left alone.
            metadata=ObjectMeta(name=metadata.name, namespace=metadata.namespace, uid=metadata.uid),
            status=ResourceClaimStatus(
                devices=tuple(
                    AllocatedDeviceStatus(
                        driver=self._driver,
                        pool=key.pool,
                        device=key.device,
                        share_id=key.share_id,
                        conditions=(condition,),
                    )
                    for key, condition in conditions.items()
                )
            ),
        )
        while len(self._waiting) > WAITING_MAX:
            del self._waiting[next(iter(self._waiting))]
        self._idle.clear()
        self._news.set()

    async def _write(self, claim: ResourceClaim) -> None:
        metadata = claim.metadata
        for attempt in range(ATTEMPTS_MAX):
            if attempt:
                await self._clock.sleep(PAUSE_SECONDS * attempt)
            if metadata.uid in self._waiting:
                return  # there is a newer word
            try:
                await self._writer.apply(
                    claim, subresource="status", field_manager=f"{self._driver}-prepare"
                )
            except (TransportError, Unavailable, APITimeout, TooManyRequests) as error:
                _log.info("status of claim %s/%s: %s", metadata.namespace, metadata.name, error)
            except APIError as error:
                # Gone, replaced, or not ours to write: for that, trying again is of no use.
                _log.info("status of claim %s/%s: %s", metadata.namespace, metadata.name, error)
                return
            else:
                return
