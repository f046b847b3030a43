"""Judges GPUs by what was read of them and what happened to them. Pure: no NVML, no clock.

A fault makes a GPU unhealthy at once. It is healthy again only when that is shown: nothing wrong in
any look for a while and, after a fault that leaves a GPU in need of a reset, a reset. A reset shows
in the GPU itself: it was away and came back, the kernel driver wants nothing done, or its counters
begin anew. A fault of one MIG instance is that instance's; a fault of a GPU is all its instances'.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from dray.drivers.nvml.config import HealthRules
from dray.drivers.nvml.probe import Reading
from dray.drivers.nvml.xids import RESET_XIDS, describe_xid
from dray.sdk import Health

__all__ = ["GpuHealth", "Verdict", "worse"]

_WATCHED: Final = "the GPU is without fault now and being watched"

_ACTIONS: Final = {
    1: "a reset of the GPU",
    2: "a restart of the machine",
    3: "its peers to be drained",
    4: "to be drained and reset",
    5: "recovery of its IMEX domain",
    6: "a reset of the bus",
    7: "a restart of the machine",
}

_ORDER: Final = (Health.HEALTHY, Health.DEGRADED, Health.UNKNOWN, Health.UNHEALTHY)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a GPU, or a part of it, is, and why."""

    health: Health
    message: str = ""


def worse(one: Verdict, other: Verdict) -> Verdict:
    """The worse of two verdicts, the first if they are as bad."""
    return other if _ORDER.index(other.health) > _ORDER.index(one.health) else one


@dataclass(frozen=True, slots=True)
class _Fault:
    """Something that happened."""

    verdict: Verdict
    at: float
    needs_reset: bool = False
    is_xid: bool = False


