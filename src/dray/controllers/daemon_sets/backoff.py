"""Keeps a daemon set and a node that refuses its pods from fighting all the time.

The first failed pod on a node is deleted, and so replaced, at once; the next after a second, and
each further one after twice as long. Upstream counterpart: flowcontrol.Backoff.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dray.clock import Clock
from dray.controllers.reconciler import Key

__all__ = ["FailureBackoff"]

SECONDS_MIN: Final = 1.0
SECONDS_MAX: Final = 15 * 60.0


class FailureBackoff:
    """How long to leave failed pods, by daemon set and node."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[Key, dict[str, _Entry]] = {}

    def remaining_seconds(self, key: Key, node: str) -> float:
        """How long to leave a failed pod on a node."""
        entry = self._entries.get(key, {}).get(node)
        if entry is None:
            return 0.0
        return max(0.0, entry.at + entry.seconds - self._clock.monotonic())

    def note(self, key: Key, node: str) -> None:
        """A failed pod on a node is deleted now."""
        now = self._clock.monotonic()
        entries = self._entries.setdefault(key, {})
        entry = entries.get(node)
        if entry is None or now - entry.at > 2 * SECONDS_MAX:
            entries[node] = _Entry(SECONDS_MIN, now)
        else:
            entries[node] = _Entry(min(2 * entry.seconds, SECONDS_MAX), now)

    def forget(self, key: Key) -> None:
        """The daemon set is gone."""
        self._entries.pop(key, None)

    def forget_lapsed(self, key: Key) -> None:
        """Nodes that have not failed for so long that it does not count any more."""
        now = self._clock.monotonic()
        entries = self._entries.get(key, {})
        for node in [node for node, each in entries.items() if now - each.at > 2 * SECONDS_MAX]:
            del entries[node]
        if not entries:
            self._entries.pop(key, None)


@dataclass(frozen=True, slots=True)
class _Entry:
    seconds: float
    at: float
