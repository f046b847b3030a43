"""Tasks beside the services."""

from __future__ import annotations

import asyncio

from dray.sdk._background import Background
from tests.unit.sdk.turns import settle


def test_the_first_failure_is_heard_of_and_kept() -> None:
    async def scenario() -> None:
        background = Background()

        async def fail(text: str) -> None:
            raise ValueError(text)

        background.start(asyncio.Event().wait(), name="for ever")
        background.start(fail("first"), name="a")
        background.start(fail("second"), name="b")
        assert str(await background.failure()) == "first"
        await settle()
        assert str(background.error) == "first"
        await background.stop()
        await background.stop()

    asyncio.run(scenario())


def test_what_ends_by_itself_is_no_failure() -> None:
    async def scenario() -> None:
        background = Background()
        background.start(settle(1), name="short")
        await settle()
        assert background.error is None
        await background.stop()

    asyncio.run(scenario())
