"""Listeners: real sockets, standard clients, and an orderly end."""

from __future__ import annotations

import asyncio
import http.client
from pathlib import Path

import pytest

from dray.errors import ConfigurationError, InternalError
from dray.http.limits import Limits
from dray.http.listener import Listener
from dray.http.messages import Answer, Channel, Request, Response, Stream
from dray.testing import FakeClock
from tests.unit.http.wire import LOOPS, echo, exchange, listening

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
LAST_GET = b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

loops = pytest.mark.parametrize("loop", LOOPS)


@loops
def test_requests_are_answered_over_a_socket(loop: str) -> None:
    async def scenario() -> None:
        async with listening() as listener:
            answer = await exchange(listener, GET + LAST_GET)
            assert answer.count(b"HTTP/1.1 200 OK") == 2
            assert answer.endswith(b"GET /a {} 0")
            counters = listener.counters
            assert (counters.requests_total, counters.requests_in_flight) == (2, 0)
            assert (counters.connections_total, counters.bytes_sent) == (1, len(answer))
            assert counters.bytes_received == len(GET + LAST_GET)

    LOOPS[loop](scenario())


@loops
def test_the_standard_librarys_client_is_served(loop: str) -> None:
    body = b"x" * 300_000

    def client(port: int) -> list[tuple[int, bytes]]:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        answers = []
        for method, sent in (("GET", None), ("PUT", body), ("HEAD", None), ("DELETE", b"{}")):
            connection.request(method, "/a%20b?c=d", sent, {"Accept-Encoding": "identity"})
            answer = connection.getresponse()
            answers.append((answer.status, answer.read()))
        connection.request("POST", "/", iter([b"abc", b"def"]), encode_chunked=True)
        answer = connection.getresponse()
        answers.append((answer.status, answer.read()))
        connection.close()
        return answers

    async def scenario() -> None:
        async with listening() as listener:
            assert await asyncio.to_thread(client, listener.port) == [
                (200, b"GET /a b {'c': ['d']} 0"),
                (200, b"PUT /a b {'c': ['d']} 300000"),
                (200, b""),
                (200, b"DELETE /a b {'c': ['d']} 2"),
                (200, b"POST / {} 6"),
            ]

    LOOPS[loop](scenario())


def test_the_address_of_a_client_can_be_read_back() -> None:
    peers = []

    async def handler(request: Request) -> Answer:
        peers.append(request.peer.address)
        return await echo(request)

    async def scenario() -> None:
        for host in ("127.0.0.1", "::1"):
            async with listening(handler, host=host) as listener:
                reader, writer = await asyncio.open_connection(host, listener.port)
                writer.write(LAST_GET)
                await reader.read()
                writer.close()
                await writer.wait_closed()

    asyncio.run(scenario())
    assert [address.rpartition(":")[0] for address in peers] == ["127.0.0.1", "[::1]"]


