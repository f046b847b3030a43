"""Waiting for one thing unless another comes first."""

from __future__ import annotations

import asyncio

import pytest

from dray.agent.pods.waiting import Interrupted, cancelled, unless


def test_a_result_that_comes_first_is_returned() -> None:
    async def scenario() -> None:
        async def work() -> int:
            await asyncio.sleep(0)
            return 7

        assert await unless(asyncio.Event(), work()) == 7

    asyncio.run(scenario())


def test_an_event_that_comes_first_cancels_the_work() -> None:
    async def scenario() -> None:
        event, ended = asyncio.Event(), []

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        waiting = asyncio.ensure_future(unless(event, work()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        event.set()
        with pytest.raises(Interrupted):
            await waiting
        assert ended == [True]

    asyncio.run(scenario())


def test_a_task_that_failed_is_cancelled_quietly() -> None:
    async def scenario() -> None:
        async def fail() -> None:
            raise ValueError("no")

        task = asyncio.ensure_future(fail())
        await asyncio.sleep(0)
        await cancelled(task)

    asyncio.run(scenario())