@dataclass(slots=True)
class GpuHealth:
    """What is known of one GPU."""

    rules: HealthRules
    unwatched: str = ""  # why XIDs are not heard of
    _reading: Reading | None = None
    # The last fault of the GPU (None), and of each of its instances.
    _faults: dict[int | None, _Fault] = field(default_factory=dict)
    _last_bad_at: float | None = None
    _errors_at_start: int | None = None
    _links_at_start: int | None = None
    _link_errors: int | None = None
    _noisy: bool = False
    _was_lost: bool = False

    def hear_xid(self, number: int, *, instance: int | None, now: float) -> None:
        """An XID happened, to the GPU or to one of its instances."""
        if number in self.rules.ignore_xids:
            return
        mild = number in self.rules.application_xids
        health = Health.DEGRADED if mild else Health.UNHEALTHY
        fault = _Fault(
            Verdict(health, describe_xid(number)),
            now,
            needs_reset=not mild and number in RESET_XIDS,
            is_xid=True,
        )
        # A GPU that needs a reset is the same for all its instances.
        key = None if fault.needs_reset else instance
        known = self._faults.get(key)
        if known is not None and (
            worse(fault.verdict, known.verdict) is not fault.verdict or known.needs_reset
        ):
            # The worse one stays, but it has not been quiet since.
            fault = replace(known, at=now)
        self._faults[key] = fault

    def hear_reading(self, reading: Reading, *, now: float) -> None:
        """The GPU was looked at."""
        self._notice_reset(reading, now)
        if reading.uncorrected_errors is not None and self._errors_at_start is None:
            self._errors_at_start = reading.uncorrected_errors
        if reading.links_up is not None:
            self._links_at_start = max(self._links_at_start or 0, reading.links_up)
        if reading.link_errors is not None:
            grown = reading.link_errors - (
                reading.link_errors if self._link_errors is None else self._link_errors
            )
            self._noisy = grown > self.rules.nvlink_errors_max
            self._link_errors = reading.link_errors
        self._reading = reading
        state = self._judge(reading)
        if state.health in (Health.UNHEALTHY, Health.UNKNOWN):
            self._last_bad_at = now
        if state.health is Health.UNHEALTHY:
            self._faults[None] = _merge(self._faults.get(None), _Fault(state, now))
        elif state.health is not Health.UNKNOWN:
            self._forget_healed(now)

    def _notice_reset(self, reading: Reading, now: float) -> None:
        """Drop what only a reset ends, if there was one."""
        if reading.lost:
            self._was_lost = True
            return
        if reading.unreadable:
            return
        errors, before = reading.uncorrected_errors, self._reading
        anew = self._was_lost
        if errors is not None and before is not None:
            anew = anew or errors < (before.uncorrected_errors or 0)
        if before is not None and before.recovery_action and reading.recovery_action == 0:
            anew = True
        if anew:
            self._was_lost = False
            # Counters begin at zero then, so what they hold is new.
            self._errors_at_start = min(self._errors_at_start or 0, errors or 0)
        for key, fault in self._faults.items():
            # The kernel driver may need a moment before it asks for something.
            content = reading.recovery_action == 0 and self._quiet(fault, now)
            if anew or content:
                self._faults[key] = replace(fault, needs_reset=False)

    def _quiet(self, fault: _Fault, now: float) -> bool:
        """Whether nothing was wrong for so long that a fault is over."""
        bad_at = fault.at if self._last_bad_at is None else max(fault.at, self._last_bad_at)
        return now - bad_at >= self.rules.recover_seconds

    def _forget_healed(self, now: float) -> None:
        for key, fault in list(self._faults.items()):
            if not fault.needs_reset and self._quiet(fault, now):
                del self._faults[key]

    def verdict(self, instance: int | None = None) -> Verdict:
        """How the GPU is, or one of its instances."""
        if self._reading is None:
            return Verdict(Health.UNKNOWN, "the GPU has not been looked at yet")
        found = self._judge(self._reading)
        for key in dict.fromkeys((instance, None)):
            fault = self._faults.get(key)
            if fault is not None:
                # Of two that are as bad, what happened says more than what is seen now.
                found = worse(self._told(fault, found), found)
        if found.health is Health.HEALTHY and self.unwatched:
            return Verdict(Health.HEALTHY, f"only probed, XID errors go unseen: {self.unwatched}")
        return found

    def _told(self, fault: _Fault, state: Verdict) -> Verdict:
        if fault.verdict.health is not Health.UNHEALTHY:
            return fault.verdict
        if fault.needs_reset:
            return replace(fault.verdict, message=f"{fault.verdict.message}; it needs a reset")
        if state.health in (Health.HEALTHY, Health.DEGRADED):
            return replace(fault.verdict, message=f"{fault.verdict.message}; {_WATCHED}")
        return fault.verdict

    def _judge(self, reading: Reading) -> Verdict:
        """How the GPU is by this look alone."""
        if reading.lost:
            return Verdict(Health.UNHEALTHY, f"the GPU does not answer: {reading.lost}")
        if reading.unreadable:
            return Verdict(Health.UNKNOWN, f"the GPU cannot be read: {reading.unreadable}")
        found = Verdict(Health.HEALTHY)
        for health, message in self._complaints(reading):
            found = worse(found, Verdict(health, message))
        return found

    def _complaints(self, reading: Reading) -> list[tuple[Health, str]]:
        told: list[tuple[Health, str]] = []
        if reading.temperature is not None:
            # The temperature is not named: each degree would be news to everybody.
            if reading.shutdown_at is not None and reading.temperature >= reading.shutdown_at:
                limit = f"the GPU is too hot: it shuts down above {reading.shutdown_at} °C"
                told.append((Health.UNHEALTHY, limit))
            elif reading.slowdown_at is not None and reading.temperature >= reading.slowdown_at:
                limit = f"the GPU is hot: it slows down above {reading.slowdown_at} °C"
                told.append((Health.DEGRADED, limit))
        errors, before = reading.uncorrected_errors or 0, self._errors_at_start or 0
        if errors > before:
            told.append((Health.UNHEALTHY, f"{errors - before} new uncorrectable memory errors"))
        elif errors:
            told.append(
                (Health.DEGRADED, f"{errors} uncorrectable memory errors since the last reset")
            )
        if reading.remap_failed:
            told.append((Health.UNHEALTHY, "memory rows could not be remapped: replace the GPU"))
        if reading.remap_pending:
            told.append((Health.DEGRADED, "memory rows are remapped at the next reset of the GPU"))
        if reading.retirement_pending:
            told.append((Health.DEGRADED, "memory pages are retired at the next reset of the GPU"))
        if reading.links_up is not None and reading.links_up < (self._links_at_start or 0):
            down = (self._links_at_start or 0) - reading.links_up
            told.append((Health.DEGRADED, f"{down} of {self._links_at_start} NVLinks are down"))
        elif self._noisy:
            told.append((Health.DEGRADED, "NVLinks have many errors"))
        if reading.recovery_action:
            wanted = _ACTIONS.get(reading.recovery_action, f"action {reading.recovery_action}")
            told.append((Health.UNHEALTHY, f"the kernel driver asks for {wanted}"))
        return told


def _merge(known: _Fault | None, new: _Fault) -> _Fault:
    """What is remembered of two faults: an XID says more than what it led to."""
    if known is None or not known.is_xid or known.verdict.health is not Health.UNHEALTHY:
        return new
    return replace(known, at=new.at)
