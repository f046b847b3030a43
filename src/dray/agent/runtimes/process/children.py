"""Programs that are started with what they are given open, and nothing else.

Event loops have ways of their own to start programs, and not all keep them from inheriting what the
process has open: a pipe that a daemon holds has no end, and containers must not have our files.
Python's `subprocess` does it right under every loop.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import warnings
from collections.abc import Sequence
from typing import Final

__all__ = ["Child", "spawn"]


class _Process(subprocess.Popen[bytes]):
    """One that may outlive whoever started it, as containers outlive their agent."""

    def __del__(self) -> None:
        # What is forgotten while it runs is waited for by whoever starts the next; no need to warn.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            super().__del__()


class Child:
    """A program that was started."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid: Final = process.pid

    async def wait(self) -> int:
        """Its exit code, once it has one; the number of a signal that ended it is negative."""
        while (code := self._process.poll()) is None:
            await _ended(self.pid)
        return code

    async def output(self) -> bytes:
        """All it writes to its standard output, up to the end of that, and of itself."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._process.stdout
        )
        try:
            output = await reader.read()
        finally:
            transport.close()
        await self.wait()
        return output


def spawn(
    command: Sequence[str],
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int,
    pass_fds: Sequence[int] = (),
) -> Child:
    """Start a program in the root directory, without any environment. Raises OSError."""
    process = _Process(
        command, stdin=stdin, stdout=stdout, stderr=stderr, cwd="/", env={}, pass_fds=pass_fds
    )
    return Child(process)


async def _ended(pid: int) -> None:
    loop = asyncio.get_running_loop()
    descriptor = os.pidfd_open(pid)
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
