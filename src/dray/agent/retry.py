"""When to try again what failed for the moment: drivers, the API, runtimes.

Sooner than upstream does, 1 s doubling to 60 s, with jitter so that one that returns does not meet
all that waited for it at once. Nothing here waits or reads a clock.
"""

from __future__ import annotations

from typing import Final

from dray.entropy import Entropy

__all__ = ["RETRY_DELAY_SECONDS_FIRST", "RETRY_DELAY_SECONDS_MAX", "RetrySchedule"]

RETRY_DELAY_SECONDS_FIRST: Final = 1.0
RETRY_DELAY_SECONDS_MAX: Final = 60.0
RETRY_JITTER: Final = 0.2


class RetrySchedule:
    """How often something failed in a row, and when it is tried next."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self.attempts = 0
        self.ready_at: float | None = None  # on the monotonic clock

    def fail(self, now: float) -> float:
        """Note a failure; returns the seconds until the next try."""
        delay = min(
            RETRY_DELAY_SECONDS_FIRST * (1 << min(self.attempts, 16)), RETRY_DELAY_SECONDS_MAX
        )
        delay *= self._entropy.uniform(1 - RETRY_JITTER, 1.0)
        self.attempts += 1
        self.ready_at = now + delay
        return delay

    def waits(self, now: float) -> bool:
        """Whether it is too early to try again."""
        return self.ready_at is not None and now < self.ready_at

    def hurry(self) -> None:
        """Something changed: the next try may be now. The count goes on."""
        self.ready_at = None

    def reset(self) -> None:
        """It worked."""
        self.attempts = 0
        self.ready_at = None
