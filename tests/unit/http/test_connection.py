"""One connection, on a transport without a socket: phases, deadlines, order, room."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dray.http.limits import Limits
from dray.http.messages import Answer, Channel, Request, Response, Stream, Upgrade
from tests.unit.http.wire import Bench, echo

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"

Scenario = Callable[[], Coroutine[Any, Any, None]]


def in_loop(scenario: Scenario) -> Callable[[], None]:
    """Run the test in a loop of its own."""

    def test() -> None:
        asyncio.run(scenario())

    test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
    return test


class Gate:
    """A handler that answers when told to."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.finished = False

    async def __call__(self, request: Request) -> Answer:
        self.entered.set()
        await self.open.wait()
        self.finished = True
        return Response(200, (), request.path.encode())


@in_loop
async def test_an_answer_has_a_head_and_a_body() -> None:
    bench = Bench()
    bench.feed(GET)
    answer = await bench.transport.answers(1)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n")
    assert answer.endswith(b"\r\nContent-Length: 11\r\n\r\nGET /a {} 0")
    assert not bench.transport.closed


@in_loop
async def test_requests_sent_ahead_are_answered_one_after_the_other() -> None:
    running, most = 0, 0

    async def handler(request: Request) -> Answer:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return await echo(request)

    bench = Bench(handler)
    bench.feed(b"".join(GET.replace(b"/a", b"/%d" % number) for number in range(9)))
    answers = await bench.transport.answers(9)
    assert [part[:6] for part in answers.split(b"\r\n\r\n")[1:]] == [
        b"GET /%d" % number for number in range(9)
    ]
    assert most == 1


@in_loop
async def test_a_client_that_sends_far_ahead_is_slowed_down() -> None:
    gate = Gate()
    bench = Bench(gate, Limits(pipelined_bytes_max=100))
    bench.feed(GET)
    bench.feed(GET * 3)
    assert bench.transport.reading
    bench.feed(GET)
    assert not bench.transport.reading
    gate.open.set()
    await bench.transport.answers(5)
    assert bench.transport.reading


@in_loop
async def test_a_refusal_is_a_status_and_the_last_answer() -> None:
    bench = Bench()
    bench.feed(b"BROKEN\r\n\r\n" + GET)
    assert bench.transport.written.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"Connection: close\r\n" in bench.transport.written
    assert b'"reason":"BadRequest"' in bench.transport.written
    assert bench.transport.eof
    bench.feed(GET)
    assert bench.transport.written.count(b"HTTP/1.1 ") == 1
    assert not bench.transport.closed  # the client may still be sending
    bench.wait(4)
    assert bench.transport.closed


@pytest.mark.parametrize(
    ("head", "stays"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", True),
    ],
)
def test_the_client_decides_whether_the_connection_stays(head: bytes, stays: bool) -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.feed(head)
        answer = await bench.transport.answers(1)
        assert (b"Connection: close\r\n" in answer) is not stays
        assert bench.transport.eof is not stays

    asyncio.run(scenario())


