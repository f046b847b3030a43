"""Conditions in a claim's status that say which devices could not be prepared, and why.

Each device of a driver that failed gets a condition of type `dray.dev/Prepared`:

    status  reason                   meaning
    False   InvalidDeviceConfig      the configuration is wrong; the pod fails
    False   DeviceFailed             the device is broken; the pod fails
    False   DevicePrepareFailed      it will fail again in the same way; the pod fails
    False   DevicePrepareRetrying    it will be tried again
    False   OtherDeviceFailed        the driver blames other devices of the claim, not this one
    True    Prepared                 it is prepared now, after a condition said that it was not

A claim that never failed gets none: what is normal needs no writing. They are written by
server-side apply as manager `dray-agent`, beside those of drivers, in the background and as far as
possible: preparing never waits for it. Upstream nodes may not write to claims, so being forbidden
to is said once. Upstream has no counterpart.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from dray.agent.claims.allocation import name_of
from dray.agent.claims.claim_info import ClaimName
from dray.agent.claims.failures import ClaimFailure, ErrorClass
from dray.agent.claims.fetching import is_outage
from dray.api.meta import Object
from dray.api.resource import DeviceRequestAllocationResult, ResourceClaim
from dray.api.wire import Time
from dray.client import PatchType
from dray.clock import Clock
from dray.errors import APIError, Forbidden, TransportError, shorten

__all__ = ["CONDITION_TYPE", "FIELD_MANAGER", "ClaimPatcher", "ConditionWriter"]

CONDITION_TYPE: Final = "dray.dev/Prepared"
FIELD_MANAGER: Final = "dray-agent"

_REASONS: Final[Mapping[ErrorClass, str]] = {
    ErrorClass.INVALID_CONFIG: "InvalidDeviceConfig",
    ErrorClass.DEVICE_FAILED: "DeviceFailed",
    ErrorClass.PERMANENT: "DevicePrepareFailed",
    ErrorClass.TRANSIENT: "DevicePrepareRetrying",
    ErrorClass.UNKNOWN: "DevicePrepareRetrying",
}
_NOT_AT_FAULT: Final = "OtherDeviceFailed"
_PREPARED: Final = "Prepared"

# A claim waits here for its turn, with the latest only; a node has some hundreds at most.
CLAIMS_MAX: Final = 4096

# A condition's message may have 32 KiB, but the whole claim has to fit into an object.
MESSAGE_CHARACTERS_MAX: Final = 1024

# How long to leave the API alone when it is away, and when it said that we may not.
_OUTAGE_PAUSE_SECONDS: Final = 5.0
_FORBIDDEN_PAUSE_SECONDS: Final = 600.0

T = TypeVar("T", bound=Object)

_DeviceKey = tuple[str, str, str, str | None]  # driver, pool, device, share


class ClaimPatcher(Protocol):
    """The part of the client that is used here."""

    async def patch(
        self,
        kind: type[T],
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        type: PatchType = ...,  # noqa: A002 - the client's name for it
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
    ) -> T: ...


@dataclass(frozen=True, slots=True)
class _Condition:
    status: str
    reason: str
    message: str
    since: str


@dataclass(frozen=True, slots=True)
class _Told:
    """What was last said about a claim."""

    claim: ClaimName
    attempt: int
    conditions: Mapping[_DeviceKey, _Condition]


class ConditionWriter:
    """Writes what it is told to a claim's status, when it can."""

    def __init__(
        self, client: ClaimPatcher, clock: Clock, *, on_event: Callable[[str, str], None]
    ) -> None:
        self._client = client
        self._clock = clock
        self._on_event = on_event
        # By UID, the least recently told first.
        self._told: OrderedDict[str, _Told] = OrderedDict()
        self._unwritten: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._forbidden_until = 0.0
        self._said_forbidden = False

    def failed(self, claim: ResourceClaim, failures: Sequence[ClaimFailure]) -> None:
        """Say that an attempt to prepare a claim failed."""
        before = self._told.get(claim.metadata.uid)
        attempt = before.attempt + 1 if before is not None else 1
        wanted = {
            _key(result): condition
            for result in _results(claim)
            if (condition := _failed_condition(result, failures, attempt)) is not None
        }
        self._tell(claim, attempt, wanted)

    def prepared(self, claim: ResourceClaim) -> None:
        """Say that a claim is prepared, if something else was said before."""
        before = self._told.get(claim.metadata.uid)
        said = set(before.conditions) if before is not None else set(_said_false(claim))
        if not said or (before is not None and before.attempt == 0):
            return
        wanted = {
            _key(result): ("True", _PREPARED, f"Prepared by driver {result.driver}.")
            for result in _results(claim)
            if _key(result) in said
        }
        self._tell(claim, 0, wanted)

    async def run(self) -> None:
        """Write for ever."""
        while True:
            await self._wake.wait()
            pause_seconds = await self.write()
            if pause_seconds:
                await self._clock.sleep(pause_seconds)

    async def write(self) -> float:
        """Write all there is now; returns for how long to leave it then."""
        self._wake.clear()
        while self._unwritten:
            uid = next(iter(self._unwritten))
            del self._unwritten[uid]
            told = self._told.get(uid)
            if told is None or self._clock.monotonic() < self._forbidden_until:
                continue
            try:
                await self._apply(told)
            except Forbidden as error:
                self._forbidden(error)
            except (APIError, TransportError, TimeoutError) as error:
                # A claim that is gone, or no longer what it was, needs no conditions.
                if is_outage(error):
                    self._unwritten[uid] = None
                    self._wake.set()
                    return _OUTAGE_PAUSE_SECONDS
        return 0.0

    def _tell(
        self,
        claim: ResourceClaim,
        attempt: int,
        wanted: Mapping[_DeviceKey, tuple[str, str, str]],
    ) -> None:
        uid = claim.metadata.uid
        before = self._told.pop(uid, None)
        if not wanted and before is None:
            return
        now = str(Time(self._clock.now()))
        conditions: dict[_DeviceKey, _Condition] = {}
        for key, (status, reason, message) in wanted.items():
            old = before.conditions.get(key) if before is not None else None
            since = old.since if old is not None and old.status == status else now
            conditions[key] = _Condition(status, reason, message, since)
        self._told[uid] = _Told(name_of(claim), attempt, conditions)
        if len(self._told) > CLAIMS_MAX:
            forgotten, _ = self._told.popitem(last=False)
            self._unwritten.pop(forgotten, None)
        self._unwritten[uid] = None
        self._wake.set()

    async def _apply(self, told: _Told) -> None:
        await self._client.patch(
            ResourceClaim,
            told.claim.name,
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                # With the UID: a claim of the same name that came later is none of our business.
                "metadata": {
                    "name": told.claim.name,
                    "namespace": told.claim.namespace,
                    "uid": told.claim.uid,
                },
                "status": {"devices": [_device(key, one) for key, one in told.conditions.items()]},
            },
            namespace=told.claim.namespace,
            type=PatchType.APPLY,
            subresource="status",
            field_manager=FIELD_MANAGER,
            force=True,
        )

    def _forbidden(self, error: Forbidden) -> None:
        self._forbidden_until = self._clock.monotonic() + _FORBIDDEN_PAUSE_SECONDS
        if not self._said_forbidden:
            self._said_forbidden = True
            self._on_event(
                "ClaimConditionsForbidden", f"conditions of claims are not written: {error}"
            )


