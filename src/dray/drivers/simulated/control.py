"""Faults on command, over a socket beside the driver's own: a line of JSON in, a line out.

    {"inject": {"kind": "unhealthy", "device": "gpu-0", "message": "too hot"}}
    {"recover": "gpu-0"}
    {"list": true}

Whoever may write to the plugin's directory may break its devices, and nobody else. Instances of a
rolling update share the directory: the one that came last is commanded, and the one that ends takes
only a socket of its own with it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from dray.drivers.simulated.faults import ALL_DEVICES, Fault, Faults
from dray.sdk import ConfigurationError

__all__ = ["SOCKET_NAME", "command", "controlled"]

SOCKET_NAME: Final = "faults.sock"

# A command is one fault, of which the message may have a kilobyte.
COMMAND_BYTES_MAX: Final = 64 * 1024
# The list of as many faults as there may be, with messages that are all escapes.
ANSWER_BYTES_MAX: Final = 128 * 1024 * 1024
# One person with a shell, and a few scripts.
CONNECTIONS_MAX: Final = 16
# Enough names to see what they are like.
NAMES_SHOWN_MAX: Final = 10


@asynccontextmanager
async def controlled(
    faults: Faults, path: Path, *, devices: Callable[[], Collection[str]]
) -> AsyncIterator[None]:
    """Take commands at this socket inside of `async with`. Raises OSError if nobody can listen.

    `devices` are the names that a fault may have.
    """
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(_obey(faults, devices, line)).encode() + b"\n")
                await writer.drain()
        except (ValueError, ConnectionError):
            # A line that does not end, or nobody there to answer.
            pass
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(talks) >= CONNECTIONS_MAX:
            writer.close()
            return
        task = asyncio.ensure_future(talk(reader, writer))
        talks.add(task)
        task.add_done_callback(talks.discard)

    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.unlink()
    server = await asyncio.start_unix_server(accept, str(path), limit=COMMAND_BYTES_MAX)
    os.chmod(path, 0o600)
    own = _identity(path)
    try:
        yield
    finally:
        server.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        await server.wait_closed()
        if _identity(path) == own:
            with suppress(FileNotFoundError):
                path.unlink()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _obey(faults: Faults, devices: Callable[[], Collection[str]], line: bytes) -> dict[str, Any]:
    try:
        match msgspec.json.decode(line):
            case {"inject": dict(told)}:
                fault = msgspec.convert(told, Fault)
                _expect_known(fault.device, devices())
                faults.inject(fault)
                return {"ok": True}
            case {"recover": str(device)}:
                _expect_known(device, devices())
                return {"ok": True, "ended": faults.recover(device)}
            case {"list": _}:
                return {"ok": True, "faults": msgspec.to_builtins(faults.all())}
        return {"ok": False, "error": "say inject, recover or list"}
    except (ConfigurationError, msgspec.MsgspecError, ValueError) as error:
        return {"ok": False, "error": str(error)}
    except RecursionError:
        return {"ok": False, "error": "nested too deeply"}


def _expect_known(device: str, known: Collection[str]) -> None:
    if device == ALL_DEVICES or device in known:
        return
    names = sorted(known)
    more = f" and {len(names) - NAMES_SHOWN_MAX} more" if len(names) > NAMES_SHOWN_MAX else ""
    told = f"{', '.join(names[:NAMES_SHOWN_MAX])}{more}" or "none at all"
    raise ConfigurationError(f"there is no device {device[:80]!r}; there are: {told}")


async def command(path: Path, told: dict[str, Any]) -> dict[str, Any]:
    """Give a command to a driver, and return its answer. Raises ConfigurationError."""
    try:
        reader, writer = await asyncio.open_unix_connection(str(path), limit=ANSWER_BYTES_MAX)
    except OSError as error:
        raise ConfigurationError(
            f"no simulated driver answers at {path}: {error.strerror or error}"
        ) from error
    try:
        writer.write(json.dumps(told).encode() + b"\n")
        await writer.drain()
        line = await reader.readline()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the simulated driver at {path} went away: {error}") from error
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    return _answer(path, line)


def _answer(path: Path, line: bytes) -> dict[str, Any]:
    try:
        answer = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"{path} does not answer as a simulated driver does") from error
    if not answer.get("ok"):
        raise ConfigurationError(str(answer.get("error", f"{path} gave no reason")))
    return answer
