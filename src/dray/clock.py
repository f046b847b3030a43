"""Time, as a dependency: the only module that reads a clock or waits.

Everything that needs the time takes a Clock; tests and simulations pass one they control, so a
run is decided by its inputs. Wall time is for people and for the wire; durations and deadlines
use the monotonic reading, which no one can set back.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


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

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
