"""TCP connections to what listens in a pod: on this host, all of them are at the loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

from dray.agent.runtimes.failures import RuntimeFailed

__all__ = ["open_connection"]

ADDRESS: Final = "127.0.0.1"
READ_BYTES: Final = 32 * 1024

CONNECT_FAILED: Final = "PortForwardFailed"


async def open_connection(port: int) -> tuple[AsyncIterator[bytes], _Sink]:
    """What comes out of a port, and where to write. Raises RuntimeFailed."""
    try:
        reader, writer = await asyncio.open_connection(ADDRESS, port)
    except OSError as error:
        raise RuntimeFailed(
            f"failed to connect to {ADDRESS}:{port}: {error.strerror or error}",
            reason=CONNECT_FAILED,
        ) from error
    return _pieces(reader), _Sink(writer)


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    with suppress(OSError):
        while piece := await reader.read(READ_BYTES):
            yield piece


class _Sink:
    """The writing end. Closing it closes the connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, data: bytes) -> None:
        with suppress(OSError):
            self._writer.write(data)
            await self._writer.drain()

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()
