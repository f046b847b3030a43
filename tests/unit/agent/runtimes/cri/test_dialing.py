"""Connections to a pod by its address."""

from __future__ import annotations

import asyncio

from dray.agent.runtimes.cri.dialing import dial
from dray.testing import FakeClock


def test_the_first_address_that_takes_it_is_used() -> None:
    async def main() -> None:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.read(100))
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            dialed = await dial(("127.0.0.2", "127.0.0.1"), port, clock=FakeClock())
            assert dialed is not None
            pieces, sink = dialed
            await sink.write(b"hello")
            assert [piece async for piece in pieces] == [b"hello"]
            await sink.close()

    asyncio.run(main())


def test_nobody_listens() -> None:
    async def main() -> None:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        assert await dial(("127.0.0.1",), port, clock=FakeClock()) is None
        assert await dial((), port, clock=FakeClock()) is None

    asyncio.run(main())
