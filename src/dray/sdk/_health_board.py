"""The last word on every device, for anybody who listens.

A word holds for its timeout, and becomes Unknown, with a message that says why, when nothing renews
it. Listeners get everything that is known at once, then changes, and renewed words three times per
timeout. What waits for a slow listener is at most one word per device: the latest.

Nothing is known of a device before the first word on it, and then nothing is reported. Who speaks,
and what proves that a speaker is still awake, is the monitor's business.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeAlias

from dray.api.resource import Device
from dray.clock import Clock, within
from dray.sdk._health import DEFAULT_TIMEOUT_SECONDS, DeviceHealth, Health, cut_message

__all__ = ["HealthBoard", "HealthMetrics", "Key"]

_log = logging.getLogger(__name__)

# How often a word is sent again before it would lapse: two may get lost.
HEARTBEATS_PER_TIMEOUT: Final = 3

# A first change goes out at once; those in the next moment are sent together, so that a device that
# flaps a hundred times a second costs twenty messages.
REPORT_GAP_SECONDS: Final = 0.05

# Names are not checked against the inventory, for devices come and go; as many as a kubelet keeps.
DEVICES_MAX: Final = 16_384

# A pool's name and a device's.
Key: TypeAlias = tuple[str, str]


class HealthMetrics(Protocol):
    """What is counted."""

    def health_states(self, counts: Mapping[Health, int]) -> None:
        """So many devices are in each state."""
        ...


@dataclass(slots=True)
class _Entry:
    word: DeviceHealth
    heard_at: float
    speaker: int
    lapsed: bool = False

    @property
    def due_at(self) -> float:
        return self.heard_at + self.word.timeout_seconds


@dataclass(slots=True, eq=False)
class _Listener:
    pending: dict[Key, DeviceHealth]
    beat_at: float
    # When the word a listener has on each device was heard.
    told: dict[Key, float] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class HealthBoard:
    """Words by device. `run` has them lapse in time."""

    def __init__(
        self,
        *,
        clock: Clock,
        on_change: Callable[[Sequence[DeviceHealth]], None] | None = None,
        on_forget: Callable[[str, str], None] = lambda _pool, _device: None,
        metrics: HealthMetrics | None = None,
    ) -> None:
        self._clock = clock
        self._on_change = on_change
        self._on_forget = on_forget
        self._metrics = metrics
        self._entries: dict[Key, _Entry] = {}
        self._counts: Counter[Health] = Counter()
        self._listeners: set[_Listener] = set()
        self._pools: dict[str, list[str]] = {}
        # Words without a pool, on devices that are not in the inventory yet.
        self._parked: dict[str, tuple[DeviceHealth, int]] = {}
        self._overfull = False
        self._lapse_at = 0.0
        self._lapse_sooner = asyncio.Event()

    def state(self) -> tuple[DeviceHealth, ...]:
        """The last word on every device."""
        return tuple(entry.word for entry in self._entries.values())

    def word(self, key: Key) -> DeviceHealth | None:
        """The last word on a device."""
        entry = self._entries.get(key)
        return entry.word if entry else None

    def place(self, devices: Sequence[tuple[str, Device]]) -> None:
        """These are the devices now: forget others, and find the pools of those spoken of."""
        self._pools = {}
        for pool, device in devices:
            self._pools.setdefault(device.name, []).append(pool)
        present = {(pool, device.name) for pool, device in devices}
        for key in [key for key in self._entries if key not in present]:
            self.forget(key)
        parked, self._parked = self._parked, {}
        for word, speaker in parked.values():
            self.hear([word], speaker=speaker)

    def hear(self, words: Iterable[DeviceHealth], *, speaker: int = 0) -> None:
        """Take these words in, and tell listeners what they change."""
        now = self._clock.monotonic()
        changed: dict[Key, DeviceHealth] = {}
        for spoken in words:
            word = self._placed(spoken, speaker)
            if word is None:
                continue
            key = (word.pool, word.device)
            entry = self._entries.get(key)
            if entry is None and len(self._entries) >= DEVICES_MAX:
                self._refuse(word)
                continue
            if entry is None or entry.word != word:
                changed[key] = word
                self._recount(entry.word if entry else None, word)
            self._entries[key] = heard = _Entry(word, now, speaker)
            if heard.due_at < self._lapse_at:
                self._lapse_sooner.set()
        self._tell(changed)

    def renew(self, speaker: int) -> None:
        """What this speaker said still holds."""
        now = self._clock.monotonic()
        for entry in self._entries.values():
            if entry.speaker == speaker and not entry.lapsed:
                entry.heard_at = now

    def forget(self, key: Key) -> None:
        """There is nothing more to say about this device."""
        gone = self._entries.pop(key, None)
        if gone is not None:
            for listener in self._listeners:
                listener.pending.pop(key, None)
                listener.told.pop(key, None)
            self._recount(gone.word, None)
            self._show_counts()
            self._on_forget(*key)

    def beat_seconds(self) -> float:
        """How often words must be renewed so that none lapses."""
        timeouts = (entry.word.timeout_seconds for entry in self._entries.values())
        return min(timeouts, default=DEFAULT_TIMEOUT_SECONDS) / HEARTBEATS_PER_TIMEOUT

    async def reports(self) -> AsyncGenerator[tuple[DeviceHealth, ...], None]:
        """What is known now, then what changes, and words that were renewed; without an end."""
        now = self._clock.monotonic()
        listener = _Listener(
            {key: entry.word for key, entry in self._entries.items()}, now + self.beat_seconds()
        )
        self._listeners.add(listener)
        sent_at = now - REPORT_GAP_SECONDS
        try:
            while True:
                await self._until_due(listener, sent_at + REPORT_GAP_SECONDS)
                now = self._clock.monotonic()
                words, listener.pending = listener.pending, {}
                if now >= listener.beat_at:
                    words |= self._renewed_for(listener)
                    listener.beat_at = now + self.beat_seconds()
                if words:
                    sent_at = now
                    listener.told |= {key: self._entries[key].heard_at for key in words}
                    yield tuple(words.values())
        finally:
            self._listeners.discard(listener)

    async def _until_due(self, listener: _Listener, not_before: float) -> None:
        """Return when there is a change to tell or a heartbeat to give, but not before its time."""
        while not listener.pending and self._clock.monotonic() < listener.beat_at:
            listener.wake.clear()
            seconds = listener.beat_at - self._clock.monotonic()
            with suppress(TimeoutError):
                await within(self._clock, seconds, listener.wake.wait())
        early_seconds = not_before - self._clock.monotonic()
        if early_seconds > 0:
            await self._clock.sleep(early_seconds)

    def _renewed_for(self, listener: _Listener) -> dict[Key, DeviceHealth]:
        return {
            key: entry.word
            for key, entry in self._entries.items()
            # Not to know needs no proof: so the reason stays visible.
            if entry.lapsed or entry.heard_at > listener.told.get(key, -1.0)
        }

    def _placed(self, word: DeviceHealth, speaker: int) -> DeviceHealth | None:
        """The word with its pool; None when the device is not in the inventory yet, or twice."""
        if word.pool:
            return word
        pools = self._pools.get(word.device, ())
        if len(pools) == 1:
            return replace(word, pool=pools[0])
        if pools:
            _log.warning(
                "health of device %s: it is in the pools %s, and the word does not say which",
                word.device,
                ", ".join(pools),
            )
        elif word.device in self._parked or len(self._parked) < DEVICES_MAX:
            self._parked[word.device] = (word, speaker)
        else:
            self._refuse(word)
        return None

    def _refuse(self, word: DeviceHealth) -> None:
        if not self._overfull:
            self._overfull = True
            _log.error(
                "health of device %s is not kept: more than %d devices were named",
                word.device,
                DEVICES_MAX,
            )

    def _tell(self, changed: Mapping[Key, DeviceHealth]) -> None:
        if not changed:
            return
        now = self._clock.monotonic()
        shortest_seconds = min(word.timeout_seconds for word in changed.values())
        for listener in self._listeners:
            listener.pending.update(changed)
            beat_at = now + shortest_seconds / HEARTBEATS_PER_TIMEOUT
            listener.beat_at = min(listener.beat_at, beat_at)
            listener.wake.set()
        self._show_counts()
        if self._on_change is not None:
            self._on_change(tuple(changed.values()))

    def _recount(self, old: DeviceHealth | None, new: DeviceHealth | None) -> None:
        if old is not None:
            self._counts[old.health] -= 1
        if new is not None:
            self._counts[new.health] += 1

    def _show_counts(self) -> None:
        if self._metrics is not None:
            self._metrics.health_states(self._counts)

    async def run(self) -> None:
        """Have words lapse when their time is over, until cancelled."""
        while True:
            now = self._clock.monotonic()
            self._lapse(now)
            standing = (entry.due_at for entry in self._entries.values() if not entry.lapsed)
            self._lapse_at = min(standing, default=float("inf"))
            self._lapse_sooner.clear()
            if self._lapse_at == float("inf"):
                await self._lapse_sooner.wait()
            else:
                with suppress(TimeoutError):
                    await within(self._clock, self._lapse_at - now, self._lapse_sooner.wait())

    def _lapse(self, now: float) -> None:
        changed: dict[Key, DeviceHealth] = {}
        for key, entry in self._entries.items():
            word = entry.word
            if entry.lapsed or now < entry.due_at:
                continue
            message = (
                f"the driver's monitor has been silent for {word.timeout_seconds:g} s;"
                f" before that: {word.health.value}"
            )
            if word.message:
                message = cut_message(f"{message}, {word.message}")
            entry.lapsed = True
            entry.word = replace(word, health=Health.UNKNOWN, message=message)
            self._recount(word, entry.word)
            changed[key] = entry.word
        self._tell(changed)
