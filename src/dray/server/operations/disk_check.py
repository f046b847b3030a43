"""Whether the store can still write: asked by /readyz, answered by trying.

A server whose disk is gone still answers reads from memory, so nothing else would show it. Each
check asks the store whether it takes writes at all, then writes a small file beside the database
and has the disk keep it, in a thread: a disk that hangs must not hang the server. Anybody may ask
for readiness, so an answer is good for a moment.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

from dray.clock import Clock
from dray.errors import StoreError
from dray.store.store import Store

__all__ = ["DiskCheck"]

# As often as anybody needs to know, and as rarely as a disk needs to be bothered.
REMEMBERED_SECONDS: Final = 2.0

# A disk that takes longer than this for one block is not one to send writers to.
PATIENCE_SECONDS: Final = 5.0

PROBE_FILE: Final = ".readiness"
PROBE_KEY: Final = "readiness/probe"  # never written
PROBE_BYTES: Final = b"\0" * 4096


class DiskCheck:
    """Tells what is wrong with the store, or None."""

    def __init__(self, store: Store, directory: Path | None, clock: Clock) -> None:
        """Without a directory only the store is asked."""
        self._store = store
        self._directory = directory
        self._clock = clock
        self._problem: str | None = None
        self._good_until = -1.0
        self._asking: asyncio.Future[str | None] | None = None

    async def __call__(self) -> str | None:
        if self._clock.monotonic() < self._good_until:
            return self._problem
        asking = self._asking
        if asking is None:
            asking = self._asking = asyncio.ensure_future(self._ask())
            asking.add_done_callback(self._asked)
        patience = asyncio.ensure_future(self._clock.sleep(PATIENCE_SECONDS))
        await asyncio.wait((asking, patience), return_when=asyncio.FIRST_COMPLETED)
        patience.cancel()
        if not asking.done():
            return f"the disk did not answer within {PATIENCE_SECONDS:g} s"
        return asking.result()

    def _asked(self, asking: asyncio.Future[str | None]) -> None:
        self._asking = None
        if asking.cancelled():
            return
        self._problem = asking.result()
        self._good_until = self._clock.monotonic() + REMEMBERED_SECONDS

    async def _ask(self) -> str | None:
        try:
            await self._store.delete(PROBE_KEY)  # refused by a store that has failed
        except StoreError as error:
            return str(error)
        if self._directory is None:
            return None
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, _probe, self._directory)


def _probe(directory: Path) -> str | None:
    path = directory / PROBE_FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, PROBE_BYTES)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            path.unlink(missing_ok=True)
    except OSError as error:
        return f"{directory} cannot be written: {error.strerror}"
    return None
