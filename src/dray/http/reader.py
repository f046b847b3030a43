"""From bytes to requests, without a socket.

What arrives is fed in; `take` gives the next request once it is there whole, body included. The
reader stops at the end of each request, so what a client sends ahead stays bytes until its turn.
"""

from __future__ import annotations

import re
from typing import Final

from dray.errors import BadRequest
from dray.http.chunks import Chunks
from dray.http.head import Fields, HeadReader, Line
from dray.http.limits import Limits
from dray.http.messages import Peer, Request
from dray.http.refusals import body_too_large, head_too_large, line_too_long
from dray.http.target import read_target

__all__ = ["RequestReader"]

_BARE_LINE_FEED: Final = re.compile(rb"(?:^|[^\r])\n")


class RequestReader:
    """Reads one connection's requests, in order.

    `fields` and `minor_version` are those of the request that was taken last, or is under way. An
    error that `take` raises is the last: nothing after it can be told apart.
    """

    __slots__ = (
        "_buffer",
        "_chunks",
        "_heads",
        "_limits",
        "_line",
        "_peer",
        "_scanned",
        "_told_to_continue",
        "fields",
        "minor_version",
    )

    def __init__(self, limits: Limits, heads: HeadReader, peer: Peer) -> None:
        self._limits = limits
        self._heads = heads
        self._peer = peer
        self._buffer: bytes | bytearray = b""
        self._scanned = 0
        self._line: Line | None = None
        self._chunks: Chunks | None = None
        self._told_to_continue = False
        self.fields: Fields | None = None
        self.minor_version = 1

    @property
    def buffered(self) -> int:
        """Bytes that were fed and not taken."""
        return len(self._buffer)

    @property
    def held(self) -> int:
        """Bytes that are kept for a request that is not there whole."""
        return len(self._buffer) + (self._chunks.held if self._chunks is not None else 0)

    @property
    def reading_body(self) -> bool:
        """Whether the head is there and the body is not."""
        return self._line is not None

    def feed(self, data: bytes) -> None:
        """Add what arrived."""
        if not self._buffer:
            self._buffer = data
            return
        if type(self._buffer) is bytes:
            self._buffer = bytearray(self._buffer)
        self._buffer += data

    def must_continue(self) -> bool:
        """Whether the client waits to be told to send the body; true once for each request."""
        fields = self.fields
        if (
            self._line is None
            or self._told_to_continue
            or fields is None
            or not fields.expects_continue
            or not self.minor_version
            or self._buffer
        ):
            return False
        self._told_to_continue = True
        return True

    def take(self) -> Request | None:
        """The next request, or None while some of it is missing. Raises what a bad one deserves."""
        if self._line is None and not self._take_head():
            return None
        line, fields = self._line, self.fields
        assert line is not None
        assert fields is not None
        if fields.chunked:
            body = self._take_chunks()
            if body is None:
                return None
        else:
            body = b""
            length = fields.length
            if length:
                if len(self._buffer) < length:
                    return None
                body = bytes(memoryview(self._buffer)[:length])
                self._drop(length)
        self._line = None
        path, query = read_target(line.method, line.target)
        return Request(line.method, path, query, fields.headers, body, self._peer)

    def rest(self) -> bytes:
        """What came after the last request, which is not another one."""
        rest = bytes(self._buffer)
        self._buffer = b""
        return rest

    def forget(self) -> None:
        """Let go of what was fed: there will be no other request."""
        self._buffer = b""
        self._chunks = None
        self._line = None

    def _take_head(self) -> bool:
        buffer = self._buffer
        if buffer[:2] == b"\r\n":
            # Some old clients end a body with an empty line that is not a part of it.
            self._drop(2)
            buffer = self._buffer
        if not buffer:
            return False
        end = buffer.find(b"\r\n\r\n", self._scanned)
        limits = self._limits
        if end < 0:
            self._check_unfinished()
            self._scanned = max(len(buffer) - 3, 0)
            return False
        self._scanned = 0
        if end > limits.request_line_bytes_max and (
            buffer.find(b"\r\n", 0, limits.request_line_bytes_max + 2) < 0
        ):
            raise line_too_long(limits.request_line_bytes_max)
        if end > limits.head_bytes_max:
            raise head_too_large("bytes", limits.head_bytes_max)
        line = self._heads.line(buffer, 0, end + 2)
        fields = self._heads.fields(bytes(buffer[line.end : end + 2]))
        if line.minor_version and not fields.has_host:
            raise BadRequest("missing required Host header")
        if not line.minor_version and fields.chunked:
            raise BadRequest("HTTP/1.0 has no transfer-encoding")
        if fields.length > limits.body_bytes_max:
            raise body_too_large(limits.body_bytes_max)
        self._drop(end + 4)
        self._line = line
        self.fields = fields
        self.minor_version = line.minor_version
        self._told_to_continue = False
        return True

    def _take_chunks(self) -> bytes | None:
        if self._chunks is None:
            self._chunks = Chunks(self._limits.body_bytes_max)
        if type(self._buffer) is bytes:
            self._buffer = bytearray(self._buffer)
        assert isinstance(self._buffer, bytearray)
        body = self._chunks.take(self._buffer)
        if body is not None:
            self._chunks = None
            self._buffer = bytes(self._buffer)
        return body

    def _drop(self, count: int) -> None:
        if count == len(self._buffer):
            self._buffer = b""
        elif type(self._buffer) is bytes:
            self._buffer = self._buffer[count:]
        else:
            assert isinstance(self._buffer, bytearray)
            del self._buffer[:count]

    def _check_unfinished(self) -> None:
        """Refuse at once what cannot become a head any more, instead of waiting for its end."""
        buffer, limits = self._buffer, self._limits
        if not 0x41 <= buffer[0] <= 0x5A:
            raise BadRequest("the request line is malformed")
        if len(buffer) > limits.request_line_bytes_max and (
            buffer.find(b"\r\n", 0, limits.request_line_bytes_max + 2) < 0
        ):
            raise line_too_long(limits.request_line_bytes_max)
        if len(buffer) > limits.head_bytes_max:
            raise head_too_large("bytes", limits.head_bytes_max)
        if _BARE_LINE_FEED.search(buffer, max(self._scanned - 1, 0)):
            raise BadRequest("the header is malformed: a line ends without a carriage return")
