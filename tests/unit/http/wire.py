"""What tests of the wire share: listeners, raw clients, a transport without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from copy import copy
from typing import Any

import uvloop

from dray.clock import Clock
from dray.http.connection import Connection
from dray.http.limits import Limits
from dray.http.listener import Listener
from dray.http.messages import Answer, Handler, Request, Response
from dray.http.service import Service
from dray.testing import FakeClock

LOOPS: dict[str, Callable[[Coroutine[Any, Any, None]], None]] = {
    "asyncio": asyncio.run,
    "uvloop": uvloop.run,
}


async def echo(request: Request) -> Answer:
    """Says what it was asked."""
    text = f"{request.method} {request.path} {dict(request.query)} {len(request.body)}"
    return Response(200, (("Content-Type", "text/plain"),), text.encode())


class FakeTransport(asyncio.Transport):
    """Keeps what is written; has room until told otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False
        self.aborted = False
        self.eof = False
        self.reading = True
        self.unread = 0
        self._wrote = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed, "written to after the end"
        assert not self.eof, "written to after the end"
        self.written += bytes(data)
        self._wrote.set()

    def close(self) -> None:
        self.closed = True
        self._wrote.set()

    def abort(self) -> None:
        self.closed = self.aborted = True
        self._wrote.set()

    def is_closing(self) -> bool:
        return self.closed

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.eof = True
        self._wrote.set()

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def get_write_buffer_size(self) -> int:
        return self.unread

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for writes, or the end, until the condition holds."""
        while not condition():
            self._wrote.clear()
            await self._wrote.wait()

    async def answers(self, count: int) -> bytes:
        """What was written, once there are so many heads."""
        await self.until(lambda: self.written.count(b"HTTP/1.1 ") >= count)
        return self.written


class Bench:
    """A connection on a fake transport, and the clock it goes by."""

    def __init__(self, handler: Handler = echo, limits: Limits | None = None) -> None:
        self.clock = FakeClock()
        self.service = Service(handler, limits=limits or Limits(), clock=self.clock)
        self.transport = FakeTransport()
        self.connection = Connection(self.service)
        self.connection.connection_made(self.transport)

    def another(self) -> Bench:
        """Another connection to the same listener."""
        other = copy(self)
        other.transport = FakeTransport()
        other.connection = Connection(self.service)
        other.connection.connection_made(other.transport)
        return other

    def feed(self, data: bytes) -> None:
        self.connection.data_received(data)

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.service.deadlines.sweep()


@asynccontextmanager
async def listening(
    handler: Handler = echo, *, clock: Clock | None = None, **options: Any
) -> AsyncIterator[Listener]:
    listener = Listener(handler, clock=clock or FakeClock(), **options)
    await listener.start()
    try:
        yield listener
    finally:
        # With the clock standing still nothing is given up on: whatever is left here has to end.
        await listener.stop(60)


async def exchange(listener: Listener, data: bytes, *, ssl: Any = None) -> bytes:
    """Send bytes, say that they are all, and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port, ssl=ssl)
    writer.write(data)
    if writer.can_write_eof():
        writer.write_eof()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer
