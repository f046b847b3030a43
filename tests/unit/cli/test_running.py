"""Commands that run until they are told to stop."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from dray.cli.running import either, end, only_configuration, told_to_stop
from dray.errors import ConfigurationError, InternalError


def test_what_fails_while_something_else_runs_is_told() -> None:
    async def fail() -> None:
        raise ConfigurationError("no such place")

    async def forever() -> None:
        await asyncio.Event().wait()

    async def body() -> None:
        running = asyncio.ensure_future(forever())
        with pytest.raises(ConfigurationError, match="no such place"):
            await either(fail(), running)
        running.cancel()
        failing = asyncio.ensure_future(fail())
        with pytest.raises(ConfigurationError, match="no such place"):
            await either(forever(), failing)

    asyncio.run(body())


def test_a_part_that_ends_by_itself_ends_the_command() -> None:
    async def body() -> None:
        ended = asyncio.ensure_future(asyncio.sleep(0))
        with pytest.raises(InternalError, match="ended by itself"):
            await either(asyncio.Event().wait(), ended)

    asyncio.run(body())


def test_what_is_ended_has_ended() -> None:
    async def body() -> None:
        running = asyncio.ensure_future(asyncio.Event().wait())
        await end(running)  # type: ignore[arg-type]  # whatever it would return
        assert running.cancelled()

    asyncio.run(body())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_says_to_stop(number: signal.Signals) -> None:
    async def body() -> None:
        waiting = asyncio.ensure_future(told_to_stop())
        await asyncio.sleep(0)
        os.kill(os.getpid(), number)
        await waiting

    asyncio.run(asyncio.wait_for(body(), 10))


def test_problems_of_configuration_are_said_together() -> None:
    inner = ExceptionGroup("parts", [ConfigurationError("b")])
    problem = only_configuration(ExceptionGroup("parts", [ConfigurationError("a"), inner]))
    assert str(problem) == "a; b"
    assert only_configuration(ExceptionGroup("parts", [ValueError("bug")])) is None
