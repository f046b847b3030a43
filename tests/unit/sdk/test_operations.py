"""Operations: side by side, to their end, timed, and failing alone."""

from __future__ import annotations

import asyncio

from dray.errors import TransientError
from dray.sdk._claims import ClaimName
from dray.sdk._failures import ClaimFailure, ErrorClass
from dray.sdk._operations import CLAIMS_AT_ONCE, Operations, Refused
from dray.testing import FakeClock
from tests.unit.sdk.turns import pass_time, settle


def names(*uids: str) -> list[ClaimName]:
    return [ClaimName("default", uid, uid) for uid in uids]


def test_each_claim_has_its_own_outcome() -> None:
    async def work(claim: ClaimName) -> str:
        if claim.uid == "refused":
            raise Refused(ClaimFailure("no", ErrorClass.PERMANENT))
        if claim.uid == "disk":
            raise OSError("full")
        if claim.uid == "bug":
            raise KeyError("x")
        return claim.uid

    async def scenario() -> None:
        found = await Operations(clock=FakeClock()).each(
            names("a", "refused", "a", "disk", "bug"), work, deadline=30.0
        )
        assert found == {
            "a": "a",
            "refused": ClaimFailure("no", ErrorClass.PERMANENT),
            "disk": ClaimFailure("cannot keep the driver's state: full", ErrorClass.TRANSIENT),
            "bug": ClaimFailure("unexpected KeyError: 'x'"),
        }

    asyncio.run(scenario())


def test_every_operation_is_noted_with_its_time_and_its_end() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        noted: list[tuple[float, str]] = []

        async def work(claim: ClaimName) -> None:
            clock.advance(2)
            if claim.uid == "b":
                raise Refused(ClaimFailure("busy", ErrorClass.TRANSIENT))

        def note(seconds: float, error: BaseException | None) -> None:
            noted.append((seconds, type(error).__name__))

        operations = Operations(clock=clock)
        await operations.each(names("a"), work, note, deadline=30.0)
        await operations.each(names("b"), work, note, deadline=30.0)
        assert noted == [(2.0, "NoneType"), (2.0, TransientError.__name__)]

    asyncio.run(scenario())


def test_no_more_than_so_many_run_at_once_and_all_come_to_their_end() -> None:
    async def scenario() -> None:
        running, most = 0, 0
        gate = asyncio.Event()

        async def work(_: ClaimName) -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await gate.wait()
            running -= 1

        operations = Operations(clock=FakeClock())
        asking = asyncio.create_task(
            operations.each(names(*(f"u{n}" for n in range(100))), work, deadline=30.0)
        )
        await settle()
        assert most == CLAIMS_AT_ONCE
        asking.cancel()
        await asyncio.wait((asking,))
        gate.set()
        await operations.finish()
        assert running == 0

    asyncio.run(scenario())


def test_an_operation_that_was_ended_says_that_the_driver_is() -> None:
    async def scenario() -> None:
        operations = Operations(clock=FakeClock())

        async def work(_: ClaimName) -> None:
            await asyncio.Event().wait()

        asking = asyncio.create_task(operations.each(names("a"), work, deadline=30.0))
        await settle()
        for task in tuple(operations._tasks):
            task.cancel()
        assert await asking == {"a": ClaimFailure("the driver is stopping", ErrorClass.TRANSIENT)}

    asyncio.run(scenario())


def test_those_who_wait_for_one_claim_take_one_slot_and_wait_no_longer_than_they_may() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        gate = asyncio.Event()

        async def work(claim: ClaimName) -> str:
            if claim.uid == "stuck":
                await gate.wait()
            return claim.uid

        operations = Operations(clock=clock)
        first, *others = [
            asyncio.create_task(operations.each(names("stuck"), work, deadline=30.0))
            for _ in range(CLAIMS_AT_ONCE + 1)
        ]
        await settle()
        assert await operations.each(names("b"), work, deadline=30.0) == {"b": "b"}
        await pass_time(clock, 31)
        told = "other work has kept claim default/stuck waiting for 30 s"
        failure = ClaimFailure(told, ErrorClass.TRANSIENT)
        assert [await each for each in others] == [{"stuck": failure}] * CLAIMS_AT_ONCE
        gate.set()
        assert await first == {"stuck": "stuck"}

    asyncio.run(scenario())
