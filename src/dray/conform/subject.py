"""The driver under test as a process: started as its user says, killed, stopped, started again.

Without a command the driver is somebody else's: it is looked at, never touched, and checks that
need to kill it do not apply.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from dray.clock import Clock, within
from dray.conform.check import NotApplicable, Violation

__all__ = ["Process", "Subject"]

STOP_SECONDS: Final = 15.0
# What a process wrote is in the pipe when it ends; what it started may hold that open for ever.
READ_OUT_SECONDS: Final = 1.0
# Enough of what a driver wrote to see why it died.
OUTPUT_LINES_MAX: Final = 40
LINE_BYTES_MAX: Final = 64 * 1024


class Process:
    """One running instance."""

    def __init__(self, process: asyncio.subprocess.Process, clock: Clock) -> None:
        self._process = process
        self._clock = clock
        self._lines: deque[str] = deque(maxlen=OUTPUT_LINES_MAX)
        self._unfinished = ""
        self._reader = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None, "its output is piped"
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        while data := await self._process.stdout.read(LINE_BYTES_MAX):
            *lines, rest = (self._unfinished + decoder.decode(data)).split("\n")
            self._lines.extend(lines)
            self._unfinished = rest[-LINE_BYTES_MAX:]

    @property
    def output(self) -> str:
        """The end of what it wrote."""
        return "\n".join([*self._lines, self._unfinished]).removesuffix("\n")

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    async def read_out(self) -> None:
        """After its end: wait until all that it wrote is read."""
        with suppress(TimeoutError):
            await within(self._clock, READ_OUT_SECONDS, asyncio.wait([self._reader]))

    async def kill(self) -> None:
        """End it without a chance to clean up, with whatever it started."""
        self._signal(signal.SIGKILL)
        await self._ended()

    async def terminate(self, seconds: float = STOP_SECONDS) -> int:
        """Ask it to end; returns its exit code, negative for a signal."""
        self._signal(signal.SIGTERM)
        try:
            return await within(self._clock, seconds, self._ended())
        except TimeoutError as error:
            await self.kill()
            raise Violation(f"still running {seconds:g} s after SIGTERM") from error

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    async def _ended(self) -> int:
        code = await self._process.wait()
        await self._reader
        return code


class Subject:
    """The command of a driver, and every process that was started from it."""

    def __init__(self, command: Sequence[str], places: Mapping[str, str], clock: Clock) -> None:
        """`places` are the words in braces that a command may use."""
        self._command = tuple(command)
        self._places = dict(places)
        self._clock = clock
        self._processes: list[Process] = []

    @property
    def startable(self) -> bool:
        return bool(self._command)

    def takes(self, place: str) -> bool:
        """Whether the command has this word in braces."""
        return any(f"{{{place}}}" in word for word in self._command)

    async def start(self, **places: str) -> Process:
        """Start an instance, with other places than usual if need be."""
        if not self._command:
            raise NotApplicable("needs the driver's command, to start and kill it")
        known = self._places | places
        words = [_filled(word, known) for word in self._command]
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | {"KUBECONFIG": known["kubeconfig"], "NODE_NAME": known["node"]},
            )
        except OSError as error:
            raise Violation(f"cannot start {words[0]}: {error.strerror}") from error
        started = Process(process, self._clock)
        self._processes.append(started)
        return started

    async def end(self) -> None:
        """Kill whatever still runs."""
        for process in self._processes:
            if process.running:
                await process.kill()


def _filled(word: str, places: Mapping[str, str]) -> str:
    for place, value in places.items():
        word = word.replace(f"{{{place}}}", value)
    return word
