from __future__ import annotations

import asyncio

import pytest

from dray.agent.node.calls import BACKOFF_SECONDS_MAX, CALL_SECONDS_MAX, Backoff, call, jittered
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from tests.unit.agent.health.fakes import settle


def test_a_call_that_hangs_is_given_up() -> None:
    async def run() -> None:
        clock = FakeClock()
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        calling = asyncio.create_task(call(clock, never))
        await settle()
        clock.advance(CALL_SECONDS_MAX)
        with pytest.raises(TimeoutError):
            await calling

    asyncio.run(run())


def test_periods_differ_a_little() -> None:
    entropy = SeededEntropy(1)
    periods = {jittered(entropy, 10.0) for _ in range(100)}
    assert len(periods) > 90
    assert all(10.0 <= period <= 10.4 for period in periods)


def test_pauses_grow_to_a_limit_and_start_over_after_success() -> None:
    async def run() -> None:
        class Counting(FakeClock):
            slept: list[float] = []  # noqa: RUF012 - one test, one clock

            async def sleep(self, seconds: float) -> None:
                self.slept.append(seconds)

        clock = Counting()
        backoff = Backoff(clock, SeededEntropy(1))
        for _ in range(10):
            await backoff.pause()
        assert clock.slept[0] <= 0.2
        assert BACKOFF_SECONDS_MAX / 2 <= clock.slept[-1] <= BACKOFF_SECONDS_MAX
        backoff.reset()
        await backoff.pause()
        assert clock.slept[-1] <= 0.2

    asyncio.run(run())
