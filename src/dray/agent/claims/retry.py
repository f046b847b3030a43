"""When to try again to prepare the claims of a pod. Pure, apart from the jitter.

A kubelet tries again after 60 to 90 seconds, for ever. Here the class of the failure decides, and a
driver that comes back is asked at once.
"""

from __future__ import annotations

from typing import Final

from dray.agent.claims.failures import ErrorClass, PrepareFailed
from dray.agent.plugins.plugin import Change, PluginChange
from dray.entropy import Entropy

__all__ = ["RetrySchedule"]

# Most of what passes does so within seconds: a driver restarts, a claim is reserved a moment later.
FIRST_SECONDS: Final = 1.0

# As often as a kubelet, for what takes long.
LAST_SECONDS: Final = 60.0

# Up to so much of the delay more, so that the pods of a node do not all come at once.
JITTER: Final = 0.2

# Doubled so often, every first delay is beyond the last.
_DOUBLINGS_MAX: Final = 16


class RetrySchedule:
    """Says how long to wait."""

    def __init__(
        self,
        entropy: Entropy,
        *,
        first_seconds: float = FIRST_SECONDS,
        last_seconds: float = LAST_SECONDS,
        jitter: float = JITTER,
    ) -> None:
        self._entropy = entropy
        self._first_seconds = first_seconds
        self._last_seconds = last_seconds
        self._jitter = jitter

    def delay_seconds(self, error_class: ErrorClass, attempt: int) -> float | None:
        """How long to wait after this many attempts failed; None: do not try again."""
        if error_class.final:
            return None
        doublings = min(max(attempt - 1, 0), _DOUBLINGS_MAX)
        delay_seconds = min(self._first_seconds * 2.0**doublings, self._last_seconds)
        return delay_seconds * self._entropy.uniform(1.0, 1.0 + self._jitter)

    def should_retry_now(self, failed: PrepareFailed, change: PluginChange) -> bool:
        """Whether what just happened to a plugin is what a failed pod waited for."""
        return (
            not failed.error_class.final
            and change.change in (Change.REGISTERED, Change.CONNECTED)
            and any(failure.driver == change.plugin.driver for failure in failed.failures)
        )
