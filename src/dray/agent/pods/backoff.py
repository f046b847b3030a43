"""How long to wait before trying again: containers that exit, images, drivers that fail.

Containers and images follow upstream: the first try is free, then 10 s doubling to 5 minutes, and
ten quiet minutes forget it all. Drivers are asked again sooner, 1 s doubling to 60 s, with jitter
so that one that returns does not meet all its pods at once. Nothing here waits or reads a clock.
Upstream counterpart: client-go's util/flowcontrol/backoff.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dray.entropy import Entropy

__all__ = [
    "RESTART_DELAY_SECONDS_FIRST",
    "RESTART_DELAY_SECONDS_MAX",
    "RETRY_DELAY_SECONDS_FIRST",
    "RETRY_DELAY_SECONDS_MAX",
    "RestartBackoff",
    "RetrySchedule",
]

RESTART_DELAY_SECONDS_FIRST: Final = 10.0
RESTART_DELAY_SECONDS_MAX: Final = 300.0
RESTART_RESET_SECONDS: Final = 2 * RESTART_DELAY_SECONDS_MAX

RETRY_DELAY_SECONDS_FIRST: Final = 1.0
RETRY_DELAY_SECONDS_MAX: Final = 60.0
RETRY_JITTER: Final = 0.2


@dataclass(frozen=True, slots=True)
class RestartBackoff:
    """The delay that one container (or image) has earned; zero until it was tried once."""

    delay_seconds: float = 0.0
    updated_at: datetime | None = None

    def ready_at(self, failed_at: datetime) -> datetime:
        """When it may be tried again, having failed then."""
        if self._forgotten(failed_at):
            return failed_at
        return failed_at + timedelta(seconds=self.delay_seconds)

    def after(self, failed_at: datetime, now: datetime) -> RestartBackoff:
        """What holds once it is tried again, having failed then."""
        if self._forgotten(failed_at) or not self.delay_seconds:
            return RestartBackoff(RESTART_DELAY_SECONDS_FIRST, now)
        return RestartBackoff(min(self.delay_seconds * 2, RESTART_DELAY_SECONDS_MAX), now)

    def _forgotten(self, failed_at: datetime) -> bool:
        if self.updated_at is None:
            return True
        return (failed_at - self.updated_at).total_seconds() > RESTART_RESET_SECONDS


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
