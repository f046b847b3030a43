"""Heads: what is malformed or ambiguous is refused; the rest is read once per block."""

from __future__ import annotations

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.errors import APIError, BadRequest
from dray.http.head import BLOCK_BYTES_MAX, BLOCKS_MAX, Fields, HeadReader
from dray.http.limits import Limits


def fields(block: bytes) -> Fields:
    return HeadReader(Limits()).fields(block)


def test_a_line_is_method_target_and_version() -> None:
    text = b"..PATCH /api?a=b HTTP/1.1\r\nHost: x\r\n"
    line = HeadReader(Limits()).line(text, 2, len(text))
    assert (line.method, line.target, line.minor_version) == ("PATCH", b"/api?a=b", 1)
    assert text[line.end :] == b"Host: x\r\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"GET / HTTP/2.0\r\n", 505),
        (b"GET / HTTP/1.2\r\n", 505),
        (b"GET /\r\n", 400),
        (b"GET  / HTTP/1.1\r\n", 400),
        (b"GET\t/ HTTP/1.1\r\n", 400),
        (b"GET / HTTP/1.1 \r\n", 400),
        (b"get / HTTP/1.1\r\n", 400),
        (b"GE\0T / HTTP/1.1\r\n", 400),
        (b"GET /a b HTTP/1.1\r\n", 400),
        (b"GET /\xc3\xa4 HTTP/1.1\r\n", 400),
        (b"GET /\x7f HTTP/1.1\r\n", 400),
        (b"GET /a#b HTTP/1.1\r\n", 400),
        (b"GET / http/1.1\r\n", 400),
        (b"GET / HTTP/1.1\n\r\n", 400),
    ],
)
def test_a_malformed_line_is_refused(text: bytes, code: int) -> None:
    with pytest.raises(APIError) as refused:
        HeadReader(Limits()).line(text, 0, len(text))
    assert refused.value.code == code


def test_fields_have_lower_case_names_and_repeated_ones_are_joined() -> None:
    found = fields(b"Host: h\r\nAccept:  a \r\nACCEPT: b\r\nEmpty:\r\nUser: J\xc3\xbcrgen\r\n")
    assert found.headers == {"host": "h", "accept": "a, b", "empty": "", "user": "Jürgen"}


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", 400),
        (b"Content-Length: 3\r\nContent-Length: 4\r\n", 400),
        (b"Content-Length: 3\r\nContent-Length: 3\r\n", 400),
        (b"Content-Length: 3, 3\r\n", 400),
        (b"Content-Length: +3\r\n", 400),
        (b"Content-Length: 0x3\r\n", 400),
        (b"Content-Length: -1\r\n", 400),
        (b"Content-Length:\r\n", 400),
        (b"Content-Length: 99999999999999999999\r\n", 400),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        (b"Transfer-Encoding: gzip, chunked\r\n", 501),
        (b"Transfer-Encoding: chunked, identity\r\n", 400),
        (b"Transfer-Encoding: identity\r\n", 400),
        (b"Transfer-Encoding: xchunked\r\n", 400),
        (b"Transfer-Encoding : chunked\r\n", 400),
        (b"Host: a\r\nHost: a\r\n", 400),
        (b"A: x\r\n folded\r\n", 400),
        (b" A: x\r\n", 400),
        (b"A: x\nB: y\r\n", 400),
        (b"A: x\rB: y\r\n", 400),
        (b"A: \0\r\n", 400),
        (b"A: \x01\r\n", 400),
        (b"A\0: x\r\n", 400),
        (b"A b: x\r\n", 400),
        (b": x\r\n", 400),
        (b"no colon\r\n", 400),
        (b"A: \xff\r\n", 400),
        (b"Expect: 200-ok\r\n", 417),
        (b"A: x\r\n" * 101, 431),
    ],
)
def test_malformed_and_ambiguous_fields_are_refused(block: bytes, code: int) -> None:
    with pytest.raises(APIError) as refused:
        fields(block)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("block", "name"),
    [
        (b"Connection: Close\r\n", "close"),
        (b"Connection: foo, keep-alive\r\n", "keep_alive"),
        (b"Expect: 100-Continue\r\n", "expects_continue"),
        (b"Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n", "websocket"),
        (b"Accept-Encoding: deflate, gzip;q=0.5\r\n", "accepts_gzip"),
        (b"Accept-Encoding: *\r\n", "accepts_gzip"),
        (b"Transfer-Encoding: Chunked\r\n", "chunked"),
        (b"Host:\r\n", "has_host"),
    ],
)
def test_fields_say_what_the_client_wants(block: bytes, name: str) -> None:
    assert getattr(fields(block), name)
    assert not getattr(fields(b"Accept: x\r\n"), name)


@pytest.mark.parametrize("value", [b"gzip;q=0", b"gzip; q=0.00", b"identity", b"x-gzip", b""])
def test_gzip_is_not_forced_on_anyone(value: bytes) -> None:
    assert not fields(b"Accept-Encoding: " + value + b"\r\n").accepts_gzip


def test_an_upgrade_alone_is_not_a_websocket() -> None:
    assert not fields(b"Upgrade: websocket\r\n").websocket
    assert not fields(b"Connection: upgrade\r\nUpgrade: h2c\r\n").websocket


def test_a_block_is_read_once_and_few_are_remembered() -> None:
    heads = HeadReader(Limits())
    assert heads.fields(b"Host: a\r\n") is heads.fields(b"Host: a\r\n")
    large = b"Host: " + b"a" * BLOCK_BYTES_MAX + b"\r\n"
    assert heads.fields(large) is not heads.fields(large)
    for number in range(2 * BLOCKS_MAX):
        heads.fields(b"Host: %d\r\n" % number)
    assert len(heads._blocks) <= BLOCKS_MAX


def test_a_refused_block_is_refused_again() -> None:
    heads = HeadReader(Limits())
    for _ in range(2):
        with pytest.raises(BadRequest):
            heads.fields(b"Content-Length: x\r\n")


class _Target:
    url = b""

    def on_url(self, url: bytes) -> None:
        self.url += url


@given(st.text("GETP /HTP1.0?#%\\\t\x00\r\nä", max_size=30).map(str.encode))
def test_llhttp_agrees_with_every_line_that_is_read(text: bytes) -> None:
    text = b"GET /" + text + b" HTTP/1.1\r\n"
    try:
        line = HeadReader(Limits()).line(text, 0, len(text))
    except APIError:
        return
    if line.end != len(text):
        return
    theirs = _Target()
    parser = httptools.HttpRequestParser(theirs)
    parser.feed_data(text)
    assert theirs.url == line.target
