"""Commands end in time, and say no more than is taken."""

from __future__ import annotations

import asyncio
import sys

import pytest

from dray.clock import SystemClock
from dray.drivers.host import commands
from dray.drivers.host.commands import CommandFailed, Outcome, run_command
from tests.unit.drivers.surroundings import context


def run(*words: str, seconds: float = 30.0) -> Outcome:
    return asyncio.run(run_command(words, seconds=seconds, context=context(clock=SystemClock())))


def test_what_a_command_says_and_how_it_ends_is_known() -> None:
    outcome = run("/bin/sh", "-c", "echo out; echo one >&2; echo two >&2; exit 3")
    assert (outcome.code, outcome.output, outcome.last_words()) == (3, b"out\n", "two")


def test_a_command_that_is_not_there_is_named() -> None:
    with pytest.raises(CommandFailed, match="/no/such/thing cannot be started"):
        run("/no/such/thing")


def test_a_command_that_hangs_ends_with_its_children() -> None:
    # The child holds the pipes: it must not be waited for.
    with pytest.raises(CommandFailed, match=r"did not end within 0\.1 s"):
        run("/bin/sh", "-c", "sleep 600 & exec sleep 600", seconds=0.1)
    with pytest.raises(CommandFailed, match=r"did not end within 0\.1 s"):
        run("/bin/sh", "-c", "sleep 600 &", seconds=0.1)


def test_a_command_that_says_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "OUTPUT_BYTES_MAX", 10)
    with pytest.raises(CommandFailed, match="more than 10 bytes"):
        run(sys.executable, "-c", "print('x' * 100)")
