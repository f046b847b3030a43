"""Faults on command, over a socket beside the driver's own: a line of JSON in, a line out.

    {"inject": {"kind": "unhealthy", "device": "gpu-0", "message": "too hot"}}
    {"recover": "gpu-0"}
    {"list": true}

Whoever may write to the plugin's directory may break its devices, and nobody else.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from dray.drivers.simulated.faults import Fault, Faults
from dray.sdk import ConfigurationError

__all__ = ["SOCKET_NAME", "command", "controlled"]

SOCKET_NAME: Final = "faults.sock"
LINE_BYTES_MAX: Final = 64 * 1024


@asynccontextmanager
async def controlled(faults: Faults, path: Path) -> AsyncIterator[None]:
    """Take commands at this socket inside of `async with`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.unlink()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(_obey(faults, line)).encode() + b"\n")
                await writer.drain()
        except (ValueError, ConnectionError):
            # A line without an end, or nobody there to answer.
            pass
        finally:
            writer.close()

    server = await asyncio.start_unix_server(serve, str(path), limit=LINE_BYTES_MAX)
    os.chmod(path, 0o600)
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()
        with suppress(FileNotFoundError):
            path.unlink()


def _obey(faults: Faults, line: bytes) -> dict[str, Any]:
    try:
        told = json.loads(line)
        match told:
            case {"inject": dict(fault)}:
                faults.inject(msgspec.convert(fault, Fault))
                return {"ok": True}
            case {"recover": str(device)}:
                return {"ok": True, "ended": faults.recover(device)}
            case {"list": _}:
                return {"ok": True, "faults": msgspec.to_builtins(faults.all())}
        return {"ok": False, "error": "say inject, recover or list"}
    except (ConfigurationError, msgspec.ValidationError, ValueError) as error:
        return {"ok": False, "error": str(error)}


async def command(path: Path, told: dict[str, Any]) -> dict[str, Any]:
    """Give a command to a driver, and return its answer. Raises ConfigurationError."""
    try:
        reader, writer = await asyncio.open_unix_connection(str(path), limit=LINE_BYTES_MAX)
    except OSError as error:
        raise ConfigurationError(f"no simulated driver answers at {path}: {error}") from error
    try:
        writer.write(json.dumps(told).encode() + b"\n")
        await writer.drain()
        answer: dict[str, Any] = json.loads(await reader.readline() or b"{}")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the simulated driver at {path} went away: {error}") from error
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    if not answer.get("ok"):
        raise ConfigurationError(str(answer.get("error", "no answer")))
    return answer
