"""Blocking calls run one after the other, and those that never return harm nobody."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dray.drivers.nvml import lane
from dray.drivers.nvml.lane import Lane
from dray.sdk import TransientError
from dray.testing import FakeClock
from tests.unit.drivers.surroundings import context


def test_results_and_errors_come_back() -> None:
    async def scenario() -> None:
        calls = Lane("NVML")
        surroundings = context()
        assert await calls.call(lambda: 7, seconds=1.0, context=surroundings) == 7
        with pytest.raises(ZeroDivisionError):
            await calls.call(lambda: 1 // 0, seconds=1.0, context=surroundings)
        name = await calls.call(
            lambda: threading.current_thread().name, seconds=1.0, context=surroundings
        )
        assert name == "NVML"
        calls.close()

    asyncio.run(scenario())


def test_a_call_that_does_not_return_is_given_up_and_others_are_refused_at_once() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        calls, surroundings = Lane("NVML"), context(clock=clock)
        held, entered = threading.Event(), threading.Event()

        def hang() -> bool:
            entered.set()
            return held.wait()

        hanging = asyncio.ensure_future(calls.call(hang, seconds=5.0, context=surroundings))
        await asyncio.to_thread(entered.wait)
        clock.advance(5.0)
        with pytest.raises(TransientError, match="did not answer within 5 s"):
            await hanging
        with pytest.raises(TransientError, match="has not returned"):
            await calls.call(lambda: 1, seconds=5.0, context=surroundings)
        held.set()
        stuck = calls._stuck
        assert stuck is not None
        assert await stuck is True
        assert await calls.call(lambda: 1, seconds=5.0, context=surroundings) == 1
        calls.close()

    asyncio.run(scenario())


def test_no_more_calls_wait_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "CALLS_MAX", 1)

    async def scenario() -> None:
        calls, surroundings = Lane("NVML"), context()
        held, entered = threading.Event(), threading.Event()

        def hang() -> bool:
            entered.set()
            return held.wait()

        first = asyncio.ensure_future(calls.call(hang, seconds=5.0, context=surroundings))
        await asyncio.to_thread(entered.wait)
        second = asyncio.ensure_future(calls.call(lambda: 2, seconds=5.0, context=surroundings))
        await asyncio.sleep(0)
        with pytest.raises(TransientError, match="1 calls of NVML are waiting"):
            await calls.call(lambda: 3, seconds=5.0, context=surroundings)
        held.set()
        assert await first is True
        assert await second == 2
        calls.close()

    asyncio.run(scenario())
