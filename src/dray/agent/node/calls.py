"""Calls to the API that are tried until they succeed, or given up for now, with a limit in time.

An API server that hangs must cost a node no more than one that is gone.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, TypeVar

from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import APIError, TransportError

__all__ = ["FAILURES", "Backoff", "call", "jittered"]

# How long a call may take. A lease must be renewed four times as often as it lapses.
CALL_SECONDS_MAX: Final = 10.0

# What a call fails with that another try may cure.
FAILURES: Final = (APIError, TransportError, TimeoutError)

BACKOFF_SECONDS_MIN: Final = 0.2
BACKOFF_SECONDS_MAX: Final = 7.0

# Upstream's: enough that a fleet that starts at once is spread out after some minutes.
_JITTER: Final = 0.04

T = TypeVar("T")


async def call(clock: Clock, request: Awaitable[T]) -> T:
    """The answer, unless it takes too long."""
    return await within(clock, CALL_SECONDS_MAX, request)


def jittered(entropy: Entropy, seconds: float) -> float:
    """A period, a little longer by chance: many nodes must not call in step."""
    return seconds * entropy.uniform(1.0, 1.0 + _JITTER)


class Backoff:
    """Pauses between tries: each twice the one before, up to a limit, and shortened by chance."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._seconds = BACKOFF_SECONDS_MIN

    async def pause(self) -> None:
        """Wait before the next try."""
        seconds, self._seconds = self._seconds, min(self._seconds * 2, BACKOFF_SECONDS_MAX)
        await self._clock.sleep(self._entropy.uniform(seconds / 2, seconds))

    def reset(self) -> None:
        """It succeeded."""
        self._seconds = BACKOFF_SECONDS_MIN
