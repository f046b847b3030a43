"""The chunked transfer coding, both ways.

`frame` makes a chunk of bytes; who sends the same event to a hundred clients makes it once.
`Chunks` reads a request's body. It is strict where lenience has let requests hide in others: sizes
are plain hexadecimal digits, every line ends with CRLF and holds no other line break, and what
comes after the last chunk is read as header lines and dropped, unless it is about messages' ends.
"""

from __future__ import annotations

import re
from typing import Final

from dray.errors import BadRequest
from dray.http.refusals import body_too_large

__all__ = ["LAST_CHUNK", "Chunks", "frame", "unframe"]

LAST_CHUNK: Final = b"0\r\n\r\n"

# A size line with its extensions, which nobody sends, and a trailer line, which nobody reads.
LINE_BYTES_MAX: Final = 1024
# Of all lines of a body together: a body in chunks of one byte is not worth reading to the end.
LINES_BYTES_MAX: Final = 8 * 1024 * 1024

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_EXTENSION: Final = (
    rb";" + _TOKEN + rb"(?:=(?:" + _TOKEN + rb'|"[\t\x20\x21\x23-\x5b\x5d-\x7e]*"))?'
)
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(?:" + _EXTENSION + rb")*")
_TRAILER: Final = re.compile(rb"(" + _TOKEN + rb"):[\t\x20-\x7e\x80-\xff]*")
# What says where messages end comes before they begin, or two readers may disagree.
_NEVER_TRAILERS: Final = frozenset(
    (b"connection", b"content-length", b"host", b"transfer-encoding", b"upgrade")
)


def frame(data: bytes) -> bytes:
    """One chunk that holds the bytes, which are not empty: an empty chunk would be the last."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def unframe(chunk: bytes) -> bytes:
    """The bytes `frame` made the chunk of."""
    return chunk[chunk.index(b"\r\n") + 2 : -2]


class Chunks:
    """A body that arrives in chunks. `take` eats from a buffer what belongs to it."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        # One buffer: a body in chunks of two bytes would be a million objects.
        self._body = bytearray()
        self._size = 0
        self._lines_bytes = 0
        self._missing = 0  # of the chunk under way, its CRLF included
        self._in_trailer = False

    @property
    def held(self) -> int:
        """Bytes of the body that have been taken from the buffer."""
        return len(self._body)

    def take(self, buffer: bytearray) -> bytes | None:
        """The body once it is complete; what follows it stays in the buffer."""
        while True:
            if self._missing > 2:
                part = buffer[: self._missing - 2]
                if not part:
                    return None
                del buffer[: len(part)]
                self._body += part
                self._missing -= len(part)
            elif self._missing:
                if len(buffer) < 2:
                    return None
                if buffer[:2] != b"\r\n":
                    raise BadRequest("a chunk of the body is longer than its size")
                del buffer[:2]
                self._missing = 0
            else:
                line = self._line(buffer)
                if line is None:
                    return None
                if self._in_trailer:
                    if not line:
                        return bytes(self._body)
                    found = _TRAILER.fullmatch(line)
                    if found is None or found[1].lower() in _NEVER_TRAILERS:
                        raise BadRequest("the body ends in a malformed trailer")
                else:
                    self._begin(line)

    def _begin(self, line: bytes) -> None:
        found = _SIZE.fullmatch(line)
        if found is None:
            raise BadRequest("a chunk of the body has a malformed size")
        size = int(found[1], 16)
        self._size += size
        if self._size > self._bytes_max:
            raise body_too_large(self._bytes_max)
        self._in_trailer = size == 0
        self._missing = size + 2 if size else 0

    def _line(self, buffer: bytearray) -> bytes | None:
        end = buffer.find(b"\n", 0, LINE_BYTES_MAX)
        if end < 0:
            if len(buffer) >= LINE_BYTES_MAX:
                raise BadRequest("a line between the chunks of the body is too long")
            return None
        line = bytes(buffer[: end + 1])
        self._lines_bytes += len(line)
        if not line.endswith(b"\r\n") or self._lines_bytes > LINES_BYTES_MAX:
            raise BadRequest("the chunks of the body are malformed")
        del buffer[: end + 1]
        return line[:-2]
