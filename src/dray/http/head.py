"""The head of a request: its line, and what its header fields say about the connection.

llhttp judges header fields: it refuses folded lines, bare line feeds, control characters and
malformed names. Clients send the same fields again and again, so what a block of them says is
remembered by its exact bytes, and a request with a known block costs one look-up. On top of llhttp,
nothing about a body's length may be ambiguous: one Content-Length or one Transfer-Encoding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import httptools  # type: ignore[import-untyped, unused-ignore]

from dray.errors import BadRequest
from dray.http.limits import Limits
from dray.http.refusals import (
    expectation_failed,
    head_too_large,
    unknown_coding,
    unknown_version,
)

__all__ = ["Fields", "HeadReader", "Line"]

# Blocks of one listener's clients: each client has a handful, one per verb and length of body.
# Together with the fields read from them, at most some megabytes.
BLOCKS_MAX: Final = 512
BLOCK_BYTES_MAX: Final = 4096

# Method, target, minor version. The target is visible ASCII; fragments are not sent.
_LINE: Final = re.compile(rb"([A-Z]{1,24}) ([\x21\x22\x24-\x7e]+) HTTP/1\.([01])\r\n")
_OTHER_VERSION: Final = re.compile(
    rb"[A-Z]{1,24} [\x21-\x7e]+ HTTP/(?!1\.[01]\r)[0-9]+(?:\.[0-9]+)?\r\n"
)
_LENGTH: Final = re.compile(r"[0-9]{1,18}")
_PREFIX: Final = b"GET / HTTP/1.1\r\n"


class Line(NamedTuple):
    """The request line."""

    method: str
    target: bytes
    minor_version: int  # of HTTP/1
    end: int  # where the fields begin


@dataclass(frozen=True, slots=True)
class Fields:
    """What a block of header fields says."""

    headers: Mapping[str, str]
    length: int  # of the body
    chunked: bool
    close: bool  # the client wants the connection closed after the answer
    keep_alive: bool  # it says that it wants the opposite, which only HTTP/1.0 needs
    expects_continue: bool
    websocket: bool  # it asks for an upgrade to one
    accepts_gzip: bool
    has_host: bool


class HeadReader:
    """Reads heads, and remembers blocks of fields."""

    def __init__(self, limits: Limits) -> None:
        self._headers_max = limits.headers_max
        self._blocks: dict[bytes, Fields] = {}

    def line(self, buffer: bytes | bytearray, start: int, end: int) -> Line:
        """The request line that begins at `start`; the head ends at `end`."""
        found = _LINE.match(buffer, start, end)
        if found is None:
            if _OTHER_VERSION.match(buffer, start, end):
                raise unknown_version()
            raise BadRequest("the request line is malformed")
        method, target, minor = found.groups()
        return Line(method.decode(), bytes(target), 1 if minor == b"1" else 0, found.end())

    def fields(self, block: bytes) -> Fields:
        """What the block says: header lines, each with its CRLF."""
        known = self._blocks.get(block)
        if known is not None:
            return known
        fields = _interpret(_Collector(self._headers_max).read(block))
        if len(block) <= BLOCK_BYTES_MAX:
            if len(self._blocks) >= BLOCKS_MAX:
                self._blocks.clear()
            self._blocks[block] = fields
        return fields


class _Collector:
    """What llhttp calls: the fields of one block."""

    def __init__(self, headers_max: int) -> None:
        self._headers_max = headers_max
        self._fields: list[tuple[str, bytes]] = []

    def read(self, block: bytes) -> list[tuple[str, str]]:
        parser = httptools.HttpRequestParser(self)
        try:
            parser.feed_data(_PREFIX + block + b"\r\n")
        except httptools.HttpParserUpgrade:
            pass  # the fields ask for one, which is not for the parser to decide
        except httptools.HttpParserError as error:
            raise BadRequest(f"the header is malformed: {error}") from error
        if len(self._fields) > self._headers_max:
            raise head_too_large("fields", self._headers_max)
        try:
            return [(name, value.strip(b" \t").decode()) for name, value in self._fields]
        except UnicodeDecodeError as error:
            raise BadRequest("the header is malformed: a value is not UTF-8") from error

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name.decode("ascii").lower(), value))


def _interpret(fields: list[tuple[str, str]]) -> Fields:
    headers: dict[str, str] = {}
    for name, value in fields:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    names = [name for name, _ in fields]
    for single in ("content-length", "transfer-encoding", "host"):
        if names.count(single) > 1:
            raise BadRequest(f"the header has more than one {single}")
    length = headers.get("content-length")
    coding = headers.get("transfer-encoding")
    if length is not None and coding is not None:
        raise BadRequest("the header has both content-length and transfer-encoding")
    if length is not None and not _LENGTH.fullmatch(length):
        raise BadRequest("the header has a content-length that is not a number")
    if coding is not None and coding.lower() != "chunked":
        raise unknown_coding()
    expectation = headers.get("expect", "").lower()
    if expectation not in ("", "100-continue"):
        raise expectation_failed()
    connection = _tokens(headers.get("connection", ""))
    return Fields(
        headers=headers,
        length=int(length or 0),
        chunked=coding is not None,
        close="close" in connection,
        keep_alive="keep-alive" in connection,
        expects_continue=bool(expectation),
        websocket="upgrade" in connection and "websocket" in _tokens(headers.get("upgrade", "")),
        accepts_gzip=_accepts_gzip(headers.get("accept-encoding", "")),
        has_host="host" in headers,
    )


def _tokens(value: str) -> set[str]:
    return {token.strip(" \t").lower() for token in value.split(",")}


def _accepts_gzip(value: str) -> bool:
    """Whether a coding is gzip, and not refused by a weight of zero."""
    for coding in value.split(","):
        name, _, weight = coding.partition(";")
        if name.strip(" \t").lower() in ("gzip", "*"):
            number = weight.replace(" ", "").lower().removeprefix("q=")
            return not re.fullmatch(r"0(\.0{0,3})?", number)
    return False
