"""Programs of the host that are asked for devices, or how one is: in time, and within limits."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from dray.sdk import Context, within

__all__ = ["OUTPUT_BYTES_MAX", "CommandFailed", "Outcome", "run_command"]

# A list of 16,384 devices with a kilobyte each; who writes more is not listing devices.
OUTPUT_BYTES_MAX: Final = 16 * 1024 * 1024
_ERRORS_BYTES_MAX: Final = 64 * 1024


class CommandFailed(Exception):
    """A program could not be started, did not end in time, or said too much."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program that ended said."""

    code: int  # negative for a signal
    output: bytes
    errors: str

    def last_words(self) -> str:
        """What it said of its failure, in one line."""
        lines = (self.errors or self.output.decode(errors="replace")).strip().splitlines()
        return lines[-1].strip() if lines else ""


async def run_command(words: Sequence[str], *, seconds: float, context: Context) -> Outcome:
    """Run a program to its end. Raises CommandFailed. One that is ended ends with its children."""
    loop = asyncio.get_running_loop()
    try:
        transport, listener = await loop.subprocess_exec(
            lambda: _Listener(loop),
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{words[0]} cannot be started: {error}") from error
    try:
        await within(context.clock, seconds, asyncio.shield(listener.over))
    except TimeoutError:
        raise CommandFailed(f"{words[0]} did not end within {seconds:g} s") from None
    finally:
        # Also where it has ended itself and children hold its pipes. But not when all is over: its
        # number may be another's by then.
        if not listener.over.done():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
        # What left the group may hold the pipes for ever; nobody listens any more.
        transport.close()
        await listener.over
    output, errors = listener.said[1], listener.said[2]
    if len(output) > OUTPUT_BYTES_MAX:
        raise CommandFailed(f"{words[0]} wrote more than {OUTPUT_BYTES_MAX} bytes")
    code = transport.get_returncode()
    return Outcome(0 if code is None else code, bytes(output), errors.decode(errors="replace"))


class _Listener(asyncio.SubprocessProtocol):
    """Keeps what a program says, up to a limit and a byte more; the rest is dropped."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.said = {1: bytearray(), 2: bytearray()}
        # Done when the program has ended and its pipes are closed.
        self.over: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        limit = OUTPUT_BYTES_MAX if fd == 1 else _ERRORS_BYTES_MAX
        self.said[fd] += data[: max(limit + 1 - len(self.said[fd]), 0)]

    def connection_lost(self, _: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(None)
