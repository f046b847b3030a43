"""Time, as a dependency: the only module that reads a clock or waits.

Everything that needs the time takes a Clock; tests and simulations pass one they control, so a
run is decided by its inputs. Wall time is for people and for the wire; durations and deadlines
use the monotonic reading, which no one can set back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol, TypeVar

__all__ = ["Clock", "SystemClock", "within"]


T = TypeVar("T")


class Clock(Protocol):
    """What a component may know of time."""

    def now(self) -> datetime:
        """The wall time, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary start, never going back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return once this much monotonic time has passed."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    # Itself, not a function that calls it: servers ask a dozen times in a request.
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def within(clock: Clock, seconds: float, awaitable: Awaitable[T]) -> T:
    """Wait for a result so long and no longer: then cancel it, and raise TimeoutError.

    As asyncio.wait_for, on a clock that may be a test's. It returns once the cancelled task has
    ended, so nothing goes on behind the caller's back; also when the caller itself is cancelled,
    each time of which is passed on, and is raised whatever the task made of it. What ignores that
    it was cancelled is waited for, for ever if need be: whoever cannot trust it must not use this.
    """
    task = asyncio.ensure_future(awaitable)
    alarm = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((task, alarm), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        # Not `await task`: its cancellation and the caller's own would look the same.
        await asyncio.wait((task,))
        if not task.cancelled():
            return task.result()
        raise TimeoutError(f"not done after {seconds:g} s")
    except asyncio.CancelledError:
        await _ended(task)
        raise
    finally:
        alarm.cancel()
        if not task.done():
            task.cancel()


async def _ended(task: asyncio.Future[T]) -> None:
    """Cancel it, as often as the caller is, until it has ended."""
    while not task.done():
        task.cancel()
        # Nothing is lost: the caller's cancellation is on its way already.
        with suppress(asyncio.CancelledError):
            await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()  # nobody else will ask, and asyncio would complain
