"""One connection: answers out of bytes. Sockets are in test_http."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from dray.client import _connection
from dray.client._connection import Connection, Lost

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Wire(asyncio.Transport):
    """The transport of a connection that leads nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closing = False
        self.paused = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closing

    def abort(self) -> None:
        self.closing = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


def opened() -> tuple[Connection, Wire]:
    connection, wire = Connection(memoryview(bytearray(64))), Wire()
    connection.connection_made(wire)
    return connection, wire


def run(test: Callable[[Connection, Wire], object]) -> None:
    async def main() -> None:
        connection, wire = opened()
        result = test(connection, wire)
        if asyncio.iscoroutine(result):
            await result

    asyncio.run(main())


def test_answers_follow_each_other_on_one_connection() -> None:
    async def check(connection: Connection, wire: Wire) -> None:
        assert connection.is_reusable
        for number in range(3):
            connection.request(b"request")
            assert not connection.is_reusable
            connection.data_received(OK)
            assert await connection.head() == 200
            assert await connection.body() == b"{}"
            assert connection.is_reusable
            assert connection.exchanges_count == number + 1
        assert wire.written == [b"request"] * 3

    run(check)


def test_connections_may_share_what_they_read_into() -> None:
    async def check(connection: Connection, wire: Wire) -> None:
        buffer = connection.get_buffer(-1)
        another = Connection(buffer)
        another.connection_made(wire)
        bodies = {connection: b"one", another: b"two"}
        for each, body in bodies.items():
            each.request(b"request")
            answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n" + body
            each.get_buffer(-1)[: len(answer)] = answer
            each.buffer_updated(len(answer))
        for each, body in bodies.items():
            assert await each.body() == body

    run(check)


def test_a_server_that_wants_to_close_is_not_asked_again() -> None:
    async def check(connection: Connection, wire: Wire) -> None:
        connection.request(b"request")
        connection.data_received(OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
        assert await connection.body() == b"{}"
        assert not connection.is_reusable

    run(check)


def test_what_nobody_asked_for_ends_the_connection() -> None:
    def check(connection: Connection, wire: Wire) -> None:
        connection.data_received(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        assert wire.closing
        assert not connection.is_reusable

    run(check)


def test_a_lost_connection_tells_whether_anything_was_heard() -> None:
    async def check(connection: Connection, wire: Wire) -> None:
        connection.request(b"request")
        connection.connection_lost(ConnectionResetError("reset"))
        assert not connection.heard
        with pytest.raises(Lost, match="before it answered: reset"):
            await connection.head()
        assert connection.closed.done()
        another, _wire = opened()
        another.request(b"request")
        another.data_received(OK[:-1])
        another.connection_lost(None)
        assert another.heard
        assert await another.head() == 200
        with pytest.raises(Lost, match="in the middle of its answer"):
            await another.body()

    run(check)


def test_what_arrived_before_the_end_of_a_stream_is_read_first() -> None:
    async def check(connection: Connection, wire: Wire) -> None:
        connection.request(b"request", streaming=True)
        connection.data_received(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
        connection.connection_lost(None)
        assert await connection.read() == b"a"
        with pytest.raises(Lost):
            await connection.read()

    run(check)


def test_a_stream_is_not_read_faster_than_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_connection, "UNREAD_BYTES_MAX", 10)

    async def check(connection: Connection, wire: Wire) -> None:
        connection.request(b"request", streaming=True)
        connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n" + b"x" * 10)
        assert not wire.paused
        connection.data_received(b"x")
        assert wire.paused
        assert await connection.read() == b"x" * 11
        assert not wire.paused

    run(check)


def test_an_answer_that_nobody_took_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_connection, "UNREAD_BYTES_MAX", 1)

    async def check(connection: Connection, wire: Wire) -> None:
        connection.request(b"request", streaming=True)
        connection.data_received(OK)
        assert await connection.head() == 200
        assert not connection.is_reusable
        assert wire.paused
        assert await connection.read() == b"{}"
        assert connection.is_reusable
        assert not wire.paused

    run(check)


def test_an_answer_that_is_too_large_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_connection, "REPLY_BYTES_MAX", 10)

    async def check(connection: Connection, wire: Wire) -> None:
        connection.request(b"request")
        connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n" + b"x" * 11)
        with pytest.raises(Lost, match="more than 10 bytes"):
            await connection.body()
        assert wire.closing

    run(check)


def test_trailers_are_not_headers_and_repeated_headers_are_joined() -> None:
    async def check(connection: Connection, wire: Wire) -> None:
        connection.request(b"request")
        connection.data_received(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nWarning: a\r\nwarning: b\r\n\r\n"
            b"1\r\nx\r\n0\r\nlate: y\r\n\r\n"
        )
        assert await connection.body() == b"x"
        assert connection.headers == {"transfer-encoding": "chunked", "warning": "a, b"}

    run(check)


def test_an_answer_without_a_body_is_complete() -> None:
    async def check(connection: Connection, wire: Wire) -> None:
        connection.request(b"request")
        connection.data_received(b"HTTP/1.1 204 No Content\r\n\r\n")
        assert await connection.body() == b""
        assert connection.is_reusable

    run(check)
