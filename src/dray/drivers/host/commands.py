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
    """Run a program to its end. Raises CommandFailed. What it started ends with it."""
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{words[0]} cannot be started: {error}") from error
    try:
        return await within(context.clock, seconds, _listen(process, words[0]))
    except TimeoutError:
        raise CommandFailed(f"{words[0]} did not end within {seconds:g} s") from None
    finally:
        # Also when it has ended: its children may hold the pipes, and would go on for ever.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _listen(process: asyncio.subprocess.Process, word: str) -> Outcome:
    assert process.stdout is not None, "it is piped"
    assert process.stderr is not None, "it is piped"
    output, errors = await asyncio.gather(
        _read(process.stdout, OUTPUT_BYTES_MAX), _read(process.stderr, _ERRORS_BYTES_MAX)
    )
    if len(output) > OUTPUT_BYTES_MAX:
        raise CommandFailed(f"{word} wrote more than {OUTPUT_BYTES_MAX} bytes")
    return Outcome(await process.wait(), output, errors.decode(errors="replace"))


async def _read(stream: asyncio.StreamReader, limit: int) -> bytes:
    """All of it up to the limit and a byte more; the rest is read and dropped."""
    kept = bytearray()
    while data := await stream.read(64 * 1024):
        kept += data[: max(limit + 1 - len(kept), 0)]
    return bytes(kept)
