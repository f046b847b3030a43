"""What the agent believes about the health of the devices on its node.

The cache keeps the last word on each device, and until when it is believed. A word stops being
believed when it was not renewed within its timeout, when the stream it came from has ended and did
not come back within a grace period, or when it is from before the agent's start. Such a device
reads UNKNOWN, with a message that tells why and what was last known: believing costs nobody the
facts.

Every reading is a function of the entry and the time, so a reader never sees a word that should
have lapsed, whether or not the timer was there first. Messages of unknown devices name instants,
not ages: they stay the same until something happens, and a pod's status with them.

No I/O, no locks, no opinion about pods; one event loop owns the cache, time comes from the clock.
Upstream counterpart: kubelet cm/dra/healthinfo.go, which notices silence when somebody reads.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Final, NamedTuple

from dray.agent.health.words import (
    DEVICES_PER_DRIVER_MAX,
    MESSAGE_BYTES_MAX,
    DeviceID,
    Health,
    Word,
    cut_text,
)
from dray.clock import Clock

__all__ = ["DeviceFact", "HealthCache", "Opinion", "ReportResult"]

# Drivers come and go with their registrations; no node has more than a handful.
DRIVERS_MAX: Final = 256

# Alarms that were overtaken stay in the heap until their time comes. Beyond this many on top of
# twice the number of devices it is built anew.
_STALE_ALARMS_SLACK: Final = 64

_RESTARTED: Final = "not reported since the agent was restarted"


class Opinion(NamedTuple):
    """What a pod's status says of a device now."""

    health: Health = Health.UNKNOWN
    message: str = ""


_NO_OPINION: Final = Opinion()


@dataclass(frozen=True, slots=True)
class DeviceFact:
    """All that is known of a device, for whoever decides what to do about it."""

    device: DeviceID
    health: Health  # what is believed now
    message: str
    since: datetime  # when that began
    reported: Word  # what the driver said last, believed or not
    last_report: datetime
    stale: bool  # whether the driver's word is no longer believed


class ReportResult(NamedTuple):
    """What a report did."""

    changed: tuple[DeviceID, ...]  # those that read otherwise than before
    ignored_count: int  # new devices refused by the cap


