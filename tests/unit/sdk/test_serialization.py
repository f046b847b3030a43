"""Locks between processes and between operations."""

from __future__ import annotations

import asyncio
import fcntl
from pathlib import Path

import pytest

from dray.errors import TransientError
from dray.sdk._serialization import ClaimLocks, ProcessLock
from dray.testing import FakeClock
from tests.unit.sdk.turns import pass_time, settle


def test_a_process_holds_the_lock_once_for_all_its_operations(tmp_path: Path) -> None:
    async def scenario() -> None:
        taken: list[None] = []
        lock = ProcessLock(tmp_path / "l", clock=FakeClock(), acquired=lambda: taken.append(None))
        async with lock.hold():
            async with lock.hold():
                pass
            assert len(taken) == 1
            with open(tmp_path / "l") as file, pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with open(tmp_path / "l") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        async with lock.hold():
            assert len(taken) == 2

    asyncio.run(scenario())


def test_waiting_for_another_process_does_not_block_and_has_an_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        lock = ProcessLock(tmp_path / "l", clock=clock, acquired=lambda: None)

        async def use() -> str:
            async with lock.hold():
                return "held"

        with open(tmp_path / "l", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            first = asyncio.create_task(use())
            await pass_time(clock, 5)
            assert not first.done()
        await pass_time(clock, 1)
        assert await first == "held"
        with open(tmp_path / "l", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            second = asyncio.create_task(use())
            await pass_time(clock, 11)
            with pytest.raises(TransientError, match=r"has held .* for 10 s"):
                await second
        assert await use() == "held"

    asyncio.run(scenario())


def test_a_lock_whose_news_cannot_be_read_is_let_go(tmp_path: Path) -> None:
    async def scenario() -> None:
        def fail() -> None:
            raise OSError("disk")

        lock = ProcessLock(tmp_path / "l", clock=FakeClock(), acquired=fail)
        with pytest.raises(OSError, match="disk"):
            async with lock.hold():
                pass
        with open(tmp_path / "l") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    asyncio.run(scenario())


def test_a_waiter_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        lock = ProcessLock(tmp_path / "l", clock=clock, acquired=lambda: None)

        async def use() -> None:
            async with lock.hold():
                pass

        with open(tmp_path / "l", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            waiting = asyncio.create_task(use())
            await settle()
            waiting.cancel()
            await asyncio.wait((waiting,))
        await use()

    asyncio.run(scenario())


def test_one_claim_is_held_by_one_and_others_wait_their_turn() -> None:
    async def scenario() -> None:
        locks = ClaimLocks()
        log: list[str] = []

        async def use(uid: str, name: str) -> None:
            async with locks.hold(uid):
                log.append(f"{name} in")
                await settle(3)
                log.append(f"{name} out")

        await asyncio.gather(use("a", "1"), use("a", "2"), use("b", "3"))
        assert log.index("1 out") < log.index("2 in")
        assert log.index("3 in") < log.index("1 out")
        assert not locks.busy("a")

    asyncio.run(scenario())


def test_a_claim_is_busy_while_somebody_has_it_or_waits() -> None:
    async def scenario() -> None:
        locks = ClaimLocks()
        async with locks.hold("a"):
            waiting = asyncio.create_task(_use(locks, "a"))
            await settle()
            waiting.cancel()
            await asyncio.wait((waiting,))
            assert locks.busy("a")
        assert not locks.busy("a")

    async def _use(locks: ClaimLocks, uid: str) -> None:
        async with locks.hold(uid):
            pass

    asyncio.run(scenario())
