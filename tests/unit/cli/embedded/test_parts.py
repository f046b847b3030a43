"""Parts that go on side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from dray.cli.embedded.parts import Parts
from dray.errors import ConfigurationError, InternalError


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 10))


async def forever() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise ConfigurationError("no such place")


def test_what_is_waited_for_is_returned() -> None:
    async def scenario() -> None:
        parts = Parts()
        parts.start("one", forever())
        assert await parts.until(asyncio.sleep(0, "done")) == "done"
        await parts.end_all()

    run(scenario())


def test_a_part_that_fails_ends_the_waiting() -> None:
    async def scenario() -> None:
        parts = Parts()
        parts.start("one", forever())
        parts.start("two", fail())
        with pytest.raises(ConfigurationError, match="no such place"):
            await parts.until(forever())
        await parts.end_all()

    run(scenario())


def test_a_part_that_ends_by_itself_is_a_failure() -> None:
    async def scenario() -> None:
        parts = Parts()
        parts.start("one", asyncio.sleep(0))
        with pytest.raises(InternalError, match="one ended by itself"):
            await parts.until(forever())
        await parts.end_all()

    run(scenario())


def test_the_last_is_ended_first() -> None:
    async def scenario() -> None:
        parts, ended = Parts(), []

        async def told(name: str) -> None:
            try:
                await forever()
            finally:
                ended.append(name)

        for name in ("one", "two", "three"):
            parts.start(name, told(name))
        await asyncio.sleep(0)
        await parts.end("two")
        await parts.end("two")
        await parts.end_all()
        assert ended == ["two", "three", "one"]

    run(scenario())


def test_what_is_ended_on_purpose_is_no_failure() -> None:
    async def scenario() -> None:
        parts = Parts()
        parts.start("one", forever())
        await parts.end("one")
        assert await parts.until(asyncio.sleep(0, 1)) == 1
        await parts.end_all()

    run(scenario())


def test_a_failure_while_ending_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        parts = Parts()

        async def stubborn() -> None:
            try:
                await forever()
            except asyncio.CancelledError:
                raise ConfigurationError("cannot let go") from None

        parts.start("one", stubborn())
        await asyncio.sleep(0)
        await parts.end_all()

    run(scenario())
    assert "one failed while it was ended" in caplog.text
