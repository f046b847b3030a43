"""A driver is suspect when a call times out, and hung when it cannot even do nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from dray.agent.plugins.liveness import Liveness, Verdict
from dray.errors import DriverError, TransportError
from dray.testing import FakeClock


class Scene:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.reports: list[Verdict] = []
        self.questions = 0
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.liveness = Liveness(self._ask, self.reports.append, clock=self.clock)

    async def _ask(self) -> None:
        self.questions += 1
        await asyncio.shield(self.answer)

    async def pass_seconds(self, seconds: float) -> None:
        await turn()
        self.clock.advance(seconds)
        await turn()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.liveness.run())
        await turn()
        yield
        task.cancel()
        await asyncio.wait((task,))
        await turn()


async def turn() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def scene(body: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        await body(Scene())

    asyncio.run(run())


def test_nobody_is_questioned_without_suspicion() -> None:
    async def body(at: Scene) -> None:
        async with at.running():
            await at.pass_seconds(1000.0)
            assert at.questions == 0

    scene(body)


def test_a_slow_driver_that_answers_the_question_is_not_hung() -> None:
    async def body(at: Scene) -> None:
        at.answer.set_result(None)
        async with at.running():
            verdicts = []
            at.liveness.timed_out()
            verdicts.append(at.liveness.verdict)
            await turn()
            verdicts.append(at.liveness.verdict)
            assert verdicts == [Verdict.SUSPECT, Verdict.RESPONSIVE]
            await at.pass_seconds(100.0)
        assert at.questions == 1
        assert at.reports == []

    scene(body)


def test_a_hung_driver_is_questioned_every_ten_seconds_and_reported_once() -> None:
    async def body(at: Scene) -> None:
        async with at.running():
            at.liveness.timed_out()
            await at.pass_seconds(5.0)
            assert at.reports == [Verdict.HUNG]
            at.liveness.timed_out()
            for asked in (2, 3):
                await at.pass_seconds(10.0)
                assert at.questions == asked
                await at.pass_seconds(5.0)
            assert at.reports == [Verdict.HUNG]
            at.answer.set_result(None)
            await at.pass_seconds(10.0)
            assert at.reports == [Verdict.HUNG, Verdict.RESPONSIVE]

    scene(body)


def test_a_refusal_is_an_answer() -> None:
    async def body(at: Scene) -> None:
        at.answer.set_exception(DriverError("nothing to prepare", driver="d"))
        async with at.running():
            at.liveness.timed_out()
            await turn()
            assert at.liveness.verdict is Verdict.RESPONSIVE

    scene(body)


def test_nobody_there_is_no_answer() -> None:
    async def body(at: Scene) -> None:
        at.answer.set_exception(TransportError("gone"))
        async with at.running():
            at.liveness.timed_out()
            await turn()
            assert at.liveness.verdict is Verdict.SUSPECT
            assert at.reports == []

    scene(body)


def test_any_other_call_that_comes_back_clears_it() -> None:
    async def body(at: Scene) -> None:
        async with at.running():
            at.liveness.timed_out()
            await at.pass_seconds(5.0)
            at.liveness.answered()
            assert at.reports == [Verdict.HUNG, Verdict.RESPONSIVE]
            await at.pass_seconds(100.0)
            assert at.questions == 1

    scene(body)


def test_the_next_to_connect_is_innocent_of_what_the_last_left_open() -> None:
    async def body(at: Scene) -> None:
        async with at.running():
            at.liveness.timed_out()
            await turn()
            at.liveness.forget()
            await at.pass_seconds(5.0)
            assert at.reports == []
            assert at.liveness.verdict is Verdict.RESPONSIVE

    scene(body)


@pytest.mark.parametrize("times", [1, 3])
def test_suspicion_can_arise_again(times: int) -> None:
    async def body(at: Scene) -> None:
        async with at.running():
            for _ in range(times):
                at.liveness.timed_out()
                await at.pass_seconds(5.0)
                at.liveness.answered()
                await at.pass_seconds(10.0)
            assert at.reports == [Verdict.HUNG, Verdict.RESPONSIVE] * times

    scene(body)
