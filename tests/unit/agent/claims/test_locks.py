"""Claims are worked on by one at a time."""

from __future__ import annotations

import asyncio

import pytest

from dray.agent.claims.claim_info import ClaimKey, ClaimName
from dray.agent.claims.failures import ClaimFailure
from dray.agent.claims.locks import ClaimLocks

A, B = ClaimKey("n", "a"), ClaimKey("n", "b")


def test_whoever_wants_a_held_claim_waits() -> None:
    async def scenario() -> None:
        locks, entered = ClaimLocks(), asyncio.Event()

        async def second() -> None:
            async with locks.hold([B]):
                entered.set()

        async with asyncio.TaskGroup() as group:
            async with locks.hold([A, B]):
                group.create_task(second())
                await asyncio.sleep(0)
                assert not entered.is_set()
            await entered.wait()

    asyncio.run(scenario())


def test_other_claims_are_not_held_up() -> None:
    async def scenario() -> None:
        locks = ClaimLocks()
        async with locks.hold([A]), locks.hold([B]):
            pass

    asyncio.run(scenario())


def test_opposite_orders_do_not_deadlock() -> None:
    async def scenario() -> None:
        locks = ClaimLocks()

        async def work(*keys: ClaimKey) -> None:
            for _ in range(5):
                async with locks.hold(keys):
                    await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            group.create_task(work(A, B))
            group.create_task(work(B, A, B))

    asyncio.run(scenario())


def test_nothing_is_kept_for_claims_nobody_wants() -> None:
    async def scenario() -> None:
        locks = ClaimLocks()
        async with locks.hold([A]):
            waiting = asyncio.create_task(_hold(locks))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert set(locks._entries) == {A}
        assert not locks._entries

    async def _hold(locks: ClaimLocks) -> None:
        async with locks.hold([A, B]):
            raise AssertionError("held by another")

    asyncio.run(scenario())


def test_those_who_wait_hear_of_failures_and_those_who_come_later_do_not() -> None:
    async def scenario() -> None:
        locks, told = ClaimLocks(), ClaimFailure(ClaimName("n", "a", "u"), "no")
        stranger = ClaimFailure(ClaimName("", "", "x"), "unheard of")

        async def wait() -> tuple[list[ClaimFailure], list[ClaimFailure]]:
            async with locks.hold([A, B]) as turn:
                return list(turn.heard(A)), list(turn.heard(B))

        async with locks.hold([A]) as turn:
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0)
            turn.tell([told, stranger])
            later = asyncio.create_task(wait())
            await asyncio.sleep(0)
        assert await waiting == ([told], [])
        assert await later == ([], [])

    asyncio.run(scenario())
