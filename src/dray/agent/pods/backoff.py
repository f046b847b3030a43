"""How long to wait before trying again: containers that exit, and images.

As upstream: the first try is free, then 10 s doubling to 5 minutes, and ten quiet minutes forget it
all. Nothing here waits or reads a clock. Upstream counterpart: client-go's
util/flowcontrol/backoff.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

__all__ = [
    "RESTART_DELAY_SECONDS_FIRST",
    "RESTART_DELAY_SECONDS_MAX",
    "RestartBackoff",
]

RESTART_DELAY_SECONDS_FIRST: Final = 10.0
RESTART_DELAY_SECONDS_MAX: Final = 300.0
RESTART_RESET_SECONDS: Final = 2 * RESTART_DELAY_SECONDS_MAX


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
