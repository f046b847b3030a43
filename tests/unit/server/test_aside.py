from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from dray.errors import BadRequest
from dray.server.aside import LARGE_BYTES, Aside


def played(scenario: Callable[[Aside], Awaitable[None]]) -> None:
    async def main() -> None:
        aside = Aside()
        aside.start()
        try:
            await scenario(aside)
        finally:
            aside.stop()

    asyncio.run(main())


def here() -> int:
    return threading.get_ident()


def test_small_work_is_done_at_once() -> None:
    async def scenario(aside: Aside) -> None:
        assert await aside.do(LARGE_BYTES - 1, here) == here()

    played(scenario)


def test_large_work_is_done_in_one_thread_that_is_not_the_loops() -> None:
    async def scenario(aside: Aside) -> None:
        found = [await aside.do(LARGE_BYTES, here) for _ in range(3)]
        assert len(set(found)) == 1
        assert found[0] != here()

    played(scenario)


def test_the_loop_goes_on_while_there_is_work_aside() -> None:
    async def scenario(aside: Aside) -> None:
        released = threading.Event()
        work = asyncio.ensure_future(aside.do(LARGE_BYTES, released.wait))
        await asyncio.sleep(0)
        assert not work.done()
        released.set()
        assert await work

    played(scenario)


def test_what_work_raises_is_raised() -> None:
    def refuse() -> None:
        raise BadRequest("no")

    async def scenario(aside: Aside) -> None:
        with pytest.raises(BadRequest, match="no"):
            await aside.do(LARGE_BYTES, refuse)

    played(scenario)


def test_without_a_thread_everything_is_done_at_once() -> None:
    async def scenario(aside: Aside) -> None:
        aside.stop()
        assert await aside.do(LARGE_BYTES, here) == here()

    played(scenario)


# Turns -----------------------------------------------------------------------------------------


class Busy:
    """A thread that is kept busy, and pieces of flows that wait for it."""

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._released = threading.Event()
        self._first = asyncio.ensure_future(self._hold())
        self.next_gives_up = False
        self.done: list[str] = []
        self.pieces: list[asyncio.Future[None]] = []

    async def ask(self, *flows: str) -> None:
        """Have work of each flow wait."""
        for flow in flows:
            work = self._aside.do_for(flow, LARGE_BYTES, self.done.append, flow)
            self.pieces.append(asyncio.ensure_future(work))
        await asyncio.sleep(0)

    async def _hold(self) -> None:
        await self._aside.do(LARGE_BYTES, self._released.wait)
        if self.next_gives_up:  # between being given the turn and taking it
            self.pieces[0].cancel()

    async def finish(self) -> list[str]:
        """Let go, and say in which order the work was done."""
        self._released.set()
        await self._first
        await asyncio.gather(*self.pieces, return_exceptions=True)
        return self.done


def test_flows_take_turns_whoever_asks_most() -> None:
    async def scenario(aside: Aside) -> None:
        busy = Busy(aside)
        await busy.ask("a", "a", "a", "a", "b", "b", "c")
        assert await busy.finish() == ["a", "b", "c", "a", "b", "a", "a"]

    played(scenario)


def test_a_flow_that_comes_late_waits_for_one_turn_of_each_other() -> None:
    async def scenario(aside: Aside) -> None:
        busy = Busy(aside)
        await busy.ask(*"a" * 50)
        await busy.ask("late")
        assert (await busy.finish()).index("late") == 1

    played(scenario)


def test_who_gives_up_takes_no_turn() -> None:
    async def scenario(aside: Aside) -> None:
        busy = Busy(aside)
        await busy.ask("a", "b", "b", "c")
        busy.pieces[0].cancel()
        busy.pieces[1].cancel()
        await asyncio.sleep(0)
        assert await busy.finish() == ["b", "c"]

    played(scenario)


def test_a_turn_that_is_given_to_someone_who_gives_up_is_passed_on() -> None:
    async def scenario(aside: Aside) -> None:
        busy = Busy(aside)
        await busy.ask("a", "b")
        busy.next_gives_up = True
        assert await busy.finish() == ["b"]
        await busy.ask("c")
        assert await busy.finish() == ["b", "c"]

    played(scenario)


def test_what_waits_is_forgotten_when_it_stops() -> None:
    async def scenario(aside: Aside) -> None:
        busy = Busy(aside)
        await busy.ask("a", "b")
        aside.stop()
        assert await busy.finish() == []
        assert all(piece.cancelled() for piece in busy.pieces)

    played(scenario)
