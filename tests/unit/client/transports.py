"""Transports that misbehave, around one that works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from dray.client import Call, Reply, StreamedReply, Transport
from dray.errors import TransportError


class Scripted:
    """Answers from a list; keeps what it was asked."""

    def __init__(self, *replies: Reply | TransportError) -> None:
        self.replies = list(replies)
        self.calls: list[Call] = []

    async def request(self, call: Call) -> Reply:
        self.calls.append(call)
        reply = self.replies.pop(0)
        if isinstance(reply, TransportError):
            raise reply
        return reply

    async def stream(self, call: Call) -> StreamedReply:
        reply = await self.request(call)
        return Chunks(reply.status, reply.headers, [reply.body])

    async def close(self) -> None:
        pass


class Chunks:
    """A stream of chunks that are there already."""

    def __init__(self, status: int, headers: Mapping[str, str], chunks: list[bytes]) -> None:
        self.status = status
        self.headers = headers
        self.chunks = [chunk for chunk in chunks if chunk]
        self.closed = False

    async def read(self) -> bytes:
        return self.chunks.pop(0) if self.chunks else b""

    def close(self) -> None:
        self.closed = True


class Faulty:
    """Passes everything on, unless told to fail; drops streams when told to."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.fail: Callable[[Call], bool] = lambda _call: False
        self.calls: list[Call] = []
        self.streams: list[_Droppable] = []
        self.streaming = asyncio.Event()  # set whenever a stream begins
        self.next_streams: list[StreamedReply] = []  # answered instead of asking

    async def request(self, call: Call) -> Reply:
        self._note(call)
        return await self._inner.request(call)

    async def stream(self, call: Call) -> StreamedReply:
        self._note(call)
        if self.next_streams:
            return self.next_streams.pop(0)
        stream = _Droppable(await self._inner.stream(call), call)
        self.streams.append(stream)
        self.streaming.set()
        return stream

    async def close(self) -> None:
        await self._inner.close()

    def drop_streams(self) -> None:
        for stream in self.streams:
            stream.drop()
        self.streams.clear()
        self.streaming.clear()

    def _note(self, call: Call) -> None:
        self.calls.append(call)
        if self.fail(call):
            raise TransportError(f"{call}: the test wants it so")


class _Droppable:
    def __init__(self, inner: StreamedReply, call: Call) -> None:
        self.status = inner.status
        self.headers: Mapping[str, str] = inner.headers
        self._inner = inner
        self._call = call
        self._dropped = False

    def drop(self) -> None:
        self._dropped = True
        self._inner.close()

    async def read(self) -> bytes:
        chunk = b"" if self._dropped else await self._inner.read()
        if self._dropped:
            raise TransportError(f"{self._call}: dropped")
        return chunk

    def close(self) -> None:
        self._inner.close()
