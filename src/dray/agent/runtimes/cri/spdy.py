"""SPDY/3.1, as far as runtimes use it to carry the streams of a process or a port.

Runtimes offer websockets too, but only in the version that cannot tell a process the end of its
input; SPDY can, all of them speak it, and kubelets ask for nothing else. There is no task here:
whoever wants the next piece reads the connection until it comes, so a reader that stops reading
stops the writer at the other end. Windows are not kept: no runtime's implementation does.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from dray.errors import TransportError
from dray.texts import quote, shorten

__all__ = ["Piece", "SPDYConnection", "open_spdy"]

# A frame of a runtime holds what it read at once: 32 KiB. Its length may say 16 MiB.
FRAME_BYTES_MAX: Final = 4 * 1024 * 1024
# What is written in one frame, so that a long write does not hold up what is small.
WRITE_BYTES_MAX: Final = 32 * 1024
HEAD_BYTES_MAX: Final = 16 * 1024
REFUSAL_BYTES_MAX: Final = 4 * 1024

_VERSION: Final = 3
_CONTROL: Final = 0x8000_0000
_SYN_STREAM, _RST_STREAM, _PING, _GOAWAY = 1, 3, 6, 7
_FIN: Final = 1
_CANCEL: Final = 5

# SPDY's own: header blocks are compressed as if this text had come before them.
_DICTIONARY_WORDS: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language "
    "accept-ranges age allow authorization cache-control connection content-base content-encoding "
    "content-language content-length content-location content-md5 content-range content-type date "
    "etag expect expires from host if-match if-modified-since if-none-match if-range "
    "if-unmodified-since last-modified location max-forwards pragma proxy-authenticate "
    "proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url "
    "public set-cookie keep-alive origin"
)
_DICTIONARY_TEXT: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 "
    "Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
    "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age="
    "gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _sized(text: str) -> bytes:
    return len(text).to_bytes(4, "big") + text.encode()


DICTIONARY: Final = (
    b"".join(_sized(word.replace("_", " ")) for word in _DICTIONARY_WORDS.split(" "))
    + _DICTIONARY_TEXT.encode()
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Data of a stream; `last` if no more will come. Stream 0 is the connection, which ended."""

    stream: int
    data: bytes
    last: bool


