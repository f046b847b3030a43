"""Budgets: who is given up, and when; and what connections hold together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from dray.http.budget import Budget
from dray.http.limits import Limits
from dray.http.messages import Answer, Request, Response
from tests.unit.http.wire import Bench


class Jar:
    """Holds bytes; `given_up` says in which order jars were."""

    def __init__(self, given_up: list[Jar]) -> None:
        self._given_up = given_up

    def give_up(self) -> None:
        self._given_up.append(self)


def jars(count: int) -> tuple[list[Jar], list[Jar]]:
    given_up: list[Jar] = []
    return [Jar(given_up) for _ in range(count)], given_up


def test_what_is_held_is_counted_once_for_each_holder() -> None:
    (a, b), given_up = jars(2)
    budget = Budget(100)
    budget.hold(a, 10)
    budget.hold(b, 20)
    budget.hold(a, 40)
    assert (budget.held, len(budget)) == (60, 2)
    budget.release(a)
    budget.release(a)
    assert (budget.held, len(budget)) == (20, 1)
    assert not given_up


def test_who_has_held_the_longest_is_given_up_first() -> None:
    (a, b, c), given_up = jars(3)
    budget = Budget(100)
    budget.hold(a, 30)
    budget.hold(b, 30)
    budget.hold(a, 40)
    budget.hold(c, 31)
    assert given_up == [a]
    assert budget.held == 61


def test_as_many_are_given_up_as_have_to_be() -> None:
    (a, b, c, d), given_up = jars(4)
    budget = Budget(100)
    for jar in (a, b, c):
        budget.hold(jar, 30)
    budget.hold(d, 60)
    assert given_up == [a, b]
    assert budget.held == 90


def test_who_is_renewed_is_given_up_last() -> None:
    (a, b, c), given_up = jars(3)
    budget = Budget(100)
    budget.hold(a, 40)
    budget.hold(b, 40)
    budget.renew(a, 40)
    budget.hold(c, 40)
    assert given_up == [b]


def test_one_alone_may_hold_more() -> None:
    (a, b), given_up = jars(2)
    budget = Budget(100)
    budget.hold(a, 500)
    assert not given_up
    budget.hold(b, 1)
    assert given_up == [a]
    assert budget.held == 1


# What connections hold together ------------------------------------------------------------------

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = b"PUT /a HTTP/1.1\r\nHost: x\r\n"
WITH_LENGTH = HEAD + b"Content-Length: 1000\r\n\r\n"
IN_CHUNKS = HEAD + b"Transfer-Encoding: chunked\r\n\r\n3E8\r\n"
ENDLESS = HEAD + b"X: "

# Of what is held before the end of a head, the head is a part.
UNFINISHED = pytest.mark.parametrize(
    "begins",
    [
        pytest.param(WITH_LENGTH + b"x" * 900, id="length"),
        pytest.param(IN_CHUNKS + b"x" * 900, id="chunks"),
        pytest.param(ENDLESS + b"x" * 900, id="head"),
    ],
)


@UNFINISHED
def test_of_too_many_unfinished_requests_the_one_that_took_longest_is_refused(
    begins: bytes,
) -> None:
    async def scenario() -> None:
        first = Bench(limits=Limits(unfinished_bytes_max=1900))
        second, third = first.another(), first.another()
        for bench in (first, second, third):
            bench.feed(begins)
        assert first.transport.written.startswith(b"HTTP/1.1 429 Too Many Requests\r\n")
        assert b"\r\nRetry-After: 1\r\n" in first.transport.written
        assert b"Connection: close\r\n" in first.transport.written
        assert (second.transport.written, third.transport.written) == (b"", b"")
        assert 1800 <= first.service.unfinished.held < 1900

    asyncio.run(scenario())


@UNFINISHED
def test_what_a_client_that_leaves_had_sent_does_not_count(begins: bytes) -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.feed(begins)
        assert bench.service.unfinished.held >= 900
        bench.connection.connection_lost(None)
        assert bench.service.unfinished.held == 0

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        pytest.param(WITH_LENGTH, b"", id="length"),
        pytest.param(IN_CHUNKS, b"\r\n0\r\n\r\n", id="chunks"),
    ],
)
def test_a_request_that_is_there_whole_does_not_count(begins: bytes, ends: bytes) -> None:
    async def scenario() -> None:
        bench = Bench()
        for part in (begins, b"x" * 500, b"x" * 500 + ends):
            bench.feed(part)
        assert bench.service.unfinished.held == 0
        assert (await bench.transport.answers(1)).endswith(b" 1000")

    asyncio.run(scenario())


async def large(_: Request) -> Answer:
    return Response(200, (), b"x" * 1_000_000)


async def unread(bench: Bench) -> None:
    """Ask for something large and take nothing of it."""
    bench.connection.pause_writing()
    bench.feed(GET)
    await bench.transport.answers(1)


def test_of_too_many_unread_answers_the_one_that_waited_longest_is_dropped() -> None:
    async def scenario() -> None:
        first = Bench(large, Limits(unread_bytes_max=2_500_000))
        second, third = first.another(), first.another()
        for bench in (first, second):
            await unread(bench)
        assert not first.transport.aborted
        await unread(third)
        assert first.transport.aborted
        assert not any(bench.transport.aborted for bench in (second, third))
        assert first.service.unread.held == 2_000_000

    asyncio.run(scenario())


def test_who_takes_a_part_of_an_answer_is_not_the_one_that_is_dropped() -> None:
    async def scenario() -> None:
        first = Bench(large, Limits(unread_bytes_max=2_500_000))
        second, third = first.another(), first.another()
        for bench in (first, second):
            await unread(bench)
        write = first.transport.write

        def write_and_fill(data: bytes | bytearray | memoryview) -> None:
            write(data)
            first.connection.pause_writing()

        first.transport.write = write_and_fill  # type: ignore[method-assign]
        first.connection.resume_writing()
        await unread(third)
        assert second.transport.aborted
        assert not any(bench.transport.aborted for bench in (first, third))

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(lambda bench: bench.connection.resume_writing(), id="read"),
        pytest.param(lambda bench: bench.connection.connection_lost(None), id="left"),
    ],
)
def test_an_answer_that_nobody_waits_for_does_not_count(ends: Callable[[Bench], None]) -> None:
    async def scenario() -> None:
        bench = Bench(large)
        await unread(bench)
        assert bench.service.unread.held == 1_000_000
        ends(bench)
        assert bench.service.unread.held == 0

    asyncio.run(scenario())
