"""Ranges of sizes and costs, with arithmetic that stops at 2^64 - 1.

A Range is the least and the most something may be. Sizes and costs share the type, because rules
turn one into the other; products with a fraction are rounded up.

Upstream counterpart: SizeEstimate and CostEstimate in cel-go checker/cost.go.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

__all__ = [
    "MAX",
    "NOTHING",
    "NO_RANGE",
    "ONE",
    "UNKNOWN",
    "Range",
    "times_factor",
]

MAX: Final = 2**64 - 1
_TWO_TO_64: Final = 2.0**64


class Range(NamedTuple):
    min: int
    max: int

    def plus(self, other: Range) -> Range:
        least, most = self[0] + other[0], self[1] + other[1]
        if least > MAX or most > MAX:
            return Range(min(least, MAX), min(most, MAX))
        return Range(least, most)

    def times(self, other: Range) -> Range:
        return Range(min(self.min * other.min, MAX), min(self.max * other.max, MAX))

    def times_factor(self, factor: float) -> Range:
        return Range(times_factor(self.min, factor), times_factor(self.max, factor))

    def union(self, other: Range) -> Range:
        return Range(min(self.min, other.min), max(self.max, other.max))


NOTHING: Final = Range(0, 0)
ONE: Final = Range(1, 1)
UNKNOWN: Final = Range(0, MAX)
NO_RANGE: Final = Range(MAX, 0)
"""The neutral element of `union`."""


def times_factor(number: int, factor: float) -> int:
    product = float(number) * factor
    if product >= _TWO_TO_64:
        return MAX
    return math.ceil(product)
