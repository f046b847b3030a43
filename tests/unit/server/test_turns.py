from __future__ import annotations

import asyncio

import pytest

from dray.server.turns import Turns


def test_who_comes_first_goes_first_and_alone() -> None:
    async def main() -> None:
        turns, said = Turns(), list[str]()

        async def speak(who: str) -> None:
            async with turns.take("x"):
                said.append(f"{who} begins")
                await asyncio.sleep(0)
                said.append(f"{who} ends")

        await asyncio.gather(speak("a"), speak("b"), speak("c"))
        assert said == [f"{who} {what}" for who in "abc" for what in ("begins", "ends")]

    asyncio.run(main())


def test_turns_of_other_names_are_not_waited_for() -> None:
    async def main() -> None:
        turns = Turns()
        async with turns.take("x"), turns.take("y"):
            assert len(turns) == 2
        assert len(turns) == 0

    asyncio.run(main())


def test_a_turn_ends_with_its_failure() -> None:
    async def main() -> None:
        turns = Turns()
        with pytest.raises(ValueError, match="no"):
            async with turns.take("x"):
                raise ValueError("no")
        async with turns.take("x"):
            pass
        assert len(turns) == 0

    asyncio.run(main())


def test_who_stops_waiting_is_forgotten() -> None:
    async def main() -> None:
        turns = Turns()

        async def wait() -> None:
            async with turns.take("x"):
                raise AssertionError("it was not its turn")

        async with turns.take("x"):
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        assert len(turns) == 0

    asyncio.run(main())
