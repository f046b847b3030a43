"""Each name once at a time, later when asked, and later still after failures."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from dray.client import WorkQueue
from dray.testing import FakeClock


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 5))


def test_what_is_added_twice_is_taken_once() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str](FakeClock())
        queue.add("a")
        queue.add("a")
        assert await queue.get() == "a"
        assert not len(queue)

    run(scenario())


def test_what_is_added_while_it_is_taken_comes_up_again_and_not_before_it_is_done() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str](FakeClock())
        queue.add("a")
        await queue.get()
        queue.add("a")
        queue.add("b")
        assert await queue.get() == "b"
        queue.done("a")
        assert await queue.get() == "a"

    run(scenario())


def test_what_is_for_later_comes_up_then() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        queue = WorkQueue[str](clock)
        queue.add_after("late", 10)
        queue.add_after("soon", 1)
        taken = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        assert not taken.done()
        clock.advance(1)
        assert await taken == "soon"

    run(scenario())


def test_the_earlier_of_two_times_counts() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        queue = WorkQueue[str](clock)
        queue.add_after("a", 10)
        queue.add_after("a", 1)
        queue.add_after("a", 20)
        clock.advance(1)
        assert await queue.get() == "a"
        queue.done("a")
        clock.advance(30)
        queue.add("b")
        assert await queue.get() == "b"

    run(scenario())


def test_failures_in_a_row_take_twice_as_long_each() -> None:
    queue = WorkQueue[str](FakeClock(), failure_seconds_min=1, failure_seconds_max=5)
    assert [queue.retry("a") for _ in range(4)] == [1, 2, 4, 5]
    assert queue.failures_count("a") == 4
    queue.forget("a")
    assert queue.retry("a") == 1
