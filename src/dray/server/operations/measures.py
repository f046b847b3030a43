"""Numbers that only grow, and where they fall: what metrics are made of.

Plain attributes of plain objects: the libraries' counters take a lock and a label lookup for every
increment, which is more than a request can spare. Everything here belongs to the event loop.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

__all__ = ["Distribution"]


class Distribution:
    """How many values fell between which bounds, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Take in one value; a bound belongs to what is below it."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self.counts)

    def buckets(self) -> list[tuple[str, float]]:
        """How many were at or below each bound, as Prometheus wants to know it."""
        names = [*(_text(bound) for bound in self.bounds), "+Inf"]
        return list(zip(names, map(float, accumulate(self.counts)), strict=True))


def _text(bound: float) -> str:
    """A bound as Go prints it, so that queries for upstream's buckets find these."""
    return f"{bound:g}"
