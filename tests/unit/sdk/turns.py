"""Letting tasks run until none has anything left to do before time passes."""

from __future__ import annotations

import asyncio
from typing import Final

from dray.testing import FakeClock

# More turns than any chain of tasks in these tests needs.
TURNS: Final = 60


async def settle(turns: int = TURNS) -> None:
    """Let every task do what it can without time passing."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def pass_time(clock: FakeClock, seconds: float, *, step: float = 1.0) -> None:
    """Let time pass in steps, and everybody act on each."""
    while seconds > 0:
        await settle()
        clock.advance(min(step, seconds))
        seconds -= step
    await settle()