class SPDYConnection:
    """One connection. Failures are TransportError."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, protocol: str
    ) -> None:
        """`protocol` is what the other end chose to speak over the streams."""
        self.protocol = protocol
        self._reader = reader
        self._writer = writer
        self._compressor = zlib.compressobj(zdict=DICTIONARY)
        self._streams_made = 0
        self._head: tuple[int, int] | None = None  # of a frame whose body is still to come
        # Two writers may wait for room; what they write must not wait in memory twice over.
        self._writing = asyncio.Lock()

    def open_stream(self, headers: Mapping[str, str]) -> int:
        """A new stream's number; nothing waits for the other end to agree."""
        stream = 2 * self._streams_made + 1
        self._streams_made += 1
        pairs = b"".join(_sized(name) + _sized(value) for name, value in headers.items())
        block = self._compressor.compress(len(headers).to_bytes(4, "big") + pairs)
        block += self._compressor.flush(zlib.Z_SYNC_FLUSH)
        # Its number, that of the stream it belongs to, its priority and its credential.
        self._control(_SYN_STREAM, struct.pack(">IIH", stream, 0, 0) + block)
        return stream

    async def write(self, stream: int, data: bytes) -> None:
        """Send data once there is room."""
        async with self._writing:
            for start in range(0, len(data), WRITE_BYTES_MAX):
                piece = data[start : start + WRITE_BYTES_MAX]
                self._send(struct.pack(">II", stream, len(piece)) + piece)
                try:
                    await self._writer.drain()
                except OSError as error:
                    raise TransportError(f"the runtime's stream broke: {error}") from error

    def write_now(self, stream: int, data: bytes) -> None:
        """Send something small, or nothing if there is no room or nobody."""
        transport = self._writer.transport
        if not transport.is_closing() and transport.get_write_buffer_size() <= WRITE_BYTES_MAX:
            self._send(struct.pack(">II", stream, len(data)) + data)

    async def finish(self, stream: int) -> None:
        """No more will be written to it."""
        async with self._writing:
            self._send(struct.pack(">II", stream, _FIN << 24))

    async def read(self) -> Piece:
        """The next piece of any stream. Must not be called by two at once."""
        while True:
            try:
                # Whoever gives up between the two has not lost the first.
                if self._head is None:
                    self._head = struct.unpack(">II", await self._reader.readexactly(8))
                head, length = self._head
                flags, length = length >> 24, length & 0xFF_FFFF
                if length > FRAME_BYTES_MAX:
                    raise TransportError(f"the runtime sends a frame of {length} bytes")
                body = await self._reader.readexactly(length)
                self._head = None
            except (asyncio.IncompleteReadError, OSError):
                return Piece(0, b"", last=True)
            if not head & _CONTROL:
                return Piece(head, body, last=bool(flags & _FIN))
            kind = head & 0xFFFF
            if kind == _RST_STREAM and length >= 8:
                return Piece(struct.unpack_from(">I", body)[0] & 0x7FFF_FFFF, b"", last=True)
            # Pings of the other end have even numbers; others are answers to ours, which do not
            # exist.
            if kind == _PING and length == 4 and not body[-1] % 2:
                self._control(_PING, body)
            # Replies say that a stream is agreed to, and settings and windows mean nothing here.

    async def close(self) -> None:
        """Hang up.

        Each stream is given up by name: containerd waits for ever, and with it the end of the
        container, for a stream that goes away while it is being made.
        """
        if not self._writer.is_closing():
            with suppress(TransportError):
                for number in range(self._streams_made):
                    self._control(_RST_STREAM, struct.pack(">II", 2 * number + 1, _CANCEL))
                self._control(_GOAWAY, bytes(8))
            self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    def _control(self, kind: int, body: bytes) -> None:
        self._send(struct.pack(">HHI", 0x8000 | _VERSION, kind, len(body)) + body)

    def _send(self, frame: bytes) -> None:
        if self._writer.is_closing():
            raise TransportError("the stream to the runtime is closed")
        self._writer.write(frame)


async def open_spdy(url: str, protocol: str) -> SPDYConnection:
    """Connect to the URL that a runtime gave. Raises TransportError."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TransportError(f"the runtime streams at {quote(url)}, which is no HTTP")
    try:
        reader, writer = await asyncio.open_connection(
            parts.hostname,
            parts.port or (443 if secure else 80),
            ssl=_anybody() if secure else None,
            limit=HEAD_BYTES_MAX,
        )
    except OSError as error:
        raise TransportError(f"cannot connect to the runtime's streams: {error}") from error
    connection = None
    try:
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        writer.write(
            f"POST {path} HTTP/1.1\r\n"
            f"Host: {parts.netloc}\r\n"
            "Connection: Upgrade\r\n"
            "Upgrade: SPDY/3.1\r\n"
            f"X-Stream-Protocol-Version: {protocol}\r\n"
            "Content-Length: 0\r\n\r\n".encode()
        )
        await writer.drain()
        connection = SPDYConnection(reader, writer, await _upgraded(reader))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
        raise TransportError(f"the runtime's stream broke: {error}") from error
    finally:
        if connection is None:
            writer.close()
    return connection


async def _upgraded(reader: asyncio.StreamReader) -> str:
    """The protocol the other end chose, once it agrees to SPDY."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in head[1:])
    }
    if head[0].split()[1:2] == ["101"]:
        return headers.get("x-stream-protocol-version", "")
    length = headers.get("content-length", "0")
    size = min(int(length), REFUSAL_BYTES_MAX) if length.isdecimal() else 0
    told = (await reader.readexactly(size)).decode("utf-8", "replace").strip()
    raise TransportError(f"the runtime refuses to stream: {shorten(head[0])} {shorten(told)}")


def _anybody() -> ssl.SSLContext:
    """Runtimes make up certificates for their own streams; the URL came over a trusted socket."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
