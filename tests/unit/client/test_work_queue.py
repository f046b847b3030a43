"""Each name once at a time, later when asked, and later still after failures."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from dray.client import WorkQueue, _work_queue
from dray.client._work_queue import RETRIES_BURST
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


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_each_of_several_who_wait_gets_a_key() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str](FakeClock())
        waiting = [asyncio.ensure_future(queue.get()) for _ in range(3)]
        await turns()
        for key in ("a", "b", "c"):
            queue.add(key)
        assert [await each for each in waiting] == ["a", "b", "c"]

    run(scenario())


def test_keys_that_come_due_together_go_to_several_who_wait() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        queue = WorkQueue[str](clock)
        waiting = [asyncio.ensure_future(queue.get()) for _ in range(3)]
        await turns()
        queue.add_after("c", 3)
        for key in ("a", "b"):
            queue.add_after(key, 2)
        await turns()
        clock.advance(2)
        await turns()
        assert [each.done() for each in waiting] == [True, True, False]
        clock.advance(1)
        assert await waiting[2] == "c"

    run(scenario())


@pytest.mark.parametrize("woken", [False, True], ids=["before-it-is-woken", "after"])
def test_what_was_meant_for_one_who_is_cancelled_goes_to_the_next(woken: bool) -> None:
    async def scenario() -> None:
        queue = WorkQueue[str](FakeClock())
        first, second = (asyncio.ensure_future(queue.get()) for _ in range(2))
        await turns()
        if woken:
            queue.add("a")
        first.cancel()
        if not woken:
            queue.add("a")
        assert await second == "a"
        assert first.cancelled()
        assert queue.taken_count == 1

    run(scenario())


def test_an_alarm_that_wakes_one_who_is_cancelled_wakes_the_next() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        queue = WorkQueue[str](clock)
        queue.add_after("a", 1)
        first, second = (asyncio.ensure_future(queue.get()) for _ in range(2))
        await turns()
        clock.advance(1)
        await asyncio.sleep(0)  # the alarm goes off, and wakes the first
        first.cancel()
        assert await second == "a"

    run(scenario())


def test_an_earlier_time_moves_the_alarm_of_those_who_wait() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        queue = WorkQueue[str](clock)
        queue.add_after("late", 100)
        taken = asyncio.ensure_future(queue.get())
        await turns()
        queue.add_after("soon", 1)
        await turns()
        clock.advance(1)
        assert await taken == "soon"

    run(scenario())


def test_nothing_goes_on_once_nobody_waits() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str](FakeClock())
        queue.add_after("a", 10)
        taken = asyncio.ensure_future(queue.get())
        await turns()
        assert queue._alarm is not None
        alarm = queue._alarm
        taken.cancel()
        await turns()
        assert alarm.cancelled()

    run(scenario())


def test_a_key_that_is_always_added_again_keeps_no_other_waiting() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str](FakeClock())
        queue.add("busy")
        for key in ("b", "c"):
            queue.add(key)
        taken = []
        for _ in range(4):
            key = await queue.get()
            taken.append(key)
            queue.add("busy")
            queue.done(key)
        assert taken == ["busy", "b", "c", "busy"]

    run(scenario())


def test_done_without_taking_changes_nothing() -> None:
    async def scenario() -> None:
        queue = WorkQueue[str](FakeClock())
        queue.add("a")
        queue.done("a")
        assert await queue.get() == "a"
        assert not len(queue)

    run(scenario())


def test_times_that_no_longer_count_are_not_kept() -> None:
    queue = WorkQueue[int](FakeClock())
    for _ in range(1000):
        queue.add_after(1, 300)
        queue.add(1)
        queue._waiting.clear()
    assert len(queue._later) < 100


def test_failures_of_keys_that_are_given_up_are_forgotten_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_work_queue, "FAILURES_MAX", 3)
    queue = WorkQueue[int](FakeClock())
    for key in (1, 2, 3, 1, 4):
        queue.retry(key)
    assert [queue.failures_count(key) for key in (1, 2, 3, 4)] == [2, 0, 1, 1]


def test_all_retries_together_are_limited_after_a_burst() -> None:
    clock = FakeClock()
    queue = WorkQueue[int](clock, retries_per_second=10)
    seconds = [queue.retry(key) for key in range(RETRIES_BURST + 3)]
    assert max(seconds[:RETRIES_BURST]) == 0.005
    assert seconds[RETRIES_BURST:] == pytest.approx([0.1, 0.2, 0.3])
    clock.advance(1000)
    assert queue.retry(-1) == 0.005


def test_it_can_be_measured() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        waited: list[float] = []
        worked: list[float] = []
        queue = WorkQueue[str](clock, waited=waited.append, worked=worked.append)
        queue.add("a")
        queue.add_after("later", 100)
        clock.advance(2)
        await queue.get()
        queue.add("b")
        await queue.get()
        clock.advance(3)
        queue.add("a")
        clock.advance(1)
        assert (len(queue), queue.taken_count, queue.later_count) == (1, 2, 1)
        assert (queue.longest_seconds(), queue.unfinished_seconds()) == (4, 8)
        queue.done("a")
        queue.done("b")
        clock.advance(5)
        await queue.get()
        assert (waited, worked) == ([2, 0, 5], [4, 4])
        assert (queue.added_count, queue.done_count, queue.longest_seconds()) == (3, 2, 0)

    run(scenario())


@pytest.mark.parametrize("seed", range(10))
def test_no_key_is_lost_and_none_is_taken_twice_at_a_time(seed: int) -> None:
    """Whatever is added, taken, cancelled and waited for: in the end all keys were looked at."""
    chance = random.Random(seed)

    async def scenario() -> None:
        clock = FakeClock()
        queue = WorkQueue[int](clock)
        added_at: dict[int, int] = {}
        looked_at: dict[int, int] = {}
        held: set[int] = set()
        step = 0

        async def work() -> None:
            while True:
                key = await queue.get()
                assert key not in held
                held.add(key)
                try:
                    looked_at[key] = step
                    for _ in range(chance.randrange(3)):
                        await asyncio.sleep(0)
                except asyncio.CancelledError:
                    queue.add(key)
                    raise
                finally:
                    held.discard(key)
                    queue.done(key)

        workers = [asyncio.ensure_future(work()) for _ in range(3)]
        for step in range(300):
            key = chance.randrange(8)
            match chance.randrange(6):
                case 0 | 1:
                    queue.add(key)
                    added_at[key] = step
                case 2:
                    queue.add_after(key, chance.uniform(0, 3))
                    added_at[key] = step
                case 3:
                    clock.advance(chance.uniform(0, 2))
                case 4:
                    number = chance.randrange(3)
                    workers[number].cancel()
                    workers[number] = asyncio.ensure_future(work())
                case _:
                    await asyncio.sleep(0)
        step = 301
        for _ in range(20):
            clock.advance(1)
            await turns()
        assert all(looked_at[key] >= at for key, at in added_at.items())
        assert (len(queue), queue.taken_count, queue.later_count) == (0, 0, 0)
        for worker in workers:
            worker.cancel()
        await asyncio.wait(workers)

    run(scenario())
