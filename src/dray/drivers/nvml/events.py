"""Hears of XID errors as they happen: a thread that waits for NVML's events.

The wait is short, so that the thread ends soon after it is told to. What it hears is handed to the
event loop and kept until somebody takes it, the latest so many at most.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from dray.drivers.nvml.library import NVML

__all__ = ["EVENTS_MAX", "Event", "EventThread"]

# GPUs that fail do so in bursts; of more than this nobody learns anything.
EVENTS_MAX: Final = 1024

# Nobody can end a wait early, so this is how long ending takes.
WAIT_MILLISECONDS: Final = 1000
_PAUSE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Event:
    """An XID; without a UUID, of a GPU that could not be told; without a number, a GPU is lost."""

    xid: int | None
    gpu_uuid: str = ""
    instance: int | None = None


class EventThread:
    """Events of the GPUs it was started for. One use each."""

    def __init__(self, nvml: NVML) -> None:
        self._nvml = nvml
        self._stop = threading.Event()
        # NVML's handles by their addresses: a GPU that is lost cannot be asked who it is.
        self._uuids: dict[int | None, str] = {}
        self._heard: deque[Event] = deque(maxlen=EVENTS_MAX)
        self._news = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self, uuids: Iterable[str]) -> tuple[Any, dict[str, str]]:
        """Register for events, and say which GPUs have none, and why. Blocks."""
        nvml = self._nvml
        unwatched: dict[str, str] = {}
        try:
            events = nvml.nvmlEventSetCreate()
        except nvml.NVMLError as error:
            return None, {uuid: str(error) for uuid in uuids}
        for uuid in uuids:
            try:
                handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
                wanted = nvml.nvmlEventTypeXidCriticalError
                if not nvml.nvmlDeviceGetSupportedEventTypes(handle) & wanted:
                    unwatched[uuid] = "the GPU has no such events"
                    continue
                nvml.nvmlDeviceRegisterEvents(handle, wanted, events)
                self._uuids[_address(handle)] = uuid
            except nvml.NVMLError as error:
                unwatched[uuid] = str(error)
        return events, unwatched

    def start(self, events: Any) -> None:
        """Listen from now on."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._listen, args=(events,), name="NVML events", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Have the thread end; it is not waited for."""
        self._stop.set()

    def join(self) -> None:
        """Stop, and wait until nobody is in NVML any more. Blocks, but not for long."""
        self.stop()
        if self._thread is not None:
            self._thread.join(2 * WAIT_MILLISECONDS / 1000)

    @property
    def listening(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    async def news(self) -> None:
        """Wait until something was heard."""
        await self._news.wait()

    def take(self) -> list[Event]:
        """All that was heard since the last time."""
        self._news.clear()
        taken = list(self._heard)
        self._heard.clear()
        return taken

    def _listen(self, events: Any) -> None:
        nvml = self._nvml
        try:
            while not self._stop.is_set():
                try:
                    data = nvml.nvmlEventSetWait_v2(events, WAIT_MILLISECONDS)
                except nvml.NVMLError as error:
                    if error.value == nvml.NVML_ERROR_TIMEOUT:
                        continue
                    if error.value == nvml.NVML_ERROR_GPU_IS_LOST:
                        self._tell(Event(None))
                    elif error.value == nvml.NVML_ERROR_UNINITIALIZED:
                        return
                    # It would be the same again at once.
                    self._stop.wait(_PAUSE_SECONDS)
                else:
                    if data.eventType == nvml.nvmlEventTypeXidCriticalError:
                        self._tell(self._event(data))
        finally:
            try:
                nvml.nvmlEventSetFree(events)
            except nvml.NVMLError:
                # The library was closed before; the set is gone with it.
                self._stop.set()

    def _event(self, data: Any) -> Event:
        nvml = self._nvml
        uuid = self._uuids.get(_address(data.device), "")
        if not uuid:
            try:
                uuid = str(nvml.nvmlDeviceGetUUID(data.device))
            except nvml.NVMLError:
                uuid = ""
        instance = None if data.gpuInstanceId == _ANY else data.gpuInstanceId
        return Event(data.eventData, uuid, instance)

    def _tell(self, event: Event) -> None:
        assert self._loop is not None, "it is started"
        try:
            self._loop.call_soon_threadsafe(self._hear, event)
        except RuntimeError:
            # The loop has ended.
            self._stop.set()

    def _hear(self, event: Event) -> None:
        self._heard.append(event)
        self._news.set()


# What NVML says of events that no MIG instance has.
_ANY: Final = 0xFFFFFFFF


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value
