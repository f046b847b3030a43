"""What follows from how a claim fared: a broken device is withdrawn, a claim's status says why.

A device that fails while it is prepared is tainted, so that the next claim is given another one. It
is offered again when it has proven itself: it was prepared after all (for a claim that tolerates
the taint), or the driver watches its devices and has found it well for a while. Everything here is
done as well as it can be; the claim's answer is the same without it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from dray.api.resource import ResourceClaim
from dray.clock import Clock, within
from dray.sdk._claim_status import ClaimStatuses
from dray.sdk._failures import ClaimFailure
from dray.sdk._inventory import InventoryError
from dray.sdk._journal import DeviceKey, JournalDevice
from dray.sdk._preparation import Observer
from dray.sdk._taints import Taints

__all__ = ["Aftermath"]

_log = logging.getLogger(__name__)

# The node should not learn of the failure before schedulers can; but it must learn of it.
PUBLICATION_SECONDS_MAX: Final = 3.0


class Aftermath(Observer):
    """Taints and tells. `published` returns once what was tainted is known to the API."""

    def __init__(
        self,
        taints: Taints,
        statuses: ClaimStatuses,
        *,
        driver: str,
        clock: Clock,
        recovers: bool,
        published: Callable[[], Awaitable[None]],
    ) -> None:
        self._taints = taints
        self._statuses = statuses
        self._key = f"{driver}/failed"
        self._clock = clock
        self._recovers = recovers
        self._published = published

    async def device_failed(self, key: DeviceKey, message: str) -> None:
        _log.error("device %s failed, and is tainted: %s", key, message)
        try:
            self._taints.set(key.pool, key.device, self._key, recovers=self._recovers)
            await within(self._clock, PUBLICATION_SECONDS_MAX, self._published())
        except (InventoryError, OSError, TimeoutError) as error:
            _log.warning("device %s is tainted, but the API may not know yet: %s", key, error)

    def prepared(
        self, claim: ResourceClaim, devices: Sequence[JournalDevice], *, anew: bool
    ) -> None:
        for device in devices:
            if anew and not device.admin_access:
                self._taints.clear(device.pool, device.device, self._key)
        self._statuses.prepared(claim, devices)

    def failed(self, claim: ResourceClaim, failure: ClaimFailure) -> None:
        self._statuses.failed(claim, failure)
