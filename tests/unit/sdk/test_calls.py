"""Calls into an author's code."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from dray.entropy import SeededEntropy
from dray.errors import PermanentError, TransientError
from dray.sdk._calls import GRACE_SECONDS, Calls, Outcome
from dray.sdk._failures import ErrorClass
from dray.testing import FakeClock
from tests.unit.sdk.turns import pass_time, settle


def made(call: Callable[[], Awaitable[Any]], *, seconds: float = 30.0) -> Outcome[Any]:
    async def scenario() -> Outcome[Any]:
        clock = FakeClock()
        calls = Calls(clock=clock, entropy=SeededEntropy(1))
        working = asyncio.create_task(calls.make("it", call, deadline=seconds))
        await pass_time(clock, seconds + 1)
        assert working.done()
        return await working

    return asyncio.run(scenario())


def failing(*errors: BaseException) -> Callable[[], Awaitable[str]]:
    left = list(errors)

    async def call() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return call


def test_a_result_is_passed_on() -> None:
    outcome = made(failing())
    assert not outcome.failed
    assert outcome.value == "done"


def test_transient_errors_are_tried_again_and_others_not() -> None:
    assert made(failing(TransientError("a"), TransientError("b"))).value == "done"
    outcome = made(failing(PermanentError("never")))
    assert (outcome.error_class, outcome.message) == (ErrorClass.PERMANENT, "never")


def test_there_is_an_end_to_trying_and_the_number_of_attempts_is_told() -> None:
    outcome = made(failing(*[TransientError("busy")] * 99))
    assert outcome.error_class is ErrorClass.TRANSIENT
    assert outcome.message.startswith("busy (after ")


def test_what_an_author_did_not_mean_to_raise_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outcome = made(failing(KeyError("x")))
    assert outcome.message == "unexpected KeyError: 'x'"
    [record] = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError


def test_a_plain_method_is_called_like_an_async_one() -> None:
    def call() -> Awaitable[None]:
        raise ValueError("early")

    assert made(call).message == "unexpected ValueError: early"
    assert made(lambda: "done").value == "done"  # type: ignore[arg-type, return-value]  # plain


def test_a_call_whose_time_is_over_before_it_begins_is_not_made() -> None:
    outcome = made(failing(), seconds=0.0)
    assert outcome.error_class is ErrorClass.TRANSIENT
    assert outcome.message == "no time was left for it: the driver is busy"


def test_a_call_that_hangs_is_ended_at_the_deadline() -> None:
    ended: list[str] = []

    async def call() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    outcome = made(call, seconds=5)
    assert (outcome.error_class, outcome.message) == (ErrorClass.TRANSIENT, "not done after 5 s")
    assert ended == ["cleaned up"]


def test_a_call_that_does_not_heed_its_end_is_given_up_and_keeps_others_from_its_subject() -> None:
    async def scenario() -> None:
        gate = asyncio.Event()

        async def stubborn() -> None:
            while not gate.is_set():
                with suppress(asyncio.CancelledError):
                    await gate.wait()

        clock = FakeClock()
        calls = Calls(clock=clock, entropy=SeededEntropy(1))
        working = asyncio.create_task(calls.make("it", stubborn, deadline=5.0, subject="a"))
        await pass_time(clock, 5 + GRACE_SECONDS)
        assert working.done()
        given_up = await working
        assert given_up.error_class is ErrorClass.TRANSIENT
        assert given_up.message == "not done after 5 s"
        refused = await calls.make("it", failing(), deadline=30.0, subject="a")
        assert refused.error_class is ErrorClass.TRANSIENT
        assert refused.message.startswith("an earlier call does not end")
        assert (await calls.make("it", failing(), deadline=30.0, subject="b")).value == "done"
        gate.set()
        await settle()
        assert (await calls.make("it", failing(), deadline=30.0, subject="a")).value == "done"

    asyncio.run(scenario())


def test_when_the_caller_is_cancelled_so_is_the_call() -> None:
    async def scenario() -> None:
        ended = asyncio.Event()

        async def call() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        calls = Calls(clock=FakeClock(), entropy=SeededEntropy(1))
        working = asyncio.create_task(calls.make("it", call, deadline=30.0))
        await settle()
        working.cancel()
        await asyncio.wait((working,))
        assert working.cancelled()
        assert ended.is_set()

    asyncio.run(scenario())