@in_loop
async def test_nothing_after_the_last_request_is_read() -> None:
    bench = Bench()
    bench.feed(b"GET /1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + GET)
    bench.feed(GET)
    await bench.transport.until(lambda: bench.transport.eof)
    bench.feed(GET)
    assert bench.transport.written.count(b"HTTP/1.1 ") == 1
    assert not bench.transport.closed  # or what is on its way here would reset the answer
    bench.wait(4)
    assert bench.transport.closed


@in_loop
async def test_a_head_has_the_length_of_the_body_it_leaves_out() -> None:
    bench = Bench()
    bench.feed(GET.replace(b"GET", b"HEAD") + GET)
    answers = await bench.transport.answers(2)
    head, following, _ = answers.split(b"\r\n\r\n")
    assert b"Content-Length: 12" in head
    assert following.startswith(b"HTTP/1.1 200")


@in_loop
async def test_a_client_that_waits_is_told_to_continue() -> None:
    bench = Bench()
    bench.feed(b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    assert bench.transport.written == b"HTTP/1.1 100 Continue\r\n\r\n"
    bench.feed(b"abc")
    assert (await bench.transport.answers(2)).endswith(b"PUT / {} 3")


# Deadlines ---------------------------------------------------------------------------------------


@in_loop
async def test_a_connection_nobody_uses_is_closed_without_a_word() -> None:
    bench = Bench()
    bench.wait(34)
    assert bench.transport.closed
    assert bench.transport.written == b""


@in_loop
async def test_a_head_that_comes_byte_by_byte_is_refused_in_the_end() -> None:
    bench = Bench()
    for byte in b"GET / HTTP/1.1\r\n":
        bench.feed(bytes([byte]))
        bench.wait(3)
    assert bench.transport.written.startswith(b"HTTP/1.1 408 ")


@in_loop
async def test_a_body_that_does_not_come_is_refused_in_the_end() -> None:
    bench = Bench()
    bench.feed(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na")
    bench.wait(58)
    assert bench.transport.written == b""
    bench.wait(4)
    assert bench.transport.written.startswith(b"HTTP/1.1 408 ")
    assert b"the body of the request did not arrive in time" in bench.transport.written


@in_loop
async def test_a_connection_may_be_idle_between_requests_for_longer() -> None:
    bench = Bench()
    bench.feed(GET)
    await bench.transport.answers(1)
    bench.wait(85)
    bench.feed(GET)
    await bench.transport.answers(2)
    bench.wait(85)
    assert not bench.transport.closed
    bench.feed(GET[:5])
    bench.wait(34)
    assert bench.transport.written.count(b"HTTP/1.1 408 ") == 1


@in_loop
async def test_a_handler_may_take_its_time() -> None:
    gate = Gate()
    bench = Bench(gate)
    bench.feed(GET)
    bench.wait(10_000)
    gate.open.set()
    await bench.transport.answers(1)


@in_loop
async def test_a_client_that_does_not_agree_to_the_end_is_dropped() -> None:
    bench = Bench()
    bench.feed(GET)
    await bench.transport.answers(1)
    bench.connection.wind_down()
    assert bench.transport.closed
    assert not bench.transport.aborted
    bench.wait(4)
    assert bench.transport.aborted


@in_loop
async def test_the_last_answer_has_as_long_as_any_to_be_read() -> None:
    bench = Bench()
    bench.transport.unread = 1000
    bench.feed(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    await bench.transport.answers(1)
    bench.wait(50)
    assert not bench.transport.aborted
    bench.wait(12)
    assert bench.transport.aborted


# Room --------------------------------------------------------------------------------------------


@in_loop
async def test_a_large_body_is_written_as_the_client_takes_it() -> None:
    body = bytes(range(256)) * 4096

    async def handler(_: Request) -> Answer:
        return Response(200, (), body)

    bench = Bench(handler)
    bench.feed(GET)
    bench.connection.pause_writing()
    await bench.transport.answers(1)
    written = len(bench.transport.written)
    assert written < 1000
    bench.wait(50)
    bench.connection.resume_writing()
    assert bench.transport.written.endswith(b"\r\n\r\n" + body)
    bench.wait(50)
    assert not bench.transport.closed


@in_loop
async def test_a_client_that_takes_nothing_is_dropped() -> None:
    async def handler(_: Request) -> Answer:
        return Response(200, (), b"x" * 1_000_000)

    bench = Bench(handler)
    bench.feed(GET)
    bench.connection.pause_writing()
    await bench.transport.answers(1)
    bench.wait(62)
    assert bench.transport.aborted


@in_loop
async def test_room_does_not_excuse_a_body_that_does_not_come() -> None:
    bench = Bench()
    bench.feed(b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    bench.connection.pause_writing()
    bench.connection.resume_writing()
    bench.wait(62)
    assert b"HTTP/1.1 408 " in bench.transport.written


@in_loop
async def test_no_request_is_begun_while_answers_are_unread() -> None:
    bench = Bench()
    bench.feed(GET * 2)
    bench.connection.pause_writing()
    await bench.transport.answers(1)
    await asyncio.sleep(0)
    assert bench.service.counters.requests_total == 1
    bench.connection.resume_writing()
    await bench.transport.answers(2)


@in_loop
async def test_a_large_body_is_compressed_for_who_accepts_it() -> None:
    body = b"hello world " * 20_000

    async def handler(_: Request) -> Answer:
        return Response(200, (), body)

    bench = Bench(handler)
    bench.feed(b"GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n")
    head, _, coded = (await bench.transport.answers(1)).partition(b"\r\n\r\n")
    assert b"\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n" in head
    assert gzip.decompress(coded) == body


# When something goes wrong -----------------------------------------------------------------------


def test_a_handler_that_fails_is_logged_and_answered(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(_: Request) -> Answer:
        raise ValueError("secret")

    async def scenario() -> bytes:
        bench = Bench(handler)
        bench.feed(GET + GET)
        return await bench.transport.answers(2)

    with caplog.at_level(logging.ERROR):
        answers = asyncio.run(scenario())
    assert answers.count(b"HTTP/1.1 500 Internal Server Error") == 2
    assert b"secret" not in answers
    assert "handling GET /a failed" in caplog.text
    assert "secret" in caplog.text


def test_a_handler_that_returns_no_answer_is_logged_and_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handler(_: Request) -> Any:
        return None

    async def scenario() -> bytes:
        bench = Bench(handler)
        bench.feed(GET)
        return await bench.transport.answers(1)

    assert asyncio.run(scenario()).startswith(b"HTTP/1.1 500 ")
    assert "NoneType" in caplog.text


@in_loop
async def test_an_answer_with_a_line_break_in_its_head_is_never_sent() -> None:
    async def handler(_: Request) -> Answer:
        return Response(200, (("Warning", "a\r\nb: c"),))

    failures: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    bench = Bench(handler)
    bench.feed(GET)
    await bench.transport.until(lambda: bench.transport.aborted)
    assert bench.transport.written == b""
    assert len(failures) == 1


@pytest.mark.parametrize(("data", "finishes"), [(GET, False), (POST, True)], ids=["GET", "POST"])
def test_a_write_is_finished_even_if_the_client_is_gone(data: bytes, finishes: bool) -> None:
    async def scenario() -> None:
        gate = Gate()
        bench = Bench(gate)
        bench.feed(data)
        await gate.entered.wait()
        (task,) = bench.service.tasks
        bench.transport.closed = True
        bench.connection.connection_lost(None)
        gate.open.set()
        await asyncio.wait([task])
        await asyncio.sleep(0)
        assert gate.finished is finishes
        assert bench.transport.written == b""
        assert bench.service.counters.requests_in_flight == 0
        assert bench.service.counters.connections_open == 0

    asyncio.run(scenario())


@in_loop
async def test_an_answer_still_goes_to_who_only_stopped_sending() -> None:
    gate = Gate()
    bench = Bench(gate)
    bench.feed(GET)
    assert bench.connection.eof_received()
    gate.open.set()
    await bench.transport.until(lambda: bench.transport.closed)
    assert bench.transport.written.endswith(b"\r\n\r\n/a")


@in_loop
async def test_connections_beyond_the_limit_are_dropped() -> None:
    bench = Bench(limits=Limits(connections_max=0))
    assert bench.transport.aborted
    assert bench.service.counters.connections_refused == 1
    bench.connection.connection_lost(None)
    assert bench.service.counters.connections_open == 0


# Streams -----------------------------------------------------------------------------------------


class Feeder:
    """A handler that hands out its channel."""

    def __init__(self) -> None:
        self.channel: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()
        self.ended = 0

    async def __call__(self, _: Request) -> Answer:
        return Stream(200, (), self.channel.set_result, self._end)

    def _end(self) -> None:
        self.ended += 1


@in_loop
async def test_a_stream_is_chunks_and_the_connection_goes_on_after_it() -> None:
    feeder = Feeder()
    bench = Bench(feeder)
    bench.feed(GET + POST)
    channel = await feeder.channel
    channel.write(b"one")
    channel.write(b"")
    channel.close()
    channel.write(b"too late")
    assert feeder.ended == 1
    feeder.channel = asyncio.get_running_loop().create_future()
    await feeder.channel
    _, body, _ = bench.transport.written.split(b"\r\n\r\n", 2)
    assert bench.transport.written.count(b"Transfer-Encoding: chunked") == 2
    assert body == b"3\r\none\r\n0"
    assert feeder.ended == 1


@in_loop
async def test_a_stream_ends_once_when_the_client_goes_away() -> None:
    feeder = Feeder()
    bench = Bench(feeder)
    bench.feed(GET)
    channel = await feeder.channel
    channel.write(b"x")
    bench.transport.closed = True
    bench.connection.connection_lost(None)
    channel.write(b"x")
    channel.close()
    channel.abort()
    await asyncio.sleep(0)
    assert feeder.ended == 1
    assert bench.service.counters.streams_open == 0


@in_loop
async def test_a_stream_has_no_deadline_unless_the_client_stops_reading() -> None:
    feeder = Feeder()
    bench = Bench(feeder)
    bench.feed(GET)
    await feeder.channel
    bench.wait(100_000)
    assert not bench.transport.closed
    bench.connection.pause_writing()
    bench.wait(62)
    assert bench.transport.aborted


@in_loop
async def test_a_stream_to_an_old_client_ends_with_the_connection() -> None:
    feeder = Feeder()
    bench = Bench(feeder)
    bench.feed(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    channel = await feeder.channel
    channel.write(b"one")
    channel.write_framed(b"3\r\ntwo\r\n")
    channel.close()
    await bench.transport.until(lambda: bench.transport.eof)
    assert b"chunked" not in bench.transport.written
    assert bench.transport.written.endswith(b"\r\n\r\nonetwo")


@in_loop
async def test_asking_for_the_head_of_a_stream_starts_none() -> None:
    feeder = Feeder()
    bench = Bench(feeder)
    bench.feed(GET.replace(b"GET", b"HEAD"))
    await bench.transport.answers(1)
    assert not feeder.channel.done()
    assert feeder.ended == 1
    assert bench.transport.written.endswith(b"\r\n\r\n")


@in_loop
async def test_a_stream_that_cannot_start_is_dropped() -> None:
    ended: list[bool] = []

    def start(_: Channel) -> None:
        raise ValueError("no")

    async def handler(_: Request) -> Answer:
        return Stream(200, (), start, lambda: ended.append(True))

    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    bench = Bench(handler)
    bench.feed(GET)
    await bench.transport.until(lambda: bench.transport.aborted)
    assert ended == [True]


@in_loop
async def test_an_upgrade_that_was_not_asked_for_is_a_bad_request() -> None:
    async def handler(_: Request) -> Answer:
        async def serve(_: object) -> None:
            raise AssertionError("served")

        return Upgrade(serve)

    bench = Bench(handler)
    bench.feed(GET)
    answer = await bench.transport.answers(1)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Upgrade request required" in answer
