"""A pod's devices over its life: prepared before it starts, given back after it ends.

What a failure means depends on its class. One that may pass is tried again, from 1 s to 60 s apart
and at once when the driver returns, and a condition says which driver, which device, and when next.
One that will not pass ends the pod, with a reason that says whose fault it is: a broken device is
also a disruption, so that a job's failure policy can tell it from a broken program. Devices that
cannot be given back are tried for ever, because nobody else may have them until then.

Departures from upstream, which knows one class and one pace: see the table in docs/designs/node.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from dray.agent.claims.failures import ClaimFailure, ErrorClass, PrepareFailed, UnprepareFailed
from dray.agent.pods.collaborators import WARNING, Claims, Events, Health
from dray.agent.pods.conditions import DEVICES_PREPARED, DEVICES_RELEASED, Condition
from dray.agent.pods.status import Verdict
from dray.agent.pods.status_patch import DEVICE_FAILED
from dray.agent.retry import RetrySchedule
from dray.api.core import Pod
from dray.api.wire import Time
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import shorten

__all__ = ["DEVICE_PREPARE_FAILED", "INVALID_DEVICE_CONFIG", "DeviceKeeper", "uses_claims"]

INVALID_DEVICE_CONFIG: Final = "InvalidDeviceConfig"
DEVICE_PREPARE_FAILED: Final = "DevicePrepareFailed"

# A pod's condition is for reading: longer texts are cut. Events keep a kilobyte as well.
MESSAGE_CHARACTERS_MAX: Final = 1024

_REASONS: Final = {
    ErrorClass.INVALID_CONFIG: INVALID_DEVICE_CONFIG,
    ErrorClass.DEVICE_FAILED: DEVICE_FAILED,
    ErrorClass.PERMANENT: DEVICE_PREPARE_FAILED,
}
_RETRYING: Final = "PrepareFailed"
_PREPARED: Final = "Prepared"
_NOT_RELEASED: Final = "UnprepareFailed"
_RELEASED: Final = "Unprepared"


def uses_claims(pod: Pod) -> bool:
    """Whether a pod asks for any devices."""
    return bool(pod.spec.resource_claims) or pod.status.extended_resource_claim_status is not None


class DeviceKeeper:
    """The devices of one pod."""

    def __init__(
        self, claims: Claims, health: Health, events: Events, *, clock: Clock, entropy: Entropy
    ) -> None:
        self._claims = claims
        self._health = health
        self._events = events
        self._clock = clock
        self._prepare_retries = RetrySchedule(entropy)
        self._release_retries = RetrySchedule(entropy)
        self._conditions: dict[str, Condition] = {}
        self._drivers: frozenset[str] = frozenset()  # whose failure is waited for
        self.verdict: Verdict | None = None
        self.released = False

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What the pod's status is to say; nothing while nothing went wrong."""
        return tuple(self._conditions.values())

    @property
    def ready_at(self) -> float | None:
        """When there is something to try again, on the monotonic clock."""
        return self._release_retries.ready_at or self._prepare_retries.ready_at

    def hurry(self, driver: str = "") -> bool:
        """A driver is back, or the pod changed: whether that is what was waited for."""
        waits = self.ready_at is not None and (
            not driver or not self._drivers or driver in self._drivers
        )
        if waits:
            self._prepare_retries.hurry()
            self._release_retries.hurry()
        return waits

    async def prepare(self, pod: Pod) -> bool:
        """Whether the devices are ready; if not, `ready_at` or `verdict` says what is next."""
        if not uses_claims(pod):
            return True
        if self.verdict is not None or self._prepare_retries.waits(self._clock.monotonic()):
            return False
        try:
            await self._claims.prepare(pod)
        except PrepareFailed as error:
            self._fail(pod, error)
            return False
        self._succeed()
        return True

    async def refresh(self, pod: Pod) -> bool:
        """Have drivers put back what got lost; whether they did."""
        try:
            await self._claims.refresh(pod)
        except PrepareFailed as error:
            self._fail(pod, error)
            return False
        self._succeed()
        return True

    async def release(self, pod: Pod) -> bool:
        """Whether the pod's devices are given back."""
        if self.released:
            return True
        if self._release_retries.waits(self._clock.monotonic()):
            return False
        self._prepare_retries.reset()
        if uses_claims(pod) or self._claims.claims_of(pod.metadata.uid):
            self._health.freeze(pod)
            try:
                await self._claims.unprepare(pod)
            except UnprepareFailed as error:
                self._fail_release(pod, error)
                return False
        if DEVICES_RELEASED in self._conditions:
            self._set(DEVICES_RELEASED, status=True, reason=_RELEASED)
        self._release_retries.reset()
        self.released = True
        return True

    def _succeed(self) -> None:
        self._prepare_retries.reset()
        self._drivers = frozenset()
        if DEVICES_PREPARED in self._conditions:
            self._set(DEVICES_PREPARED, status=True, reason=_PREPARED)

    def _fail(self, pod: Pod, error: PrepareFailed) -> None:
        text = f"Failed to prepare dynamic resources: {error}"
        self._events.record(pod, WARNING, "FailedPrepareDynamicResources", text)
        told = _tell(error.failures) or str(error)
        reason = _REASONS.get(error.error_class)
        if reason is not None:
            message = shorten(told, characters_max=MESSAGE_CHARACTERS_MAX)
            self._set(DEVICES_PREPARED, status=False, reason=reason, message=message)
            self.verdict = Verdict(
                reason, message, disruption=error.error_class is ErrorClass.DEVICE_FAILED
            )
            return
        self._drivers = frozenset(failure.driver for failure in error.failures if failure.driver)
        delay = self._prepare_retries.fail(self._clock.monotonic())
        message = self._next_try(told, self._prepare_retries.attempts, delay)
        self._set(DEVICES_PREPARED, status=False, reason=_RETRYING, message=message)

    def _fail_release(self, pod: Pod, error: UnprepareFailed) -> None:
        text = f"Failed to unprepare dynamic resources: {error}"
        self._events.record(pod, WARNING, "FailedUnprepareDynamicResources", text)
        self._drivers = frozenset(failure.driver for failure in error.failures if failure.driver)
        delay = self._release_retries.fail(self._clock.monotonic())
        told = _tell(error.failures) or str(error)
        message = self._next_try(told, self._release_retries.attempts, delay)
        self._set(DEVICES_RELEASED, status=False, reason=_NOT_RELEASED, message=message)

    def _next_try(self, told: str, attempts: int, delay_seconds: float) -> str:
        at = Time(self._clock.now() + timedelta(seconds=delay_seconds))
        told = shorten(told, characters_max=MESSAGE_CHARACTERS_MAX)
        return f"{told} (attempt {attempts}, next try at {at})"

    def _set(self, kind: str, *, status: bool, reason: str, message: str = "") -> None:
        self._conditions[kind] = Condition(kind, status=status, reason=reason, message=message)


def _tell(failures: Sequence[ClaimFailure]) -> str:
    """Every failure in a line: driver, claim, device, and what is wrong."""
    told = []
    for failure in failures:
        where = f"driver {failure.driver}: " if failure.driver else ""
        # What a driver says of claims that nobody asked for is about none of them.
        if failure.claim.name:
            where += f"ResourceClaim {failure.claim.namespace}/{failure.claim.name}: "
        devices = "; ".join(
            f"device {device.pool}/{device.device}: {device.message}" for device in failure.devices
        )
        told.append(where + (devices or failure.message))
    return "; ".join(told)
