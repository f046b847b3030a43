"""Who may change a driver's state on this node: one process at a time, by a lock on a file.

During a rolling update two instances of a driver share a directory, and a claim may be prepared by
the one and unprepared by the other. Whoever works on claims holds the lock for as long as that
takes; so what one process reads under the lock, nobody is in the middle of changing. Inside one
process any number of operations hold it together: claims are kept apart by `ClaimLocks`.

The lock is upstream's (`serialize.lock` in the plugin's directory). Unlike there, waiting has an
end: a hung predecessor must not hang its successor.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from dray.clock import Clock
from dray.errors import TransientError

__all__ = ["LOCK_FILE_NAME", "ClaimLocks", "ProcessLock"]

LOCK_FILE_NAME: Final = "serialize.lock"

# Well below the 45 s in which a kubelet wants its answer.
LOCK_TIMEOUT_SECONDS: Final = 10.0

# flock cannot be awaited, and a thread that waits in it cannot be called back.
LOCK_POLL_SECONDS: Final = 0.02


class ProcessLock:
    """The lock between processes, held while anything in this one is at work.

    `acquired` is called each time the process gets the lock: what is on disk may have changed.
    """

    def __init__(self, path: Path | None, *, clock: Clock, acquired: Callable[[], None]) -> None:
        self._path = path
        self._clock = clock
        self._acquired = acquired
        self._holders = 0
        self._descriptor = -1
        # Held while the lock changes hands, so that newcomers wait for whoever is waiting already.
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Keep other processes out meanwhile. Raises TransientError if they do not let go."""
        async with self._turn:
            if self._holders == 0:
                await self._take()
            self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if self._holders == 0:
                self._release()

    async def _take(self) -> None:
        with ExitStack() as undo:
            undo.callback(self._release)
            if self._path is not None:
                await self._lock(self._path)
            self._acquired()
            undo.pop_all()

    async def _lock(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = self._clock.monotonic() + LOCK_TIMEOUT_SECONDS
        while not _try_lock(self._descriptor):
            if self._clock.monotonic() >= deadline:
                raise TransientError(
                    f"another instance of the driver has held {path} for {LOCK_TIMEOUT_SECONDS:g} s"
                )
            await self._clock.sleep(LOCK_POLL_SECONDS)

    def _release(self) -> None:
        if self._descriptor >= 0:
            # Closing unlocks: nobody else has this open file.
            os.close(self._descriptor)
            self._descriptor = -1


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class ClaimLocks:
    """One lock for each claim that somebody works on or waits for."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    def busy(self, uid: str) -> bool:
        """Whether somebody works on the claim."""
        return uid in self._locks

    @asynccontextmanager
    async def hold(self, uid: str) -> AsyncIterator[None]:
        """Wait for whoever works on the claim, then keep others waiting."""
        lock, users = self._locks.get(uid) or (asyncio.Lock(), 0)
        self._locks[uid] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(uid)
            if users > 1:
                self._locks[uid] = (lock, users - 1)
