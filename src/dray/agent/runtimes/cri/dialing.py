"""TCP connections to a pod by its address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Final

from dray.clock import Clock, within

__all__ = ["Dialed", "dial"]

# To a pod of this node, over a virtual cable.
DIAL_SECONDS: Final = 2.0
READ_BYTES: Final = 32 * 1024


class Dialed:
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


async def dial(
    addresses: Sequence[str], port: int, *, clock: Clock
) -> tuple[AsyncIterator[bytes], Dialed] | None:
    """A connection to the first address that takes it, or None."""
    for address in addresses:
        try:
            reader, writer = await within(
                clock, DIAL_SECONDS, asyncio.open_connection(address, port)
            )
        except OSError:  # TimeoutError is one
            continue
        return _pieces(reader), Dialed(writer)
    return None


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    with suppress(OSError):
        while piece := await reader.read(READ_BYTES):
            yield piece
