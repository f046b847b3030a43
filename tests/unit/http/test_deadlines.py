"""The wheel: late entries expire, moved ones do not, and without entries nothing runs."""

from __future__ import annotations

import asyncio
import weakref
from math import inf

from dray.http.deadlines import Deadlines
from dray.testing import FakeClock


class Entry:
    def __init__(self) -> None:
        self.deadline = inf
        self.slot = 0
        self.count = 0

    def expired(self) -> None:
        self.count += 1


def passed(clock: FakeClock, deadlines: Deadlines, seconds: float) -> None:
    clock.advance(seconds)
    deadlines.sweep()


def test_an_entry_expires_once_its_deadline_has_passed() -> None:
    clock, entry = FakeClock(), Entry()
    deadlines = Deadlines(clock)
    deadlines.set(entry, 10)
    passed(clock, deadlines, 9.9)
    assert entry.count == 0
    passed(clock, deadlines, 1.2)
    assert entry.count == 1
    passed(clock, deadlines, 100)
    assert entry.count == 1


def test_a_deadline_can_be_moved_either_way() -> None:
    clock, later, sooner = FakeClock(), Entry(), Entry()
    deadlines = Deadlines(clock)
    deadlines.set(later, 10)
    deadlines.set(later, 50)
    deadlines.set(sooner, 50)
    deadlines.set(sooner, 10)
    passed(clock, deadlines, 12)
    assert (later.count, sooner.count) == (0, 1)
    passed(clock, deadlines, 40)
    assert (later.count, sooner.count) == (1, 1)


def test_a_deadline_that_was_taken_back_never_comes() -> None:
    clock, entry = FakeClock(), Entry()
    deadlines = Deadlines(clock)
    deadlines.set(entry, 10)
    entry.deadline = inf
    passed(clock, deadlines, 100)
    assert entry.count == 0
    deadlines.set(entry, 10)
    passed(clock, deadlines, 12)
    assert entry.count == 1


def test_what_is_gone_is_not_kept() -> None:
    clock, entry = FakeClock(), Entry()
    deadlines = Deadlines(clock)
    deadlines.remove(entry)
    deadlines.set(entry, 90)
    deadlines.set(entry, 10)
    gone = weakref.ref(entry)
    deadlines.remove(entry)
    del entry
    assert gone() is None


def test_nothing_sleeps_while_there_are_no_deadlines() -> None:
    class CountingClock(FakeClock):
        def __init__(self) -> None:
            super().__init__()
            self.sleeping: asyncio.Queue[float] = asyncio.Queue()

        async def sleep(self, seconds: float) -> None:
            self.sleeping.put_nowait(seconds)
            await super().sleep(seconds)

    async def scenario() -> None:
        clock, entry = CountingClock(), Entry()
        deadlines = Deadlines(clock)
        running = asyncio.ensure_future(deadlines.run())
        await asyncio.sleep(0)
        assert clock.sleeping.empty()
        deadlines.set(entry, 0.5)
        await clock.sleeping.get()
        clock.advance(1)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert entry.count == 1
        assert clock.sleeping.empty()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(scenario())
