"""From bytes to requests: whole, in order, and nothing that is not one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.errors import APIError
from dray.http.chunks import LAST_CHUNK, frame
from dray.http.head import HeadReader
from dray.http.limits import Limits
from dray.http.messages import Peer
from dray.http.reader import RequestReader

PEER = Peer("127.0.0.1:1")
SMALL = Limits(body_bytes_max=20, request_line_bytes_max=50, head_bytes_max=200)


def reader(limits: Limits = SMALL) -> RequestReader:
    return RequestReader(limits, HeadReader(limits), PEER)


def code_of(data: bytes, limits: Limits = SMALL) -> int:
    subject = reader(limits)
    subject.feed(data)
    with pytest.raises(APIError) as refused:
        subject.take()
    return refused.value.code


def test_a_request_comes_whole() -> None:
    subject = reader()
    subject.feed(b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
    request = subject.take()
    assert request is not None
    assert (request.method, request.path, request.query) == ("POST", "/a", {"b": ["c"]})
    assert (request.headers["host"], request.body, request.peer) == ("x", b"abc", PEER)
    assert subject.take() is None


BODIES = [b"", b"x", b"hello world"]


def coded(body: bytes, chunked: bool) -> bytes:
    if chunked:
        framed = (frame(body) if body else b"") + LAST_CHUNK
        return b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + framed
    return b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(BODIES), st.booleans()), max_size=4), st.data())
def test_requests_may_arrive_in_any_pieces(
    sent: list[tuple[bytes, bool]], data: st.DataObject
) -> None:
    text = b"".join(coded(body, chunked) for body, chunked in sent)
    subject, bodies = reader(), []
    while text:
        size = data.draw(st.integers(1, len(text)))
        subject.feed(text[:size])
        text = text[size:]
        while (request := subject.take()) is not None:
            bodies.append(request.body)
    assert bodies == [body for body, _ in sent]
    assert subject.buffered == 0


def test_what_follows_a_request_stays_bytes() -> None:
    subject = reader()
    subject.feed(b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\n")
    first = subject.take()
    assert first is not None
    assert first.path == "/1"
    assert subject.rest() == b"GET /2 HTTP/1.1\r\n"
    assert subject.buffered == 0


def test_an_empty_line_before_a_request_is_skipped() -> None:
    subject = reader()
    subject.feed(b"\r\nGET / HTTP/1.0\r\n\r\n\r\n")
    assert subject.take() is not None
    assert subject.take() is None
    assert subject.buffered == 0


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),  # no Host
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 21\r\n\r\n", 413),
        (b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n15\r\n", 413),
        (b"GET /" + b"a" * 50, 414),
        (b"GET /" + b"a" * 50 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 200, 431),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 200 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\n", 400),
        (b"GET / HTTP/1.1\r\nA: x\n", 400),
        (b"\n", 400),
        (b"\x16\x03\x01\x02", 400),  # TLS
        (b" GET / HTTP/1.1\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ],
)
def test_what_is_no_request_is_refused_as_soon_as_that_is_known(data: bytes, code: int) -> None:
    assert code_of(data) == code


def test_a_refusal_does_not_depend_on_how_the_bytes_arrive() -> None:
    data = b"GET / HTTP/1.1\r\nHost: x\r\nA: x\nB: y\r\n\r\n"
    subject = reader()
    with pytest.raises(APIError) as refused:  # noqa: PT012 - whichever byte makes it certain
        for byte in data:
            subject.feed(bytes([byte]))
            subject.take()
    assert refused.value.code == code_of(data) == 400


def test_a_client_is_told_once_to_send_its_body() -> None:
    subject = reader()
    subject.feed(b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    assert subject.take() is None
    assert subject.reading_body
    assert subject.must_continue()
    assert not subject.must_continue()
    subject.feed(b"abc")
    assert subject.take() is not None
    assert not subject.must_continue()


def test_a_client_that_sent_its_body_is_not_told_to() -> None:
    subject = reader()
    subject.feed(b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\na")
    assert subject.take() is None
    assert not subject.must_continue()
