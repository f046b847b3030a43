"""Changes in directories, as they happen: one inotify for all who follow a log.

Where the kernel has none left to give, whoever waits looks again after a second, as upstream does.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from dray.clock import Clock

__all__ = ["DirectoryWatch"]

logger = logging.getLogger(__name__)

_EVENT: Final = struct.Struct("iIII")
_READ_BYTES: Final = 64 * 1024
_IN_MODIFY: Final = 0x2
_IN_MOVED: Final = 0x40 | 0x80
_IN_CREATE: Final = 0x100
_IN_DELETE: Final = 0x200

LOOK_AGAIN_SECONDS: Final = 1.0


class DirectoryWatch:
    """Wakes those who wait for a directory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._descriptor = -1
        self._waiters: dict[int, set[asyncio.Event]] = {}
        self._libc = ctypes.CDLL(None, use_errno=True)

    def open(self) -> None:
        """Begin, in a running loop."""
        descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if descriptor < 0:
            number = ctypes.get_errno()
            logger.warning("logs are looked at every second: %s", os.strerror(number))
            return
        self._descriptor = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def close(self) -> None:
        """End."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    @contextmanager
    def watching(self, directory: Path, changed: asyncio.Event) -> Iterator[bool]:
        """Have the event set whenever something in the directory changes; whether that works."""
        number = -1
        if self._descriptor >= 0:
            mask = ctypes.c_uint32(_IN_MODIFY | _IN_MOVED | _IN_CREATE | _IN_DELETE)
            number = self._libc.inotify_add_watch(self._descriptor, os.fsencode(directory), mask)
        if number < 0:
            yield False
            return
        waiters = self._waiters.setdefault(number, set())
        waiters.add(changed)
        try:
            yield True
        finally:
            waiters.discard(changed)
            if not waiters and self._waiters.get(number) is waiters:
                del self._waiters[number]
                if self._descriptor >= 0:
                    self._libc.inotify_rm_watch(self._descriptor, number)

    async def wait(self, changed: asyncio.Event, *, is_watched: bool) -> None:
        """Return when the event is set; or, if nobody would, after a while."""
        if not is_watched:
            await self._clock.sleep(LOOK_AGAIN_SECONDS)
            return
        await changed.wait()

    def _read(self) -> None:
        data = b""
        with suppress(BlockingIOError):
            data = os.read(self._descriptor, _READ_BYTES)
        at = 0
        while at < len(data):
            number, _mask, _cookie, size = _EVENT.unpack_from(data, at)
            at += _EVENT.size + size
            # -1 says that events were lost: everybody looks.
            names = list(self._waiters) if number == -1 else [number]
            for name in names:
                for event in self._waiters.get(name, ()):
                    event.set()
