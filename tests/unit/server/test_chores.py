from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dray.server.chores import FIRST_SECONDS, LONGEST_SECONDS, Chores
from dray.testing import FakeClock


class Worker:
    """Takes chores as they come, and remembers them."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.chores = Chores(self.clock)
        self._done: list[str] = []

    async def run(self) -> None:
        while True:
            name = await self.chores.take()
            self._done.append(name)

    async def done(self) -> list[str]:
        """What was done since it was last asked."""
        for _turn in range(10):
            await asyncio.sleep(0)
        found, self._done = self._done, []
        return found


def working(test: Callable[[Worker], Awaitable[None]]) -> Callable[[], None]:
    async def scenario() -> None:
        worker = Worker()
        task = asyncio.create_task(worker.run())
        try:
            await test(worker)
        finally:
            assert not task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def run() -> None:
        asyncio.run(scenario())

    return run


@working
async def test_a_chore_asked_for_twice_is_done_once(worker: Worker) -> None:
    for name in ("a", "b", "a"):
        worker.chores.add(name)
    assert await worker.done() == ["a", "b"]
    worker.chores.add("a")
    assert await worker.done() == ["a"]
    assert len(worker.chores) == 0


@working
async def test_one_that_fails_waits_twice_as_long_each_time(worker: Worker) -> None:
    await worker.done()
    pause = FIRST_SECONDS
    for _failure in range(10):
        worker.chores.failed("a")
        assert await worker.done() == []
        worker.clock.advance(pause - 0.5)
        assert await worker.done() == []
        worker.clock.advance(0.5)
        assert await worker.done() == ["a"]
        pause = min(2 * pause, LONGEST_SECONDS)
    assert pause == LONGEST_SECONDS


@working
async def test_one_that_waits_holds_up_no_other(worker: Worker) -> None:
    worker.chores.failed("a")
    worker.chores.failed("a")
    worker.chores.failed("b")
    worker.chores.add("c")
    assert await worker.done() == ["c"]
    worker.clock.advance(FIRST_SECONDS)
    assert await worker.done() == ["b"]
    worker.clock.advance(FIRST_SECONDS)
    assert await worker.done() == ["a"]


@working
async def test_one_that_is_asked_for_again_does_not_wait(worker: Worker) -> None:
    worker.chores.failed("a")
    worker.chores.add("a")
    worker.chores.failed("a")
    assert await worker.done() == ["a"]
    worker.clock.advance(LONGEST_SECONDS)
    assert await worker.done() == []


@working
async def test_success_forgets_failures(worker: Worker) -> None:
    worker.chores.failed("a")
    worker.chores.failed("a")
    worker.chores.succeeded("a")
    worker.clock.advance(LONGEST_SECONDS)
    assert await worker.done() == []
    worker.chores.failed("a")
    worker.clock.advance(FIRST_SECONDS)
    assert await worker.done() == ["a"]