class HealthCache:
    """The last word on each device."""

    def __init__(self, clock: Clock, *, devices_max: int = DEVICES_PER_DRIVER_MAX) -> None:
        self._clock = clock
        self._devices_max = devices_max
        self._drivers: dict[str, _Driver] = {}
        self._alarms: list[tuple[float, DeviceID]] = []
        # Grows with every change that is worth keeping over a restart.
        self.version = 0

    def __len__(self) -> int:
        return sum(len(driver.entries) for driver in self._drivers.values())

    # Reading -----------------------------------------------------------------------------------

    def read(self, device: DeviceID) -> Opinion:
        """What to believe of a device. Nobody ever heard of it: UNKNOWN, and no message."""
        driver = self._drivers.get(device.driver)
        entry = driver and driver.entries.get(device)
        if not driver or not entry:
            return _NO_OPINION
        return _opinion(device, driver, entry, self._clock.monotonic())

    def facts(self) -> tuple[DeviceFact, ...]:
        """Everything that is known, sorted by device."""
        now = self._clock.monotonic()
        facts = []
        for _, driver in sorted(self._drivers.items()):
            for device, entry in sorted(driver.entries.items()):
                opinion = _opinion(device, driver, entry, now)
                facts.append(
                    DeviceFact(
                        device,
                        opinion.health,
                        opinion.message,
                        entry.since,
                        entry.word,
                        entry.last_report,
                        stale=opinion is not entry.spoken,
                    )
                )
        return tuple(facts)

    # Hearing -----------------------------------------------------------------------------------

    def apply_report(self, driver: str, words: Mapping[DeviceID, Word]) -> ReportResult:
        """Take a driver's report and return what it changed.

        Devices it does not mention keep their word until it lapses, as upstream has it: a driver
        may send what changed and nothing else.
        """
        # What has lapsed by now lapsed before this report, whether or not the timer was here.
        changed = dict.fromkeys(self.expire())
        now, wall = self._clock.monotonic(), self._clock.now()
        known = self._admit(driver)
        if known is None:
            return ReportResult(tuple(changed), len(words))
        entries = known.entries
        changed.update(dict.fromkeys(self._make_room(known, words)))
        # The stream is back: whoever is not in this report still has until its own timeout.
        known.ends_at, known.end_cause = inf, ""
        ignored_count = 0
        for device, word in words.items():
            entry = entries.get(device)
            if entry is None:
                if len(entries) >= self._devices_max:
                    ignored_count += 1
                    continue
                before = _NO_OPINION
                entry = entries[device] = _Entry(word, wall)
                self.version += 1
            else:
                before = _opinion(device, known, entry, now)
                if entry.word != word or entry.doubt:
                    self.version += 1
                    entry.say(word)
                entry.last_report = wall
            entry.deadline = now + word.timeout_seconds
            if entry.deadline < entry.alarm_at:
                self._set_alarm(device, entry)
            if before != entry.spoken:
                changed[device] = None
                if before.health is not word.health:
                    entry.since = wall
        return ReportResult(tuple(changed), ignored_count)

    def end(self, driver: str, cause: str, *, grace_seconds: float) -> None:
        """The driver's stream has ended: believe its words no longer than the grace period.

        Ends that follow do not prolong it.
        """
        known = self._drivers.get(driver)
        if known is None:
            return
        known.end_cause = cause
        known.ends_at = min(known.ends_at, self._clock.monotonic() + grace_seconds)

    def restore(self, facts: Iterable[DeviceFact]) -> None:
        """Take what was known before the agent's start: remembered, but not believed."""
        for fact in facts:
            known = self._admit(fact.device.driver)
            if known is None or len(known.entries) >= self._devices_max:
                continue
            entry = _Entry(fact.reported, fact.last_report)
            entry.since = fact.since if fact.stale else self._clock.now()
            entry.doubt = _RESTARTED
            known.entries.setdefault(fact.device, entry)

    # Time --------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        """When to call `expire` next, on the monotonic clock. May be too early, never too late."""
        ends = min((driver.ends_at for driver in self._drivers.values()), default=inf)
        alarm = self._alarms[0][0] if self._alarms else inf
        deadline = min(ends, alarm)
        return None if deadline == inf else deadline

    def expire(self) -> tuple[DeviceID, ...]:
        """Stop believing what has lapsed, and return which devices read UNKNOWN since."""
        now, wall = self._clock.monotonic(), self._clock.now()
        changed: list[DeviceID] = []
        for driver in self._drivers.values():
            if driver.ends_at <= now:
                for device, entry in driver.entries.items():
                    self._doubt(device, driver, entry, now, wall, changed)
                driver.ends_at = inf
        while self._alarms and self._alarms[0][0] <= now:
            alarm_at, device = heapq.heappop(self._alarms)
            known = self._drivers.get(device.driver)
            due = known and known.entries.get(device)
            if not known or not due or due.alarm_at != alarm_at:
                continue
            due.alarm_at = inf
            self._doubt(device, known, due, now, wall, changed)
            if not due.doubt:
                self._set_alarm(device, due)
        return tuple(changed)

    def _doubt(
        self,
        device: DeviceID,
        driver: _Driver,
        entry: _Entry,
        now: float,
        wall: datetime,
        changed: list[DeviceID],
    ) -> None:
        """Write down that a word is no longer believed, if that is so."""
        doubt = _why_doubted(device, driver, entry, now)
        if not doubt or entry.doubt:
            return
        entry.doubt = doubt
        self.version += 1
        changed.append(device)
        if entry.word.health is not Health.UNKNOWN:
            entry.since = wall

    # Limits ------------------------------------------------------------------------------------

    def _admit(self, driver: str) -> _Driver | None:
        known = self._drivers.get(driver)
        if known is None and len(self._drivers) >= DRIVERS_MAX:
            for name, other in self._drivers.items():
                if all(entry.doubt for entry in other.entries.values()):
                    del self._drivers[name]
                    self.version += 1
                    break
            else:
                return None
        if known is None:
            known = self._drivers[driver] = _Driver()
        return known

    def _make_room(self, known: _Driver, words: Mapping[DeviceID, Word]) -> list[DeviceID]:
        """Forget doubted devices for the sake of new ones, those that were silent longest first.

        Upstream adds first and forgets at every report. Forgetting first gives the room to new
        devices, and forgetting only then keeps the facts;
        test_at_the_cap_new_devices_wait_until_a_known_one_lapses holds us to it.
        """
        entries = known.entries
        if len(entries) + len(words) <= self._devices_max:
            return []
        new_count = sum(device not in entries for device in words)
        excess = len(entries) + new_count - self._devices_max
        if excess <= 0:
            return []
        doubted = [
            device for device, entry in entries.items() if entry.doubt and device not in words
        ]
        doubted.sort(key=lambda device: entries[device].last_report)
        for device in doubted[:excess]:
            del entries[device]
            self.version += 1
        return doubted[:excess]

    def _set_alarm(self, device: DeviceID, entry: _Entry) -> None:
        """Ring at the entry's deadline. One alarm per device counts; later deadlines reuse it."""
        entry.alarm_at = entry.deadline
        heapq.heappush(self._alarms, (entry.alarm_at, device))
        if len(self._alarms) > 2 * len(self) + _STALE_ALARMS_SLACK:
            self._alarms = [
                (entry.alarm_at, device)
                for driver in self._drivers.values()
                for device, entry in driver.entries.items()
                if entry.alarm_at < inf
            ]
            heapq.heapify(self._alarms)


class _Entry:
    __slots__ = ("alarm_at", "deadline", "doubt", "last_report", "since", "spoken", "word")

    def __init__(self, word: Word, heard: datetime) -> None:
        self.say(word)
        self.since = self.last_report = heard
        self.deadline = inf
        self.alarm_at = inf

    def say(self, word: Word) -> None:
        self.word = word
        self.spoken = Opinion(word.health, word.message)
        self.doubt = ""  # why the word is no longer believed, once written down


@dataclass(slots=True)
class _Driver:
    entries: dict[DeviceID, _Entry] = field(default_factory=dict)
    ends_at: float = inf  # when its words stop being believed because the stream has ended
    end_cause: str = ""


def _why_doubted(device: DeviceID, driver: _Driver, entry: _Entry, now: float) -> str:
    """Why a word is not believed; empty if it is."""
    if entry.doubt:
        return entry.doubt
    if now >= entry.deadline:
        seconds = entry.word.timeout_seconds
        return f"driver {device.driver} has not reported this device for {seconds:g} s"
    if now >= driver.ends_at:
        return driver.end_cause
    return ""


def _opinion(device: DeviceID, driver: _Driver, entry: _Entry, now: float) -> Opinion:
    doubt = _why_doubted(device, driver, entry, now)
    if not doubt:
        return entry.spoken
    word = entry.word
    at = f"{entry.last_report:%Y-%m-%dT%H:%M:%SZ}"
    message = f"{doubt}; last known {word.health.value} at {at}"
    if word.message:
        message += f": {word.message}"
    return Opinion(Health.UNKNOWN, cut_text(message, MESSAGE_BYTES_MAX))
