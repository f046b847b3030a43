"""The machine's clock, and that the fake one stands in for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC

import pytest

from dray.clock import Clock, SystemClock, within
from dray.testing import FakeClock


def test_the_system_clock_is_in_utc_and_never_goes_back() -> None:
    clock: Clock = SystemClock()
    first = clock.monotonic()
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() >= first


def test_sleeping_no_time_returns() -> None:
    for clock in (SystemClock(), FakeClock()):
        asyncio.run(clock.sleep(0))


def test_a_result_in_time_is_returned() -> None:
    async def scenario() -> int:
        async def answer() -> int:
            return 42

        return await within(FakeClock(), 1.0, answer())

    assert asyncio.run(scenario()) == 42


def test_what_takes_too_long_is_cancelled() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        hung: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = asyncio.ensure_future(within(clock, 1.0, hung))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        clock.advance(1.0)
        with pytest.raises(TimeoutError, match="1 s"):
            await waiting
        assert hung.cancelled()

    asyncio.run(scenario())


def test_a_caller_cancelled_as_the_time_runs_out_is_cancelled() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        stubborn = asyncio.Event()

        async def clean_up_at_length() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await stubborn.wait()

        waiting = asyncio.ensure_future(within(clock, 1.0, clean_up_at_length()))
        for _ in range(3):
            await asyncio.sleep(0)
        clock.advance(1.0)
        for _ in range(3):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        stubborn.set()

    asyncio.run(scenario())


def test_a_cancelled_caller_waits_for_what_it_had_begun() -> None:
    async def scenario() -> None:
        tidied, may_end = asyncio.Event(), asyncio.Event()

        async def clean_up_at_length() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                tidied.set()
                await may_end.wait()

        waiting = asyncio.ensure_future(within(FakeClock(), 1.0, clean_up_at_length()))
        for _ in range(3):
            await asyncio.sleep(0)
        waiting.cancel()
        await tidied.wait()
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waiting.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(scenario())


@pytest.mark.parametrize("outcome", ["a result", "a failure"])
def test_a_cancellation_is_raised_whatever_the_task_makes_of_it(outcome: str) -> None:
    async def scenario() -> None:
        async def deaf() -> str:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            if outcome == "a failure":
                raise ValueError(outcome)
            return outcome

        waiting = asyncio.ensure_future(within(FakeClock(), 1.0, deaf()))
        for _ in range(3):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(scenario())


def test_every_cancellation_is_passed_on() -> None:
    async def scenario() -> None:
        heard: list[int] = []

        async def stubborn() -> None:
            while len(heard) < 3:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    heard.append(len(heard))

        waiting = asyncio.ensure_future(within(FakeClock(), 1.0, stubborn()))
        for _ in range(3):
            for _ in range(3):
                await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert heard == [0, 1, 2]

    asyncio.run(scenario())
