"""The fake clock: time passes only when told, and sleepers wake in order."""

from __future__ import annotations

import asyncio

from dray.testing import FakeClock


def test_time_stands_still_until_advanced() -> None:
    clock = FakeClock()
    before = clock.now()
    assert clock.now() == before
    clock.advance(1.5)
    assert (clock.now() - before).total_seconds() == clock.monotonic() == 1.5


def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    async def scenario() -> list[str]:
        clock, woken = FakeClock(), []

        async def sleeper(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append(name)

        tasks = [asyncio.create_task(sleeper(n, s)) for n, s in (("late", 2), ("early", 1))]
        await asyncio.sleep(0)
        clock.advance(0.5)
        await asyncio.sleep(0)
        assert woken == []
        clock.advance(2)
        await asyncio.gather(*tasks)
        return woken

    assert asyncio.run(scenario()) == ["early", "late"]


def test_a_cancelled_sleeper_is_no_obstacle() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        task = asyncio.create_task(clock.sleep(1))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        clock.advance(2)

    asyncio.run(scenario())


def test_the_clock_knows_when_the_next_sleeper_wakes() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        assert clock.next_wake is None
        long, short = (asyncio.ensure_future(clock.sleep(seconds)) for seconds in (7, 2))
        await asyncio.sleep(0)
        assert clock.next_wake == 2
        short.cancel()
        await asyncio.sleep(0)
        assert clock.next_wake == 7, "who was cancelled does not wake"
        clock.advance(7)
        await long
        assert clock.next_wake is None

    asyncio.run(scenario())
