"""One connection to a server: a request goes out, its answer comes back, then the next.

Answers are parsed by httptools as they arrive. A whole answer is handed over once it is complete;
a stream piece by piece, and while nobody takes the pieces the socket is not read, so that the
server notices. Whatever is not HTTP, or is more of it than anybody sends, ends the connection.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, cast

import httptools

from dray.errors import DrayError, shorten

__all__ = ["Connection", "Lost"]

# Status line and headers: proxies add a few kilobytes to what servers send.
HEAD_BYTES_MAX: Final = 64 * 1024

# A list of 50,000 pods, in one answer.
REPLY_BYTES_MAX: Final = 512 * 1024 * 1024

# Of a stream, before the socket is left unread: the largest event there is costs a few rounds.
UNREAD_BYTES_MAX: Final = 1024 * 1024


class Lost(DrayError):
    """The connection is of no more use, and the answer, if it had begun, is not whole."""


class Connection(asyncio.BufferedProtocol):
    """A connection that is open. `request` comes first, then `head`, then `body` or `read`."""

    def __init__(self, buffer: memoryview) -> None:
        """The buffer may be that of all connections of a loop: it is read and emptied in one go."""
        loop = asyncio.get_running_loop()
        self._buffer = buffer
        self.closed: asyncio.Future[None] = loop.create_future()
        self.exchanges_count = 0
        self.idle_since = 0.0
        self.status = 0
        self.headers: dict[str, str] = {}
        self.heard = False  # anything at all, since the request
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None  # while an answer is expected
        self._waiter: asyncio.Future[None] | None = None
        self._chunks: deque[bytes] = deque()
        self._unread_bytes = 0
        self._head_bytes = 0
        self._has_head = False
        self._streaming = False
        self._complete = False
        self._keep = False  # the connection, after this answer
        self._until_end = False  # the answer ends with the connection
        self._paused = False
        self._failure = ""

    # What the transport uses -------------------------------------------------------------------

    def request(self, data: bytes, *, streaming: bool = False) -> None:
        """Send a request. The answer to the one before was complete."""
        transport = self._transport
        assert transport is not None
        self.exchanges_count += 1
        self.heard = False
        self._head_bytes = 0
        self._has_head = self._complete = self._until_end = False
        self._streaming = streaming
        self._reset_head()
        self._parser = httptools.HttpResponseParser(self)
        transport.write(data)

    async def head(self) -> int:
        """The status, as soon as the headers are there as well. Raises Lost."""
        while not self._has_head:
            await self._news()
        return self.status

    async def body(self) -> bytes:
        """The whole of it. Raises Lost."""
        while not self._complete:
            await self._news()
        return self._take()

    async def read(self) -> bytes:
        """What has arrived since; empty at the end. Raises Lost."""
        while not self._chunks and not self._complete:
            await self._news()
        taken = self._take()
        if self._paused and self._transport is not None and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()
        return taken

    @property
    def is_reusable(self) -> bool:
        """Whether the answer is complete and was taken, and another request may follow.

        What was left of an answer would be the beginning of the next one.
        """
        transport = self._transport
        return (
            (self._complete or not self.exchanges_count)
            and not self._chunks
            and not self._paused
            and not self._failure
            and (self._keep or not self.exchanges_count)
            and transport is not None
            and not transport.is_closing()
        )

    def abort(self) -> None:
        """Give the connection up, at once."""
        self._fail("the client gave it up")
        if self._transport is not None:
            self._transport.abort()

    # What the loop calls -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio calls it
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self._buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Take what arrived."""
        if self._parser is None or self._complete or self._failure:
            # Nobody asked.
            self._end("the server sent more than its answer")
            return
        self.heard = True
        if not self._has_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end("the server changed to another protocol")
        except httptools.HttpParserError as error:
            self._end(f"the server sent something that is not HTTP: {shorten(str(error))}")
        if self._head_bytes > HEAD_BYTES_MAX and not self._has_head:
            self._end(f"the head of the answer has more than {HEAD_BYTES_MAX} bytes")

    def eof_received(self) -> None:
        if self._until_end and self._has_head and not self._failure:
            self._complete = True
            self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        why = f": {error}" if error is not None else ""
        when = "in the middle of its answer" if self.heard else "before it answered"
        self._fail(f"the server closed the connection {when}{why}")
        if not self.closed.done():
            self.closed.set_result(None)

    # What the parser calls ---------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._complete:
            self._failure = self._failure or "the server sent more than its answer"

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._has_head:
            return  # a trailer, which nobody reads
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        parser = self._parser
        if parser is None or self._complete:
            return
        self.status = parser.get_status_code()
        if self.status < _FINAL_STATUS:  # more is to come, and the real head after it
            return
        self._keep = parser.should_keep_alive()
        framed = "content-length" in self.headers or "transfer-encoding" in self.headers
        self._until_end = not framed and self.status not in _WITHOUT_BODY
        self._has_head = True
        self._wake()

    def on_body(self, body: bytes) -> None:
        if self._complete:
            return
        self._chunks.append(body)
        self._unread_bytes += len(body)
        if not self._streaming:
            if self._unread_bytes > REPLY_BYTES_MAX:
                self._end(f"the answer has more than {REPLY_BYTES_MAX} bytes")
            return
        self._wake()
        if self._unread_bytes > UNREAD_BYTES_MAX and not self._paused:
            assert self._transport is not None
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._complete:
            return
        if self.status < _FINAL_STATUS:
            self._reset_head()
            return
        self._complete = True
        self._wake()

    # Private -----------------------------------------------------------------------------------

    def _reset_head(self) -> None:
        self.status = 0
        self.headers = {}

    def _take(self) -> bytes:
        chunks = self._chunks
        taken = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()
        self._unread_bytes = 0
        return taken

    async def _news(self) -> None:
        if self._failure:
            raise Lost(self._failure)
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _fail(self, why: str) -> None:
        self._failure = self._failure or why
        self._wake()

    def _end(self, why: str) -> None:
        self._fail(why)
        if self._transport is not None:
            self._transport.abort()


_FINAL_STATUS: Final = 200
_WITHOUT_BODY: Final = frozenset({204, 304})
