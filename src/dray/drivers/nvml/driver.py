"""A driver of NVIDIA GPUs, whole or in parts, that watches how they are.

MIG instances of claims are made when a claim is prepared and undone when it is given back. What is
about to be made is remembered first, so that a crash leaves nothing that is not found again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from dray.drivers.nvml.config import NvmlConfig
from dray.drivers.nvml.edits import edits_for
from dray.drivers.nvml.events import Event, EventThread
from dray.drivers.nvml.gpus import Gpu, Instance, read_gpus
from dray.drivers.nvml.health import GpuHealth
from dray.drivers.nvml.instances import destroy_instance, find_instance, make_instance
from dray.drivers.nvml.inventory import Part, offer, partition_name
from dray.drivers.nvml.lane import Lane
from dray.drivers.nvml.library import NVML, close_library, load_library, open_library
from dray.drivers.nvml.probe import Reading, read_state
from dray.sdk import (
    ClaimedDevice,
    DeviceFailed,
    DeviceHealth,
    Driver,
    Edits,
    Inventory,
    PermanentError,
    PreparedDevice,
    TransientError,
)

__all__ = ["NvmlDriver"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

# A look at eight GPUs takes some ten milliseconds; making a MIG instance, seconds.
CALL_SECONDS: Final = 20.0
# A word outlasts three looks that get lost, and the slowest call.
_WORDS_PER_TIMEOUT: Final = 3


class _Parameters(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a claim may ask for: nothing yet, so whatever it asks for is refused by its name."""

    api_version: str = ""
    kind: str = ""


class _Remembered(msgspec.Struct, frozen=True):
    """What undoing an instance takes."""

    gpu: str
    profile: int
    start: int
    own: bool  # whether the driver makes it
    uuid: str = ""


