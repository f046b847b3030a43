"""Bytes that are almost requests, made from a random source.

Proper requests in a row, then damaged: pieces of the grammar put where they do not belong, bytes
changed, dropped and doubled, lengths that lie. Everything that has been used to hide one request in
another is in here somewhere.
"""

from __future__ import annotations

import random

__all__ = ["cut", "hostile", "proper"]

METHODS = (b"GET", b"GET", b"PUT", b"POST", b"DELETE", b"HEAD", b"PATCH", b"OPTIONS", b"FOO")
TARGETS = (
    b"/",
    b"/a?b=c",
    b"/%41%2f",
    b"//host/x",
    b"/a//../b",
    b"http://host/x",
    b"*",
    b"/%ff",
    b"/%00",
    b"/%zz",
    b"/a#b",
    b"/?a=%c3%a4&a=+",
)
FIELDS = (
    b"Accept: */*",
    b"Accept-Encoding: gzip",
    b"Connection: keep-alive",
    b"Connection: close",
    b"Content-Length: 0",
    b"Content-Length: 3",
    b"Content-Length: 3, 3",
    b"Content-Length: 03",
    b"Content-Length: +3",
    b"Content-Length: 99999999999999999999",
    b"Content-Length : 3",
    b"Content-Length\t: 3",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: Chunked",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding: \x0bchunked",
    b"Transfer-Encoding:\tchunked",
    b"Transfer-Encoding : chunked",
    b"Transfer_Encoding: chunked",
    b"X: y\r\n folded",
    b"X: y\nTransfer-Encoding: chunked",
    b"X: y\rContent-Length: 3",
    b"X: \x00",
    b"X: \xff",
    b"X:",
    b": x",
    b"X",
    b"Expect: 100-continue",
    b"Expect: a miracle",
    b"Host: other",
    b"X: " + b"y" * 500,
)
BITS = (
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b" ",
    b"\t",
    b"\x00",
    b":",
    b"0\r\n\r\n",
    b"3\r\nabc\r\n",
    b"GET / HTTP/1.1\r\n",
    b"HTTP/1.1",
    b"HTTP/2.0",
    b"\xff",
    b"%",
    b";",
    b"ffffffff\r\n",
)


def proper(source: random.Random, number: int) -> bytes:
    """A request as it should be, with a body told in one of the ways there are."""
    method = source.choice((b"GET", b"PUT", b"POST", b"DELETE"))
    head = b"%b /%d?a=b HTTP/1.1\r\nHost: x\r\n" % (method, number)
    body = source.randbytes(source.choice((0, 1, 3, 20, 300)))
    if source.random() < 0.5:
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    coded = b""
    while body:
        size = source.randint(1, len(body))
        coded += b"%x\r\n%b\r\n" % (size, body[:size])
        body = body[size:]
    trailer = source.choice((b"", b"X: y\r\n"))
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\n" + trailer + b"\r\n"


def hostile(source: random.Random) -> bytes:
    """A few requests, some of them damaged."""
    parts = []
    for number in range(source.randint(1, 4)):
        if source.random() < 0.5:
            parts.append(proper(source, number))
        else:
            parts.append(_odd(source))
    data = b"".join(parts)
    for _ in range(source.choice((0, 0, 1, 1, 2, 8))):
        data = _damage(source, data)
    return data


def cut(source: random.Random, data: bytes) -> list[bytes]:
    """The bytes in pieces, as a network might deliver them."""
    pieces = []
    longest = source.choice((1, 7, 100, 10_000))
    while data:
        size = source.randint(1, longest)
        pieces.append(data[:size])
        data = data[size:]
    return pieces


def _odd(source: random.Random) -> bytes:
    version = source.choice((b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"http/1.1"))
    fields = [b"Host: x"] if source.random() < 0.9 else []
    fields += source.choices(FIELDS, k=source.randint(0, 4))
    line = b" ".join((source.choice(METHODS), source.choice(TARGETS), version))
    body = source.choice((b"", b"abc", b"3\r\nabc\r\n0\r\n\r\n", b"0\r\n\r\n", b"-1\r\n\r\n"))
    return b"\r\n".join((line, *fields, b"", body))


def _damage(source: random.Random, data: bytes) -> bytes:
    at = source.randint(0, len(data))
    match source.randrange(4):
        case 0:
            return data[:at] + source.choice(BITS) + data[at:]
        case 1:
            return data[:at] + source.randbytes(1) + data[at + 1 :]
        case 2:
            return data[:at] + data[at + source.randint(1, 4) :]
        case _:
            return data[:at] + data[max(at - 20, 0) :]
