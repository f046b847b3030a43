"""How long a pod rests after an attempt that came to nothing.

It doubles with each rejection, or with each error in a row, and ends with a whole second of the
clock: pods whose rest ends in the same second are then tried in the order of their priority, not
in that of fractions of it. Upstream counterpart: pkg/scheduler/backend/queue/backoff_queue.go.
"""

from __future__ import annotations

from math import floor
from typing import Final

from dray.scheduler.queued_pod import QueuedPod

__all__ = ["INITIAL_SECONDS", "MAX_SECONDS", "Backoff"]

# Upstream's: long enough for whatever was in the way to pass, short enough for a person to wait.
INITIAL_SECONDS: Final = 1.0
MAX_SECONDS: Final = 10.0

# A rest that has doubled so often exceeds any maximum; more would be too large a number one day.
_DOUBLINGS_MAX: Final = 60


class Backoff:
    """The rule; a maximum of zero means that nobody rests."""

    def __init__(
        self, initial_seconds: float = INITIAL_SECONDS, max_seconds: float = MAX_SECONDS
    ) -> None:
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds

    def seconds(self, count: int) -> float:
        """How long after so many attempts that came to nothing, before rounding."""
        if count <= 0:
            return 0.0
        doubled = self._initial_seconds * 2.0 ** min(count - 1, _DOUBLINGS_MAX)
        return min(doubled, self._max_seconds)

    def ready_at(self, queued: QueuedPod) -> float:
        """When its rest is over; a time long past for one that has no reason to rest."""
        count = queued.consecutive_errors_count or queued.unschedulable_count
        if not count or not self._max_seconds:
            return 0.0
        # The whole second in which the rest ends belongs to it.
        return floor(queued.added_at + self.seconds(count)) + 1.0