class NvmlDriver(Driver):
    """GPUs of the machine that the driver runs on."""

    def __init__(
        self, config: NvmlConfig | None = None, *, load: Callable[[], NVML] = load_library
    ) -> None:
        """`load` is what finds NVML."""
        self.config: Final = config or NvmlConfig()
        self.name = self.config.driver
        self.discover_seconds = self.config.discover_seconds
        self._load = load
        self._root = Path(self.config.root)
        self._nvml: NVML = None
        self._lane = Lane("NVML")
        self._gpus: dict[str, Gpu] = {}
        self._parts: Mapping[str, Part] = {}
        # Instances that claims have, by the names of devices, each with its GPU's UUID.
        self._made: dict[str, tuple[str, Instance]] = {}
        self._events: EventThread | None = None
        self._health: dict[str, GpuHealth] = {}
        self._silent: dict[int, str] = {}

    async def started(self) -> None:
        self._nvml = self._load()
        await self._call(open_library, self._nvml)

    async def stopped(self) -> None:
        try:
            if self._events is not None:
                # The library must not be closed while somebody waits in it.
                await self._call(self._events.join)
            await self._call(close_library, self._nvml)
        except TransientError as error:
            _log.warning("NVML is left open: %s", error)
        self._lane.close()

    async def _call(self, work: Callable[..., T], *arguments: Any) -> T:
        return await self._lane.call(
            lambda: work(*arguments), seconds=CALL_SECONDS, context=self.context
        )

    # Devices --------------------------------------------------------------------------------------

    async def discover(self) -> Inventory:
        gpus, silent = await self._call(self._look)
        if silent != self._silent:
            for index, reason in silent.items():
                _log.warning("GPU %d does not answer: %s", index, reason)
        self._silent = silent
        found = {gpu.uuid: gpu for gpu in gpus}
        # What does not answer is not gone: claims may have it, and its health says how it is.
        kept = [
            gpu for uuid, gpu in self._gpus.items() if uuid not in found and gpu.index in silent
        ]
        self._gpus = {gpu.uuid: gpu for gpu in sorted([*gpus, *kept], key=lambda gpu: gpu.minor)}
        own = self._own()
        for gpu in gpus:
            for instance in gpu.instances:
                name = partition_name(gpu, instance.partition)
                if (gpu.uuid, name) in own:
                    self._made.setdefault(name, (gpu.uuid, instance))
        dynamic = self.config.mig == "dynamic"
        offered = offer(self._gpus.values(), dynamic=dynamic, own=own)
        self._parts = offered.parts
        return offered.inventory

    def _look(self) -> tuple[list[Gpu], dict[int, str]]:
        try:
            return read_gpus(self._nvml, root=self._root)
        except self._nvml.NVMLError as error:
            raise TransientError(f"GPUs cannot be listed: {error}") from error

    def _own(self) -> frozenset[tuple[str, str]]:
        """Instances that the driver made for claims: the UUID of each one's GPU, and its name."""
        remembered = [
            (device.device, _remembered(device.state)) for device in self.context.prepared()
        ]
        made = {(uuid, name) for name, (uuid, _) in self._made.items()}
        return frozenset(
            made | {(state.gpu, name) for name, state in remembered if state and state.own}
        )

    # Claims ---------------------------------------------------------------------------------------

    async def prepare(self, device: ClaimedDevice) -> Edits:
        for entry in device.config:
            entry.decode(_Parameters)
        part = self._parts.get(device.device)
        if part is None:
            await self.context.refresh()
            part = self._parts.get(device.device)
        if part is None:
            raise DeviceFailed("the device is no longer there", device=device.device)
        instance = part.instance
        if part.partition is not None and instance is None:
            instance = await self._make(device, part)
        return await asyncio.to_thread(
            edits_for, device.device, part.gpu, instance, self.config.container, root=self._root
        )

    async def _make(self, device: ClaimedDevice, part: Part) -> Instance:
        assert part.partition is not None, "a whole GPU is not made"
        place = (part.gpu.uuid, part.partition.profile.id, part.partition.start)
        before = _remembered(device.state)
        own = before.own if before is not None else True
        if before is None and await self._call(find_instance, self._nvml, *place):
            # Somebody else's, or another claim's that this one looks at. It is used, and stays.
            own = False
        if own and device.admin_access:
            raise PermanentError("no claim has this part of the GPU: there is nothing to look at")
        state = _Remembered(*place, own=own)
        await device.remember(msgspec.to_builtins(state))
        instance = await self._call(make_instance, self._nvml, part.gpu, part.partition)
        if own:
            self._made[device.device] = part.gpu.uuid, instance
        await device.remember(
            msgspec.to_builtins(msgspec.structs.replace(state, uuid=instance.uuid))
        )
        return instance

    async def unprepare(self, device: PreparedDevice) -> None:
        state = _remembered(device.state)
        if state is None or not state.own:
            return
        await self._call(destroy_instance, self._nvml, state.gpu, state.profile, state.start)
        self._made.pop(device.device, None)

    # Health ---------------------------------------------------------------------------------------

    async def watch_health(self) -> AsyncIterator[Sequence[DeviceHealth]]:
        """All devices at once, again on every event, and every few seconds without any."""
        clock = self.context.clock
        watched: frozenset[str] = frozenset()
        away: frozenset[str] = frozenset()
        self._events = events = EventThread(self._nvml)
        try:
            while True:
                if watched != frozenset(self._gpus):
                    events.stop()
                    self._events = events = EventThread(self._nvml)
                    watched = frozenset(self._gpus)
                    await self._listen(events, watched)
                heard = events.take()
                readings = await self._call(self._read_all, list(self._gpus))
                now = clock.monotonic()
                for event in heard:
                    self._hear(event, readings, now)
                for uuid, reading in readings.items():
                    self._of(uuid).hear_reading(reading, now=now)
                lost = frozenset(uuid for uuid, reading in readings.items() if reading.lost)
                if away - lost:
                    # Whoever comes back from a reset has forgotten who listens.
                    watched = frozenset()
                away = lost
                yield self._words()
                await self._pause(events, self.config.health.every_seconds)
        finally:
            events.stop()

    async def _listen(self, events: EventThread, uuids: frozenset[str]) -> None:
        registered, unwatched = await self._call(events.open, sorted(uuids))
        for uuid in uuids:
            self._of(uuid).unwatched = unwatched.get(uuid, "")
            if uuid in unwatched:
                _log.warning("XID errors of GPU %s go unseen: %s", uuid, unwatched[uuid])
        if registered is not None:
            events.start(registered)

    def _of(self, uuid: str) -> GpuHealth:
        return self._health.setdefault(uuid, GpuHealth(self.config.health))

    def _hear(self, event: Event, readings: Mapping[str, Reading], now: float) -> None:
        if event.xid is None:
            # Which GPU is lost shows when all are read.
            return
        uuids = [event.gpu_uuid] if event.gpu_uuid in self._gpus else []
        # One that cannot be told is one of those that do not answer, or else may be anybody.
        uuids = uuids or [uuid for uuid, reading in readings.items() if reading.lost]
        for uuid in uuids or list(self._gpus):
            _log.warning("GPU %s: XID %d", uuid, event.xid)
            self._of(uuid).hear_xid(event.xid, instance=event.instance, now=now)

    def _read_all(self, uuids: Sequence[str]) -> dict[str, Reading]:
        return {uuid: read_state(self._nvml, uuid) for uuid in uuids}

    async def _pause(self, events: EventThread, seconds: float) -> None:
        """Wait for an event, and no longer than this."""
        alarm = asyncio.ensure_future(self.context.clock.sleep(seconds))
        news = asyncio.ensure_future(events.news())
        try:
            await asyncio.wait((alarm, news), return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
            news.cancel()

    def _words(self) -> list[DeviceHealth]:
        every_seconds = self.config.health.every_seconds
        words = []
        for name, part in self._parts.items():
            _, instance = self._made.get(name, ("", part.instance))
            number = instance.gpu_instance if instance else None
            verdict = self._of(part.gpu.uuid).verdict(number)
            words.append(
                DeviceHealth(
                    device=name,
                    health=verdict.health,
                    message=verdict.message,
                    timeout_seconds=max(30.0, _WORDS_PER_TIMEOUT * every_seconds + CALL_SECONDS),
                )
            )
        return words


def _remembered(state: Any) -> _Remembered | None:
    try:
        return None if state is None else msgspec.convert(state, _Remembered)
    except msgspec.ValidationError as error:
        # Written by another version; what it made cannot be told from others'.
        _log.error("what was remembered of a device cannot be read: %s", error)
        return None
