"""Chunks: framed once, read strictly."""

from __future__ import annotations

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.errors import APIError, BadRequest, RequestEntityTooLarge
from dray.http.chunks import LAST_CHUNK, LINES_BYTES_MAX, Chunks, frame, unframe


@given(st.binary(min_size=1, max_size=300))
def test_a_frame_holds_its_bytes(data: bytes) -> None:
    assert unframe(frame(data)) == data
    assert Chunks(1000).take(bytearray(frame(data) + LAST_CHUNK)) == data


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.data())
def test_a_body_may_arrive_in_any_pieces(parts: list[bytes], data: st.DataObject) -> None:
    coded = b"".join(map(frame, parts)) + LAST_CHUNK + b"GET / HTTP/1.1"
    chunks, buffer = Chunks(1000), bytearray()
    while coded:
        size = data.draw(st.integers(1, len(coded)))
        buffer += coded[:size]
        coded = coded[size:]
        body = chunks.take(buffer)
        if body is not None:
            break
    assert body == b"".join(parts)
    assert b"GET / HTTP/1.1".startswith(bytes(buffer))


def test_extensions_and_trailers_are_dropped() -> None:
    buffer = bytearray(b'3;name="value"\r\nabc\r\n0\r\nDigest: x\r\nMore: y\r\n\r\nrest')
    assert Chunks(10).take(buffer) == b"abc"
    assert buffer == b"rest"


@pytest.mark.parametrize(
    "coded",
    [
        b"3\nabc\r\n0\r\n\r\n",
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"3\r\nabc0\r\n\r\n",
        b"0x3\r\nabc\r\n0\r\n\r\n",
        b"-3\r\nabc\r\n0\r\n\r\n",
        b"+3\r\nabc\r\n0\r\n\r\n",
        b" 3\r\nabc\r\n0\r\n\r\n",
        b"3_0\r\nabc\r\n0\r\n\r\n",
        b"\r\nabc\r\n0\r\n\r\n",
        b"3;a\nb\r\nabc\r\n0\r\n\r\n",
        b"3;a\rb\r\nabc\r\n0\r\n\r\n",
        b"3;\r\nabc\r\n0\r\n\r\n",
        b"3 ;a\r\nabc\r\n0\r\n\r\n",
        b'3;a="b\r\nabc\r\n0\r\n\r\n',
        b"000000003\r\nabc\r\n0\r\n\r\n",
        b"0\r\nno trailer\r\n\r\n",
        b"0\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"0\r\ncontent-length: 5\r\n\r\n",
        b"0\r\n folded: x\r\n\r\n",
        b"0\r\nA: x\n\r\n",
        b"3;" + b"a" * 2000 + b"\r\nabc\r\n0\r\n\r\n",
        b"3" + b"0" * 2000,
    ],
)
def test_a_malformed_body_is_refused(coded: bytes) -> None:
    with pytest.raises(BadRequest):
        Chunks(1000).take(bytearray(coded))


def test_a_body_over_the_limit_is_refused_before_it_arrives() -> None:
    with pytest.raises(RequestEntityTooLarge, match="limit is 10"):
        Chunks(10).take(bytearray(b"b\r\n"))
    with pytest.raises(RequestEntityTooLarge):
        Chunks(10).take(bytearray(b"6\r\naaaaaa\r\n6\r\n"))


def test_lines_between_chunks_are_bounded_together() -> None:
    chunks = Chunks(10)
    chunks.take(bytearray(b"0\r\n"))
    line = b"A: " + b"x" * 1000 + b"\r\n"
    with pytest.raises(BadRequest):  # noqa: PT012 - any of the lines may be the one too many
        for _ in range(LINES_BYTES_MAX // len(line) + 1):
            chunks.take(bytearray(line))


class _Body:
    def __init__(self) -> None:
        self.data = b""
        self.complete = False

    def on_body(self, data: bytes) -> None:
        self.data += data

    def on_message_complete(self) -> None:
        self.complete = True


@given(st.text("0123af\r\n;:x \t\x00", max_size=30).map(str.encode) | st.binary(max_size=20))
def test_what_is_read_is_what_llhttp_reads(coded: bytes) -> None:
    buffer = bytearray(coded)
    try:
        body = Chunks(2000).take(buffer)
    except APIError:
        return
    if body is None:
        return
    theirs = _Body()
    parser = httptools.HttpRequestParser(theirs)
    parser.feed_data(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    parser.feed_data(coded[: len(coded) - len(buffer)])
    assert (theirs.complete, theirs.data) == (True, body)
