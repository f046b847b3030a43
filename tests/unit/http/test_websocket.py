"""Websockets: whole messages, limits, and ends that both sides agree on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wsproto.connection import Connection as Frames
from wsproto.connection import ConnectionType
from wsproto.events import (
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    TextMessage,
)

from dray.errors import TransportError
from dray.http.limits import Limits
from dray.http.messages import Answer, Request, Upgrade, WebSocket
from tests.unit.http.wire import LOOPS, Bench, listening

Serve = Callable[[WebSocket], Coroutine[Any, Any, None]]

KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
HEAD = (
    b"GET /exec HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + KEY + b"\r\n\r\n"
)
SMALL = Limits(message_bytes_max=100)


async def reverse(socket: WebSocket) -> None:
    """Sends every message back, the other way round."""
    while (message := await socket.receive()) is not None:
        await socket.send(message[::-1])


def handler(serve: Serve, protocol: str = "") -> Callable[[Request], Coroutine[Any, Any, Answer]]:
    async def handle(_: Request) -> Answer:
        return Upgrade(serve, protocol)

    return handle


class Client(Bench):
    """The other end, over a transport without a socket."""

    def __init__(self, serve: Serve, limits: Limits | None = None, protocol: str = "") -> None:
        super().__init__(handler(serve, protocol), limits)
        self.frames = Frames(ConnectionType.CLIENT)
        self._read = 0

    async def upgrade(self) -> str:
        self.feed(HEAD)
        await self.transport.until(lambda: b"\r\n\r\n" in self.transport.written)
        head, _, _ = self.transport.written.partition(b"\r\n\r\n")
        self._read = len(head) + 4
        return head.decode()

    def send(self, event: Event) -> None:
        self.feed(self.frames.send(event))

    async def event(self) -> Event:
        while True:
            for event in self.frames.events():
                return event
            await self.transport.until(lambda: len(self.transport.written) > self._read)
            data = self.transport.written[self._read :]
            self._read += len(data)
            self.frames.receive_data(data)


def test_the_handshake_proves_that_it_was_understood() -> None:
    async def scenario() -> None:
        head = await Client(reverse, protocol="v5.channel.k8s.io").upgrade()
        assert head.split("\r\n") == [
            "HTTP/1.1 101 Switching Protocols",
            "Upgrade: websocket",
            "Connection: Upgrade",
            # RFC 6455's own example.
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
            "Sec-WebSocket-Protocol: v5.channel.k8s.io",
        ]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"GET", b"POST"),
        (b"keep-alive, Upgrade", b"keep-alive"),
        (b"Upgrade: websocket", b"Upgrade: SPDY/3.1"),
        (b"Version: 13", b"Version: 8"),
        (KEY, b"short"),
        (KEY, b"!!!!"),
        (b"Sec-WebSocket-Key", b"X-Key"),
    ],
)
def test_an_incomplete_handshake_is_a_bad_request(old: bytes, new: bytes) -> None:
    async def scenario() -> None:
        bench = Bench(handler(reverse))
        bench.feed(HEAD.replace(old, new))
        assert (await bench.transport.answers(1)).startswith(b"HTTP/1.1 400 ")

    asyncio.run(scenario())


@pytest.mark.parametrize("loop", LOOPS)
def test_messages_go_both_ways_over_a_socket(loop: str) -> None:
    async def scenario() -> None:
        async with listening(handler(reverse)) as listener:
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            frames = Frames(ConnectionType.CLIENT)
            # With the first message sent ahead of the answer.
            writer.write(HEAD + frames.send(BytesMessage(data=b"abc")))
            await reader.readuntil(b"\r\n\r\n")
            frames.receive_data(await reader.readexactly(5))
            assert list(frames.events()) == [BytesMessage(data=b"cba")]
            writer.write(frames.send(CloseConnection(code=1000)))
            frames.receive_data(await reader.read())
            assert list(frames.events()) == [CloseConnection(code=1000, reason="")]
            writer.close()
            await writer.wait_closed()

    LOOPS[loop](scenario())


def test_a_message_in_parts_arrives_whole_and_text_as_its_bytes() -> None:
    async def scenario() -> None:
        client = Client(reverse)
        await client.upgrade()
        client.send(BytesMessage(data=b"ab", message_finished=False))
        client.send(BytesMessage(data=b"cd"))
        assert await client.event() == BytesMessage(data=bytearray(b"dcba"))
        client.send(TextMessage(data="xyz"))
        assert await client.event() == BytesMessage(data=bytearray(b"zyx"))

    asyncio.run(scenario())


def test_pings_are_answered() -> None:
    async def scenario() -> None:
        client = Client(reverse)
        await client.upgrade()
        client.send(Ping(payload=b"there?"))
        assert await client.event() == Pong(payload=b"there?")

    asyncio.run(scenario())


def test_a_message_over_the_limit_ends_the_connection() -> None:
    async def scenario() -> None:
        client = Client(reverse, SMALL)
        await client.upgrade()
        for _ in range(3):
            client.send(BytesMessage(data=b"x" * 40, message_finished=False))
        event = await client.event()
        assert isinstance(event, CloseConnection)
        assert (event.code, event.reason) == (1009, "the limit is 100 bytes")
        assert client.transport.closed

    asyncio.run(scenario())


def test_what_is_no_frame_ends_the_connection() -> None:
    async def scenario() -> None:
        client = Client(reverse)
        await client.upgrade()
        client.feed(b"\xff\xff\xff\xff")
        event = await client.event()
        assert isinstance(event, CloseConnection)
        assert event.code == 1002
        assert client.transport.closed
        client.feed(b"more")

    asyncio.run(scenario())


def test_a_client_that_sends_too_fast_is_slowed_down() -> None:
    async def scenario() -> None:
        read = asyncio.Event()

        async def serve(socket: WebSocket) -> None:
            await read.wait()
            await reverse(socket)

        client = Client(serve, SMALL)
        await client.upgrade()
        client.send(BytesMessage(data=b"x" * 60))
        assert client.transport.reading
        client.send(BytesMessage(data=b"y" * 60))
        assert not client.transport.reading
        read.set()
        await client.event()
        assert client.transport.reading

    asyncio.run(scenario())


def test_sending_waits_while_the_client_is_slow() -> None:
    async def scenario() -> None:
        sent: list[bytes] = []

        async def serve(socket: WebSocket) -> None:
            for message in (b"one", b"two"):
                await socket.send(message)
                sent.append(message)
                client.connection.pause_writing()

        client = Client(serve)
        await client.upgrade()
        assert await client.event() == BytesMessage(data=bytearray(b"one"))
        await asyncio.sleep(0)
        assert sent == [b"one"]
        client.connection.resume_writing()
        assert await client.event() == BytesMessage(data=bytearray(b"two"))

    asyncio.run(scenario())


def test_when_serving_is_over_the_connection_closes_properly() -> None:
    async def scenario() -> None:
        async def serve(socket: WebSocket) -> None:
            await socket.send(b"bye")

        client = Client(serve)
        await client.upgrade()
        assert await client.event() == BytesMessage(data=bytearray(b"bye"))
        event = await client.event()
        assert isinstance(event, CloseConnection)
        assert event.code == 1000
        assert not client.transport.closed
        client.send(event.response())
        assert client.transport.closed

    asyncio.run(scenario())


def test_a_client_that_does_not_answer_the_close_is_dropped() -> None:
    async def scenario() -> None:
        async def serve(socket: WebSocket) -> None:
            await socket.close(4000, "because" * 100)

        client = Client(serve)
        await client.upgrade()
        event = await client.event()
        assert isinstance(event, CloseConnection)
        assert event.code == 4000
        assert (event.reason or "").startswith("because")
        client.wait(4)
        assert client.transport.aborted

    asyncio.run(scenario())


def test_room_does_not_excuse_a_close_that_is_not_answered() -> None:
    async def scenario() -> None:
        async def serve(socket: WebSocket) -> None:
            await socket.close()

        client = Client(serve)
        await client.upgrade()
        await client.event()
        client.connection.pause_writing()
        client.connection.resume_writing()
        client.wait(62)
        assert client.transport.aborted

    asyncio.run(scenario())


def test_who_serves_a_client_that_is_gone_is_told() -> None:
    async def scenario() -> None:
        received: list[bytes | None] = []
        refused = asyncio.Event()

        async def serve(socket: WebSocket) -> None:
            received.append(await socket.receive())
            try:
                await socket.send(b"hello?")
            except TransportError:
                refused.set()
                raise

        client = Client(serve)
        await client.upgrade()
        client.transport.closed = True
        client.connection.connection_lost(None)
        await refused.wait()
        assert received == [None]
        assert client.service.counters.websockets_open == 0

    asyncio.run(scenario())


def test_a_failure_of_who_serves_is_logged_and_said(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async def serve(_: WebSocket) -> None:
            raise ValueError("secret")

        client = Client(serve)
        await client.upgrade()
        event = await client.event()
        assert isinstance(event, CloseConnection)
        assert event.code == 1011

    with caplog.at_level(logging.ERROR):
        asyncio.run(scenario())
    assert "secret" in caplog.text


def test_a_server_that_shuts_down_says_that_it_goes_away() -> None:
    async def scenario() -> None:
        client = Client(reverse)
        await client.upgrade()
        client.connection.wind_down()
        event = await client.event()
        assert isinstance(event, CloseConnection)
        assert event.code == 1001

    asyncio.run(scenario())


@settings(max_examples=150)
@given(st.lists(st.binary(max_size=40), max_size=6))
def test_whatever_arrives_as_frames_nothing_breaks(pieces: list[bytes]) -> None:
    async def scenario() -> None:
        client = Client(reverse, SMALL)
        await client.upgrade()
        for piece in pieces:
            if not client.transport.closed:
                client.feed(piece)
            await asyncio.sleep(0)
        client.transport.closed = True
        client.connection.connection_lost(None)
        (*tasks,) = client.service.tasks
        await asyncio.gather(*tasks)
        assert client.service.counters.websockets_open == 0

    asyncio.run(scenario())
