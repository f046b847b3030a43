"""A transport to a server in the same process: no socket, no parsing, the same semantics.

As over a socket: reading is given up when the caller is, writing goes on to its end; a stream that
nobody reads is dropped once too much of it waits; what ends improperly raises TransportError.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dray.client._transport import Call, Reply, StreamedReply, Transport
from dray.errors import TransportError
from dray.http.chunks import unframe
from dray.http.messages import Answer, Handler, Header, Peer, Request, Response, Stream

__all__ = ["in_process"]

_log = logging.getLogger(__name__)

# What a stream may hold unread before its reader is taken for gone: as much as over a socket.
STREAM_BYTES_MAX: Final = 64 * 1024 * 1024

# From the range that is reserved for documentation: nobody is there.
_ADDRESS: Final = "192.0.2.1:4711"

_READING: Final = frozenset({"GET", "HEAD"})


def in_process(
    handler: Handler,
    *,
    token: str = "",
    certificate: bytes | None = None,
    headers: Sequence[Header] = (),
    stream_bytes_max: int = STREAM_BYTES_MAX,
) -> Transport:
    """A transport that calls a handler.

    Who is asking shows in a bearer token, or a client certificate (DER) that the handler may take
    for verified. `headers` go with every request.
    """
    every = _lower(headers)
    if token:
        every["authorization"] = f"Bearer {token}"
    return _InProcess(handler, every, Peer(_ADDRESS, certificate), stream_bytes_max)


class _InProcess:
    def __init__(
        self, handler: Handler, headers: Mapping[str, str], peer: Peer, stream_bytes_max: int
    ) -> None:
        self._handler = handler
        self._headers = headers
        self._peer = peer
        self._stream_bytes_max = stream_bytes_max
        self._writing: set[asyncio.Task[Answer]] = set()
        # A dict serves as a set that remembers the order in which streams came.
        self._pipes: dict[_Pipe, None] = {}
        self._closed = False

    async def request(self, call: Call) -> Reply:
        answer = await self._answer(call)
        if isinstance(answer, Response):
            return Reply(answer.status, _lower(answer.headers), answer.body)
        if isinstance(answer, Stream):
            answer.ended()
        raise TransportError(f"{call}: the server answered with a stream")

    async def stream(self, call: Call) -> StreamedReply:
        answer = await self._answer(call)
        if isinstance(answer, Response):
            return _Whole(answer)
        if not isinstance(answer, Stream):
            raise TransportError(f"{call}: the server answered with a websocket")
        pipe = _Pipe(answer, call, self._stream_bytes_max, self._forget)
        self._pipes[pipe] = None
        answer.start(pipe)
        return _Streamed(answer, pipe)

    async def close(self) -> None:
        self._closed = True
        for pipe in list(self._pipes):
            pipe.lose("the client was closed")
        if self._writing:
            await asyncio.wait(self._writing)

    async def _answer(self, call: Call) -> Answer:
        if self._closed:
            raise TransportError(f"{call}: the client was closed")
        query: dict[str, list[str]] = {}
        for name, value in call.query:
            query.setdefault(name, []).append(value)
        headers = {**self._headers, **dict(call.headers)}
        request = Request(call.method, call.path, query, headers, call.body, self._peer)
        # A request takes at least one turn of the loop, as over a socket: who asks again and again
        # must not keep everybody else from running.
        await asyncio.sleep(0)
        if call.method in _READING:
            return await self._handler(request)
        task = asyncio.ensure_future(self._handler(request))
        self._writing.add(task)
        task.add_done_callback(self._written)
        return await asyncio.shield(task)

    def _written(self, task: asyncio.Task[Answer]) -> None:
        self._writing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.debug("a request to the server in this process failed", exc_info=task.exception())

    def _forget(self, pipe: _Pipe) -> None:
        self._pipes.pop(pipe, None)


class _Whole:
    """An answer that is complete, read as a stream."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = _lower(response.headers)
        self._body = response.body

    async def read(self) -> bytes:
        body, self._body = self._body, b""
        return body

    def close(self) -> None:
        self._body = b""


class _Streamed:
    """The client's end of a stream."""

    def __init__(self, stream: Stream, pipe: _Pipe) -> None:
        self.status = stream.status
        self.headers: Mapping[str, str] = _lower(stream.headers)
        self._pipe = pipe

    async def read(self) -> bytes:
        return await self._pipe.read()

    def close(self) -> None:
        self._pipe.lose("its reader closed it")


class _Pipe:
    """The server's end of a stream: a Channel. What is written waits until it is read."""

    def __init__(
        self, stream: Stream, call: Call, bytes_max: int, over: Callable[[_Pipe], None]
    ) -> None:
        self._stream = stream
        self._call = call
        self._bytes_max = bytes_max
        self._over = over
        self._chunks: deque[bytes] = deque()
        self._bytes = 0
        self._reader: asyncio.Future[None] | None = None
        self._open = True
        self._lost = ""  # why there is nothing more to read, unless it ended properly

    # The server's end --------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if not self._open or not data:
            return
        self._chunks.append(data)
        self._bytes += len(data)
        if self._bytes > self._bytes_max:
            self.lose(f"it was dropped, with {self._bytes} bytes unread")
        else:
            self._wake()

    def write_framed(self, chunk: bytes) -> None:
        self.write(unframe(chunk))

    def close(self) -> None:
        self._end()

    def abort(self) -> None:
        self.lose("the server dropped it")

    @property
    def buffered(self) -> int:
        return self._bytes

    # The client's end --------------------------------------------------------------------------

    async def read(self) -> bytes:
        while not self._chunks:
            if self._lost:
                raise TransportError(f"{self._call}: the stream broke off: {self._lost}")
            if not self._open:
                return b""
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        found = self._chunks.popleft() if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._bytes = 0
        return found

    def lose(self, why: str) -> None:
        """Drop what waits; whoever reads is told why. After the end it does nothing."""
        if self._open:
            self._chunks.clear()
            self._bytes = 0
            self._lost = why
            self._end()

    def _end(self) -> None:
        if self._open:
            self._open = False
            self._over(self)
            self._wake()
            self._stream.ended()

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)


def _lower(headers: Sequence[Header]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        name = name.lower()
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
