"""A driver of devices that are not there, which fails as its faults say.

Partitions are no better than what they are cut from: a fault of that one is theirs too, and all of
them change in one report. A fault of a partition is its own.

Where it keeps files it also takes faults on command, at a socket beside its own. Drivers of nodes
that are themselves simulated keep none: their faults are injected by whoever made them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final, TypeAlias

from dray.drivers.simulated.control import SOCKET_NAME, controlled
from dray.drivers.simulated.faults import (
    ALL_DEVICES,
    ErrorClass,
    Fault,
    FaultKind,
    Faults,
    Operation,
)
from dray.drivers.simulated.fleet import Fleet, Model, Stock
from dray.drivers.simulated.gpu_config import gpu_config
from dray.sdk import (
    ClaimedDevice,
    DeviceFailed,
    DeviceHealth,
    Driver,
    DriverError,
    Edits,
    Health,
    InvalidConfig,
    Inventory,
    PermanentError,
    PreparedDevice,
    TransientError,
)

__all__ = ["SimulatedDriver", "kill_oneself"]

_log = logging.getLogger(__name__)

REPORT_SECONDS: Final = 5.0
# Three reports may be lost before a device counts as unknown.
TIMEOUT_SECONDS: Final = 20.0
# A change is reported at once, but flapping does not make for more than this many reports.
REPORTS_PER_SECOND_MAX: Final = 100

_SEVERITY: Final = (Health.HEALTHY, Health.DEGRADED, Health.UNKNOWN, Health.UNHEALTHY)
_Verdict: TypeAlias = tuple[Health, str]


def kill_oneself() -> None:
    """End this process as a crash would: no cleaning up, no exit code of its own."""
    os.kill(os.getpid(), signal.SIGKILL)


class SimulatedDriver(Driver):
    """Devices of a fleet on one node."""

    def __init__(
        self,
        fleet: Fleet,
        faults: Faults | None = None,
        *,
        crash: Callable[[], None] | None = kill_oneself,
        stock: Stock | None = None,
    ) -> None:
        """`crash` is what a crash does; None where others live in the same process: calls fail.

        Drivers of one fleet in one process may share a `stock` of it.
        """
        self.name = fleet.driver
        self.taint_policy = fleet.unhealthy.policy(fleet.driver)
        self.fleet: Final = fleet
        self.faults: Final = faults or Faults()
        self._crash = crash
        self._stock = stock or Stock(fleet)
        self._changed = asyncio.Event()
        self._vanished: frozenset[str] = frozenset()
        self._whole: Inventory | None = None
        self._models: Mapping[str, Model] = {}
        self._parents: Mapping[str, str] = {}
        self._stack = AsyncExitStack()
        self.faults.listen(self._changed.set)

    async def started(self) -> None:
        if self.context.directory is None:
            return
        path = self.context.directory / SOCKET_NAME
        try:
            await self._stack.enter_async_context(
                controlled(self.faults, path, devices=self._device_names)
            )
        except OSError as error:
            # Devices that cannot be broken on command are still devices.
            _log.warning("no faults on command: cannot listen at %s: %s", path, error)

    async def stopped(self) -> None:
        await self._stack.aclose()

    def _inventory(self) -> Inventory:
        """All devices, also those that have vanished. A fleet does not change."""
        if self._whole is None:
            self._whole, self._models, self._parents = self._stock.of(self.context.node_name)
        return self._whole

    def _device_names(self) -> Collection[str]:
        """What can break: also what can only be had in partitions."""
        names = {each.name for _pool, each in self._inventory().devices()}
        return names.union(self._parents.values())

    async def discover(self) -> Inventory:
        whole = self._inventory()
        self._vanished = self._gone(whole)
        return Inventory(
            pool.with_devices([each for each in pool.devices if each.name not in self._vanished])
            for pool in whole.pools
        )

    def _gone(self, inventory: Inventory) -> frozenset[str]:
        vanished = {fault.device for fault in self.faults.all() if fault.kind is FaultKind.VANISHED}
        if not vanished:
            return frozenset()
        return frozenset(
            each.name
            for _pool, each in inventory.devices()
            if not vanished.isdisjoint((ALL_DEVICES, each.name, self._parents.get(each.name)))
        )

    async def prepare(self, device: ClaimedDevice) -> Edits:
        await self._meet(device.device, Operation.PREPARE)
        config = gpu_config(device.config)
        self._inventory()
        model = self._models.get(device.device)
        suffix = re.sub(r"[^A-Z0-9]", "_", device.device.upper())
        told = {
            f"SIMULATED_DEVICE_{suffix}": device.device,
            f"SIMULATED_DEVICE_{suffix}_POOL": device.pool,
            **{
                f"SIMULATED_DEVICE_{suffix}_{re.sub(r'[^A-Z0-9]', '_', name.upper())}": str(amount)
                for name, amount in device.consumed_capacity.items()
            },
            **{f"SIMULATED_DEVICE_{suffix}_{name}": value for name, value in config.told().items()},
            **(model.environment if model else {}),
        }
        return Edits(env=tuple(f"{name}={value}" for name, value in told.items()))

    async def unprepare(self, device: PreparedDevice) -> None:
        await self._meet(device.device, Operation.UNPREPARE)

    async def _meet(self, device: str, operation: Operation) -> None:
        """Let a call run into what is wrong with its device."""
        self._inventory()
        parent = self._parents.get(device, "")
        for fault in self.faults.strike(device, operation, parent=parent):
            match fault.kind:
                case FaultKind.SLOW:
                    await self.context.clock.sleep(fault.seconds)
                case FaultKind.HANGING:
                    await asyncio.get_running_loop().create_future()
                case FaultKind.CRASHING if self._crash is not None:
                    self._crash()
                case FaultKind.CRASHING:
                    raise TransientError(
                        "simulated: a crash, of which the node in the same process was spared",
                        driver=self.name,
                        device=device,
                    )
                case FaultKind.FAILING:
                    raise self._error(device, fault)
                case _:
                    pass

    def _error(self, device: str, fault: Fault) -> Exception:
        message = fault.message or f"simulated: {fault.error_class.value}"
        if fault.device not in (device, ALL_DEVICES):
            message = f"parent {fault.device}: {message}"
        classes: dict[ErrorClass, type[DriverError]] = {
            ErrorClass.TRANSIENT: TransientError,
            ErrorClass.PERMANENT: PermanentError,
            ErrorClass.INVALID_CONFIG: InvalidConfig,
            ErrorClass.DEVICE_FAILED: DeviceFailed,
        }
        found = classes.get(fault.error_class)
        if found is None:
            return RuntimeError(message)
        return found(message, driver=self.name, device=device)

    async def watch_health(self) -> AsyncIterator[Sequence[DeviceHealth]]:
        """All devices at once, again on every change, and every few seconds without any."""
        clock = self.context.clock
        while True:
            self._changed.clear()
            whole = self._inventory()
            if self._gone(whole) != self._vanished:
                await self.context.refresh()
            yield self._words(whole)
            await clock.sleep(1 / REPORTS_PER_SECOND_MAX)
            await self._news(self._pause())

    async def _news(self, seconds: float) -> None:
        """Wait until something changes, and no longer than this."""
        alarm = asyncio.ensure_future(self.context.clock.sleep(seconds))
        change = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait((alarm, change), return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
            change.cancel()

    def _pause(self) -> float:
        """How long nothing happens by itself: until the next half of what flaps begins."""
        now = self.context.clock.monotonic()
        halves = [
            fault.seconds - now % fault.seconds
            for fault in self.faults.all()
            if fault.kind is FaultKind.FLAPPING
        ]
        return min([REPORT_SECONDS, *halves])

    def _words(self, inventory: Inventory) -> list[DeviceHealth]:
        return [
            word
            for pool, each in inventory.devices(self.context.node_name)
            if (word := self._word(pool, each.name)) is not None
        ]

    def _word(self, pool: str, device: str) -> DeviceHealth | None:
        verdict = self._verdict(device)
        if (parent := self._parents.get(device)) is not None:
            verdict = _inherit(verdict, parent, self._verdict(parent))
        if verdict is None:
            return None
        health, message = verdict
        return DeviceHealth(
            device=device,
            health=health,
            message=message,
            pool=pool,
            timeout_seconds=TIMEOUT_SECONDS,
        )

    def _verdict(self, device: str) -> _Verdict | None:
        """How a device is and why, by its own faults; None if nothing is said of it."""
        health, message = Health.HEALTHY, ""
        for fault in self.faults.of(device):
            match fault.kind:
                case FaultKind.VANISHED | FaultKind.SILENT:
                    return None
                case FaultKind.UNHEALTHY:
                    health, message = Health.UNHEALTHY, fault.message
                case FaultKind.DEGRADED:
                    health, message = Health.DEGRADED, fault.message
                case FaultKind.UNKNOWN:
                    health, message = Health.UNKNOWN, fault.message
                case FaultKind.FLAPPING if self._down(fault):
                    health, message = Health.UNHEALTHY, fault.message or "flapping"
                case _:
                    pass
        return health, message

    def _down(self, fault: Fault) -> bool:
        return int(self.context.clock.monotonic() / fault.seconds) % 2 == 1


def _inherit(own: _Verdict | None, parent: str, parents: _Verdict | None) -> _Verdict | None:
    """How a partition is: as well as the worse of itself and its parent."""
    if own is None or parents is None:
        return None
    health, reason = parents
    if _SEVERITY.index(health) <= _SEVERITY.index(own[0]):
        return own
    told = f"parent {parent} is {health.value.lower()}"
    return health, f"{told}: {reason}" if reason else told