def _failed_condition(
    result: DeviceRequestAllocationResult, failures: Sequence[ClaimFailure], attempt: int
) -> tuple[str, str, str] | None:
    failure = next((one for one in failures if one.driver == result.driver), None)
    if failure is None:
        return None
    what = f"Driver {result.driver}, device {result.pool}/{result.device}"
    reason, text = _REASONS[failure.error_class], failure.message
    if failure.devices:
        mine = [
            one
            for one in failure.devices
            if one.device == result.device and one.pool in ("", result.pool)
        ]
        if not mine:
            reason = _NOT_AT_FAULT if failure.error_class.final else reason
        else:
            # The device may be to blame for more than the claim as a whole says.
            known = mine[0].error_class
            reason = reason if known is ErrorClass.UNKNOWN else _REASONS[known]
            text = mine[0].message or text
    message = shorten(f"{what}: {text}", characters_max=MESSAGE_CHARACTERS_MAX)
    return "False", reason, f"{message} (attempt {attempt})"


def _results(claim: ResourceClaim) -> Sequence[DeviceRequestAllocationResult]:
    allocation = claim.status.allocation
    return () if allocation is None else allocation.devices.results


def _key(result: DeviceRequestAllocationResult) -> _DeviceKey:
    return result.driver, result.pool, result.device, result.share_id


def _said_false(claim: ResourceClaim) -> Iterator[_DeviceKey]:
    """The devices of which an agent before this one said that they are not prepared."""
    for device in claim.status.devices:
        for condition in device.conditions or ():
            if condition.type == CONDITION_TYPE and condition.status == "False":
                yield device.driver, device.pool, device.device, device.share_id


def _device(key: _DeviceKey, condition: _Condition) -> Mapping[str, Any]:
    driver, pool, device, share_id = key
    return {
        "driver": driver,
        "pool": pool,
        "device": device,
        **({"shareID": share_id} if share_id is not None else {}),
        "conditions": [
            {
                "type": CONDITION_TYPE,
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
                "lastTransitionTime": condition.since,
            }
        ],
    }
