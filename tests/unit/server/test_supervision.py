from __future__ import annotations

import asyncio
import logging

import pytest

from dray.server.supervision import FAILURES_MAX, WINDOW_SECONDS, Supervisor
from dray.testing import FakeClock


async def settle() -> None:
    for _turn in range(20):
        await asyncio.sleep(0)


def test_a_task_that_ends_by_mistake_is_logged_and_started_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        supervisor = Supervisor(clock)
        starts = 0

        async def work() -> None:
            nonlocal starts
            starts += 1
            if starts == 1:
                raise ValueError("a bug")
            await asyncio.Event().wait()

        with caplog.at_level(logging.ERROR):
            supervisor.start("work", work)
            await settle()
            clock.advance(2)
            await settle()
        assert starts == 2
        assert supervisor.problem() is None
        await supervisor.stop()

    asyncio.run(scenario())
    assert "a bug" in caplog.text


def test_a_task_that_never_comes_right_is_given_up_and_told_of() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        supervisor = Supervisor(clock)

        async def work() -> None:
            raise ValueError("a bug")

        supervisor.start("work", work)
        for _try in range(FAILURES_MAX + 1):
            await settle()
            clock.advance(2)
        await settle()
        assert supervisor.problem() == "no longer running: work"
        await supervisor.stop()

    asyncio.run(scenario())


def test_failures_from_long_ago_are_forgotten() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        supervisor = Supervisor(clock)
        starts = 0

        async def work() -> None:
            nonlocal starts
            starts += 1
            await clock.sleep(WINDOW_SECONDS / (FAILURES_MAX - 2))
            raise ValueError("a rare bug")

        supervisor.start("work", work)
        for _try in range(3 * FAILURES_MAX):
            await settle()
            clock.advance(WINDOW_SECONDS / (FAILURES_MAX - 2))
            await settle()
            clock.advance(2)
        await settle()
        assert starts == 3 * FAILURES_MAX + 1
        assert supervisor.problem() is None
        await supervisor.stop()

    asyncio.run(scenario())


def test_stopping_ends_tasks_and_calls_it_no_failure() -> None:
    async def scenario() -> None:
        supervisor = Supervisor(FakeClock())
        ended = False

        async def work() -> None:
            nonlocal ended
            try:
                await asyncio.Event().wait()
            finally:
                ended = True

        supervisor.start("work", work)
        await settle()
        await supervisor.stop()
        await settle()
        assert ended
        assert supervisor.problem() is None

    asyncio.run(scenario())
