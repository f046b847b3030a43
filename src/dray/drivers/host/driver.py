"""A driver of whatever devices this machine has, as a configuration describes them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dray.drivers.host.checks import examine, is_examined
from dray.drivers.host.config import HostConfig
from dray.drivers.host.edits import edits_for
from dray.drivers.host.files import HostFiles
from dray.drivers.host.inventory import HostDevice, find_devices
from dray.sdk import (
    ClaimedDevice,
    Device,
    DeviceFailed,
    DeviceHealth,
    Driver,
    Edits,
    PreparedDevice,
)

__all__ = ["HostDriver"]

_log = logging.getLogger(__name__)

# How often it is looked whether a device is there, where nothing else is asked.
EVERY_SECONDS: Final = 5.0
# What reading files may take on top of commands.
SLACK_SECONDS: Final = 5.0


class HostDriver(Driver):
    """Devices of the machine that the driver runs on."""

    def __init__(self, config: HostConfig) -> None:
        self.name = config.driver
        self.config: Final = config
        self.discover_seconds = config.discover_seconds
        rules = [group.health for group in config.groups if group.health is not None]
        self.probe_seconds = min([EVERY_SECONDS, *(one.every_seconds for one in rules)])
        self.probe_timeout_seconds = SLACK_SECONDS + max(
            (sum(check.timeout_seconds for check in one.checks) for one in rules), default=0.0
        )
        self._files = HostFiles(Path(config.root))
        self._found: Mapping[str, HostDevice] = {}
        self._left_out: tuple[str, ...] = ()
        # The last answer on each device, and when it was given.
        self._words: dict[str, tuple[float, DeviceHealth]] = {}

    async def discover(self) -> list[Device]:
        found = await find_devices(self.config, self.context)
        if found.left_out != self._left_out:
            for reason in found.left_out:
                _log.warning("a device is left out: %s", reason)
        self._found, self._left_out = found.devices, found.left_out
        self._words = {name: self._words[name] for name in self._found if name in self._words}
        return [each.device for each in self._found.values()]

    async def prepare(self, device: ClaimedDevice) -> Edits:
        found = self._found.get(device.device)
        if found is None:
            # It may have been plugged in again since the last look, or the driver just started.
            await self.context.refresh()
            found = self._found.get(device.device)
        if found is None:
            raise DeviceFailed("the device is no longer there", device=device.device)
        return await asyncio.to_thread(edits_for, found, device.config, self._files)

    async def unprepare(self, device: PreparedDevice) -> None:
        """Nothing was done but to say what a container gets."""

    async def probe(self, device: Device) -> DeviceHealth | None:
        found = self._found.get(device.name)
        if found is None or not is_examined(found):
            return None
        every_seconds = found.group.health.every_seconds if found.group.health else EVERY_SECONDS
        now = self.context.clock.monotonic()
        asked_at, word = self._words.get(device.name, (float("-inf"), None))
        if word is None or now - asked_at >= every_seconds:
            word = await examine(found, self._files, self.context)
            # A word must outlast the pause to the next one, and that one getting lost.
            word = DeviceHealth(
                device=word.device,
                health=word.health,
                message=word.message,
                timeout_seconds=max(30.0, 2 * (every_seconds + self.probe_timeout_seconds)),
            )
            self._words[device.name] = now, word
        return word
