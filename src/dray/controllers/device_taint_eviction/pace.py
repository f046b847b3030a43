"""Turns, at most so many in a second. Pure: the time comes from whoever asks."""

from __future__ import annotations

__all__ = ["Pace"]


class Pace:
    """Hands out turns. One that is not used is lost: it only gets slower, never quicker."""

    def __init__(self, per_second: float) -> None:
        self._interval_seconds = 1.0 / per_second
        self._next = 0.0

    def turn(self, now: float) -> float:
        """When it is the asker's turn, which may be at once; nobody else gets the same."""
        turn = max(now, self._next)
        self._next = turn + self._interval_seconds
        return turn
