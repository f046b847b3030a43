"""Taints that are laid over the inventory: what a driver's code set, and what health calls for.

Health taints at once and untaints late: only a device that was well for a while without a break is
offered again, and Unknown is not well. A device that flaps keeps its taint and the taint's time, so
no toleration starts anew, and causes one publication a second at most.

Taints are kept in a file: what failed before a restart stays failed after it. They stay also while
the device is gone, for broken devices come and go. Of two processes that share the file, each
learns what the other wrote when it next writes itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from dray.api.names import label_key, label_value
from dray.api.resource import (
    TAINT_EFFECT_NO_EXECUTE,
    TAINT_EFFECT_NO_SCHEDULE,
    TAINT_EFFECT_NONE,
    Device,
    DeviceTaint,
)
from dray.api.wire import Time, replace
from dray.clock import Clock, within
from dray.sdk._health import DeviceHealth, Health
from dray.sdk._inventory import Inventory, InventoryError, Pool
from dray.sdk._taint_file import StoredTaint, TaintFile

__all__ = ["TaintPolicy", "Taints"]

_log = logging.getLogger(__name__)

# The API's limit, taints of the inventory included.
TAINTS_PER_DEVICE_MAX: Final = 16

# A driver that taints more than this does not know its devices; as many as health is kept of.
TAINTED_DEVICES_MAX: Final = 16_384

# How long a device must be well before it is offered again.
HOLD_SECONDS: Final = 60.0

# Between two publications for the sake of health. The first of them is at once.
PUBLISH_GAP_SECONDS: Final = 1.0

_EFFECTS: Final = (TAINT_EFFECT_NO_EXECUTE, TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_NONE)

# These say that a device works. Unknown does not.
_WELL: Final = frozenset({Health.HEALTHY, Health.DEGRADED})

_Device: TypeAlias = tuple[str, str]
_Mark: TypeAlias = tuple[str, str]  # key and effect: what tells taints of a device apart


@dataclass(frozen=True, slots=True)
class TaintPolicy:
    """Which taint each state of health calls for, and how long recovery must last."""

    taints: Mapping[Health, DeviceTaint] = field(default_factory=dict)
    hold_seconds: float = HOLD_SECONDS

    @staticmethod
    def usual(driver: str) -> TaintPolicy:
        """Nobody new gets an unhealthy device; whoever has it keeps it."""
        taint = DeviceTaint(key=f"{driver}/unhealthy", effect=TAINT_EFFECT_NO_SCHEDULE)
        return TaintPolicy({Health.UNHEALTHY: taint})


class Taints:
    """All taints of a driver's devices, by pool and device.

    `on_change` is called when there is something new to publish; it must not wait. Without a policy
    health taints nothing.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        on_change: Callable[[], None],
        path: Path | None = None,
        policy: TaintPolicy | None = None,
    ) -> None:
        self._clock = clock
        self._on_change = on_change
        self._policy = policy
        self._file = TaintFile(path)
        self._taints: dict[_Device, dict[_Mark, StoredTaint]] = {}
        # Since when devices with taints that recover are well.
        self._well_since: dict[_Device, float] = {}
        self._well: set[_Device] = set()
        self._wake = asyncio.Event()
        self._changed = False
        self._published_at: float | None = None
        self._adopt(self._file.read())

    def set(
        self,
        pool: str,
        device: str,
        key: str,
        value: str = "",
        effect: str = TAINT_EFFECT_NO_SCHEDULE,
        *,
        recovers: bool = False,
    ) -> None:
        """Taint a device. The same again changes nothing, also not the time it was added.

        `recovers`: good health takes it away after a while; else only `clear` does. Raises
        InventoryError for what the API would refuse.
        """
        problems = [f"taint key {key}: {rule}" for rule in label_key(key)]
        problems += [f"taint value {value}: {rule}" for rule in label_value(value)]
        if effect not in _EFFECTS:
            problems.append(f"taint effect {effect} is none of {', '.join(_EFFECTS)}")
        target = (pool, device)
        held = self._taints.get(target, {})
        if (key, effect) not in held and len(held) >= TAINTS_PER_DEVICE_MAX:
            problems.append(f"it has {TAINTS_PER_DEVICE_MAX} taints, and can have no more")
        if target not in self._taints and len(self._taints) >= TAINTED_DEVICES_MAX:
            problems.append(f"{TAINTED_DEVICES_MAX} devices have taints, and no more can")
        if problems:
            raise InventoryError(f"device {pool}/{device}", problems)
        taint = DeviceTaint(key=key, value=value, effect=effect)
        if self._add(target, taint, recovers=recovers, judged=False):
            # From now: that it was well before did not keep it from failing.
            self._well_since.pop(target, None)
            self._await_recovery(target)
            self._publish()

    def clear(self, pool: str, device: str, key: str, effect: str = "") -> bool:
        """Take a taint away, with every effect unless one is named; whether there was one."""
        target = (pool, device)
        held = self._taints.get(target, {})
        found = [mark for mark in held if mark[0] == key and effect in ("", mark[1])]
        for mark in found:
            self._remove(target, mark)
        if found:
            self._publish()
        return bool(found)

    def of(self, pool: str, device: str) -> tuple[DeviceTaint, ...]:
        """The taints of a device, without those its driver's inventory has."""
        return tuple(each.taint for each in self._taints.get((pool, device), {}).values())

    def hear(self, words: Iterable[DeviceHealth]) -> None:
        """News of health; what follows is published by `run`."""
        for word in words:
            target = (word.pool, word.device)
            called_for = self._policy.taints.get(word.health) if self._policy else None
            if called_for is not None:
                self._judge(target, called_for)
            if word.health in _WELL and called_for is None:
                self._well.add(target)
                self._await_recovery(target)
            else:
                self._well.discard(target)
                self._well_since.pop(target, None)
        self._wake.set()

    def forget(self, pool: str, device: str) -> None:
        """Nothing is said of this device's health any more, so it is not known to be well."""
        self._well.discard((pool, device))
        self._well_since.pop((pool, device), None)

    def apply(self, inventory: Inventory, node_name: str) -> Inventory:
        """The inventory with its devices tainted."""
        if not self._taints:
            return inventory
        return Inventory(self._tainted_pool(pool, node_name) for pool in inventory.pools)

    async def run(self) -> None:
        """Untaint what recovered, and publish for the sake of health, until cancelled."""
        while True:
            self._wake.clear()
            now = self._clock.monotonic()
            self._release(now)
            if self._changed and now >= self._next_publication():
                self._publish()
            deadlines = [since + self._hold_seconds for since in self._well_since.values()]
            if self._changed:
                deadlines.append(self._next_publication())
            if not deadlines:
                await self._wake.wait()
                continue
            with suppress(TimeoutError):
                await within(self._clock, min(deadlines) - now, self._wake.wait())

    @property
    def _hold_seconds(self) -> float:
        return self._policy.hold_seconds if self._policy else HOLD_SECONDS

    def _next_publication(self) -> float:
        if self._published_at is None:
            # Not the time it is: read a moment after `now`, that would always be still to come.
            return float("-inf")
        return self._published_at + PUBLISH_GAP_SECONDS

    def _publish(self) -> None:
        self._changed = False
        self._published_at = self._clock.monotonic()
        kept = self._file.write(each for held in self._taints.values() for each in held.values())
        if kept is not None:
            self._adopt(kept)
        self._on_change()

    def _adopt(self, kept: Iterable[StoredTaint]) -> None:
        """Have these: what was written by another process, before this one or beside it."""
        taints = self._policy.taints.values() if self._policy else ()
        called_for = {_mark(taint) for taint in taints}
        self._taints = {}
        for stored in kept:
            # What health called for under another policy, nothing would ever take away.
            if not stored.judged or _mark(stored.taint) in called_for:
                self._of((stored.pool, stored.device))[_mark(stored.taint)] = stored
        for target in [target for target in self._well_since if target not in self._taints]:
            del self._well_since[target]
        for target in self._taints:
            self._await_recovery(target)

    def _judge(self, target: _Device, called_for: DeviceTaint) -> None:
        """Have this taint, and no other that health called for before."""
        if target not in self._taints and len(self._taints) >= TAINTED_DEVICES_MAX:
            _log.error("device %s/%s: too many devices have taints already", *target)
            return
        held = self._of(target)
        for mark in [mark for mark, each in held.items() if each.judged]:
            if mark != _mark(called_for):
                self._remove(target, mark)
        self._add(target, called_for, recovers=True, judged=True)

    def _await_recovery(self, target: _Device) -> None:
        """Start to count the time that a tainted device is well, unless that has begun."""
        held = self._taints.get(target, {})
        if target in self._well and any(each.recovers for each in held.values()):
            self._well_since.setdefault(target, self._clock.monotonic())
            self._wake.set()

    def _release(self, now: float) -> None:
        recovered = [
            target
            for target, since in self._well_since.items()
            # The very sum that `run` waits for: a difference may be rounded to less, for ever.
            if now >= since + self._hold_seconds
        ]
        for target in recovered:
            del self._well_since[target]
            for mark in [mark for mark, each in self._taints[target].items() if each.recovers]:
                self._remove(target, mark)

    def _add(self, target: _Device, taint: DeviceTaint, *, recovers: bool, judged: bool) -> bool:
        held = self._of(target)
        before = held.get(_mark(taint))
        if before is not None and judged and not before.judged:
            # Whoever sets it by hand decides what it says and when it goes.
            return False
        if before is not None and before.taint.value == taint.value:
            held[_mark(taint)] = StoredTaint(*target, before.taint, recovers, judged)
            changed = (before.recovers, before.judged) != (recovers, judged)
            self._changed = self._changed or changed
            return changed
        timed = replace(taint, time_added=taint.time_added or Time(self._clock.now()))
        held[_mark(taint)] = StoredTaint(*target, timed, recovers, judged)
        self._changed = True
        return True

    def _remove(self, target: _Device, mark: _Mark) -> None:
        held = self._taints[target]
        del held[mark]
        if not held:
            del self._taints[target]
            self._well_since.pop(target, None)
        self._changed = True

    def _of(self, target: _Device) -> dict[_Mark, StoredTaint]:
        return self._taints.setdefault(target, {})

    def _tainted_pool(self, pool: Pool, node_name: str) -> Pool:
        name = pool.name or node_name
        devices: Sequence[Device] = [
            self._tainted(each, self._taints.get((name, each.name), {})) for each in pool.devices
        ]
        if all(new is old for new, old in zip(devices, pool.devices, strict=True)):
            return pool
        return pool.with_devices(devices)

    def _tainted(self, device: Device, held: Mapping[_Mark, StoredTaint]) -> Device:
        """What the inventory says comes first, then the taints that do most."""
        known = {_mark(taint) for taint in device.taints}
        added = [each.taint for mark, each in held.items() if mark not in known]
        if not added:
            return device
        added.sort(key=lambda taint: (_EFFECTS.index(taint.effect), taint.key))
        room = max(TAINTS_PER_DEVICE_MAX - len(device.taints), 0)
        if len(added) > room:
            left_out = ", ".join(map(str, added[room:]))
            _log.error("device %s has no room for the taints %s", device.name, left_out)
        return replace(device, taints=(*device.taints, *added[:room]))


def _mark(taint: DeviceTaint) -> _Mark:
    return taint.key, taint.effect
