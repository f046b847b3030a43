from __future__ import annotations

import asyncio

import pytest

from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.process.connections import open_connection


def test_a_connection_carries_both_ways_and_ends() -> None:
    async def main() -> None:
        async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write((await reader.readline()).upper())
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(shout, "127.0.0.1", 0) as server:
            pieces, sink = await open_connection(server.sockets[0].getsockname()[1])
            await sink.write(b"quiet\n")
            assert b"".join([piece async for piece in pieces]) == b"QUIET\n"
            await sink.close()
            await sink.write(b"to nobody")
            await sink.close()

    asyncio.run(main())


def test_where_nobody_listens_nothing_can_be_reached() -> None:
    async def main() -> None:
        async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
        with pytest.raises(RuntimeFailed, match=rf"failed to connect to 127\.0\.0\.1:{port}"):
            await open_connection(port)

    asyncio.run(main())