@loops
def test_a_unix_socket_serves_as_well(loop: str, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    peers = []

    async def handler(request: Request) -> Answer:
        peers.append(request.peer.address)
        return await echo(request)

    async def scenario() -> None:
        async with listening(handler, path=path):
            assert path.stat().st_mode & 0o777 == 0o600
            reader, writer = await asyncio.open_unix_connection(str(path))
            writer.write(LAST_GET)
            assert (await reader.read()).endswith(b"GET /a {} 0")
            writer.close()
            await writer.wait_closed()

    LOOPS[loop](scenario())
    assert peers == ["local"]
    assert not path.exists()


def test_a_file_in_the_place_of_a_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("precious")

    async def scenario() -> None:
        with pytest.raises(ConfigurationError, match="notes"):
            await Listener(echo, clock=FakeClock(), path=path).start()

    asyncio.run(scenario())
    assert path.read_text() == "precious"


def test_an_address_that_is_taken_is_a_mistake_of_the_configuration() -> None:
    async def scenario() -> None:
        async with listening() as first:
            second = Listener(echo, clock=FakeClock(), port=first.port)
            with pytest.raises(ConfigurationError, match=f"127.0.0.1:{first.port}"):
                await second.start()

    asyncio.run(scenario())


def test_a_listener_is_started_once_and_before_it_is_used() -> None:
    async def scenario() -> None:
        unused = Listener(echo, clock=FakeClock(), port=1234)
        assert unused.port == 1234
        with pytest.raises(InternalError):
            _ = unused.counters
        async with listening() as listener:
            with pytest.raises(InternalError):
                await listener.start()

    asyncio.run(scenario())


# The end -----------------------------------------------------------------------------------------


@loops
def test_idle_connections_are_closed_when_the_listener_stops(loop: str) -> None:
    async def scenario() -> None:
        listener = Listener(echo, clock=FakeClock())
        await listener.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(GET)
        await reader.readuntil(b"GET /a {} 0")
        await listener.stop(60)
        assert await reader.read() == b""
        assert listener.counters.connections_open == 0
        writer.close()
        await writer.wait_closed()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", listener.port)

    LOOPS[loop](scenario())


@loops
def test_requests_under_way_are_answered_before_the_listener_stops(loop: str) -> None:
    async def scenario() -> None:
        entered, leave = asyncio.Event(), asyncio.Event()

        async def handler(_: Request) -> Answer:
            entered.set()
            await leave.wait()
            return Response(200, (), b"done")

        listener = Listener(handler, clock=FakeClock())
        await listener.start()
        answer = asyncio.ensure_future(exchange(listener, GET))
        await entered.wait()
        stopping = asyncio.ensure_future(listener.stop(60))
        await asyncio.sleep(0)
        leave.set()
        await stopping
        assert b"Connection: close" in await answer
        assert (await answer).endswith(b"\r\n\r\ndone")

    LOOPS[loop](scenario())


@loops
def test_streams_say_goodbye_and_end_properly(loop: str) -> None:
    async def scenario() -> None:
        channels: list[Channel] = []
        started = asyncio.Event()

        def start(channel: Channel) -> None:
            channels.append(channel)
            started.set()

        async def handler(_: Request) -> Answer:
            return Stream(200, (), start, lambda: channels[0].write(b"goodbye"))

        listener = Listener(handler, clock=FakeClock())
        await listener.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(GET)
        await started.wait()
        await listener.stop(60)
        assert (await reader.read()).endswith(b"\r\n\r\n7\r\ngoodbye\r\n0\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    LOOPS[loop](scenario())


def test_a_stream_whose_feeder_fails_at_the_end_does_not_keep_the_others() -> None:
    async def scenario() -> None:
        started: asyncio.Queue[Channel] = asyncio.Queue()

        def fail() -> None:
            raise ValueError("no last words")

        async def handler(_: Request) -> Answer:
            return Stream(200, (), started.put_nowait, fail)

        failures: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failures.append(context["exception"]))
        listener = Listener(handler, clock=FakeClock())
        await listener.start()
        ends = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(3)]
        for _, writer in ends:
            writer.write(GET)
            await started.get()
        await listener.stop(60)
        for reader, writer in ends:
            assert (await reader.read()).endswith(b"\r\n\r\n0\r\n\r\n")
            writer.close()
            await writer.wait_closed()
        assert [str(failure) for failure in failures] == ["no last words"] * 3

    asyncio.run(scenario())


@loops
def test_what_does_not_end_is_dropped_when_the_grace_is_over(loop: str) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        entered = asyncio.Event()
        cancelled = asyncio.Event()

        async def handler(_: Request) -> Answer:
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            raise AssertionError("woken")

        listener = Listener(handler, clock=clock)
        await listener.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(GET.replace(b"GET", b"PUT"))
        await entered.wait()
        stopping = asyncio.ensure_future(listener.stop(5))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        clock.advance(5)
        await stopping
        assert cancelled.is_set()
        assert await reader.read() == b""
        writer.close()

    LOOPS[loop](scenario())


@loops
def test_a_refused_client_sees_why_although_it_is_still_sending(loop: str) -> None:
    async def scenario() -> None:
        async with listening(limits=Limits(body_bytes_max=1000)) as listener:
            head = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n"
            answer = await exchange(listener, head + b"x" * 5_000_000)
            assert answer.startswith(b"HTTP/1.1 413 ")
            assert b"Request entity too large: limit is 1000" in answer

    LOOPS[loop](scenario())
