"""The order in which Go's sort leaves a list.

Go's sort is not stable: where keys are equal, or cannot be compared at all (NaN), the order comes
from the algorithm, a pattern-defeating quicksort. `sortBy` shows that order, so the same algorithm
runs here, decision by decision. There is no randomness in it: what it calls random is seeded with
the length.

Upstream counterpart: Go's sort.Slice; the algorithm is described in arXiv:2106.05123.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["sorted_indexes"]

_INSERTION_MAX: Final = 12
"""Up to this length insertion is fastest, and stable."""

_NINTHER_MIN: Final = 50
"""From this length on a pivot is the median of three medians, and few misplacements are moved."""

_SHIFTS_MAX: Final = 5
"""Misplaced elements moved in what looks sorted before it is taken for unsorted after all."""

_SWAPS_MAX: Final = 12
"""Swaps in the choice of a pivot when everything looks to be in reverse."""


def sorted_indexes(keys: Sequence[Any]) -> list[int]:
    """Where each element of the sorted list stands in the given one, by `<` of its keys."""
    sorting = _Sorting(keys)
    sorting.sort(0, len(keys), len(keys).bit_length())
    return sorting.order


class _Sorting:
    """Positions `order`, of which ranges from `first` up to but not including `end` get sorted."""

    def __init__(self, keys: Sequence[Any]) -> None:
        self.keys = keys
        self.order = list(range(len(keys)))

    def less(self, one: int, two: int) -> bool:
        smaller: bool = self.keys[self.order[one]] < self.keys[self.order[two]]
        return smaller

    def swap(self, one: int, two: int) -> None:
        order = self.order
        order[one], order[two] = order[two], order[one]

    def sort(self, first: int, end: int, bad_pivots_max: int) -> None:
        # The shorter part is sorted by a call, so that calls nest no deeper than a logarithm.
        balanced = partitioned = True
        while end - first > _INSERTION_MAX:
            length = end - first
            if bad_pivots_max == 0:
                self.sort_heap(first, end)
                return
            if not balanced:
                self.scatter(first, end)
                bad_pivots_max -= 1
            pivot, swaps = self.choose_pivot(first, end)
            if swaps == _SWAPS_MAX:
                self.order[first:end] = self.order[first:end][::-1]
                pivot = end - 1 - (pivot - first)
            looks_sorted = swaps in (0, _SWAPS_MAX)
            if balanced and partitioned and looks_sorted and self.finish(first, end):
                return
            if first > 0 and not self.less(first - 1, pivot):
                # Nothing here is smaller than what stands before, so the pivot's equals go first.
                first = self.part_equals(first, end, pivot)
                continue
            middle, partitioned = self.part(first, end, pivot)
            balanced = min(middle - first, end - middle) >= length // 8
            if middle - first < end - middle:
                self.sort(first, middle, bad_pivots_max)
                first = middle + 1
            else:
                self.sort(middle + 1, end, bad_pivots_max)
                end = middle
        self.insert(first, end)

    def insert(self, first: int, end: int) -> None:
        for start in range(first + 1, end):
            self.sink(start, first)

    def sink(self, start: int, first: int) -> None:
        """Move an element down as long as it is less than the one before it."""
        for position in range(start, first, -1):
            if not self.less(position, position - 1):
                return
            self.swap(position, position - 1)

    def sort_heap(self, first: int, end: int) -> None:
        length = end - first
        for root in range((length - 1) // 2, -1, -1):
            self.sift(root, length, first)
        for last in range(length - 1, -1, -1):
            self.swap(first, first + last)
            self.sift(0, last, first)

    def sift(self, root: int, length: int, first: int) -> None:
        while (child := 2 * root + 1) < length:
            if child + 1 < length and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def scatter(self, first: int, end: int) -> None:
        """Swap three elements of the middle with others, against inputs made to be slow."""
        length = end - first
        modulus = 1 << length.bit_length()
        random = length
        middle = first + length // 4 * 2
        for position in range(middle - 1, middle + 2):
            random ^= random << 13 & 0xFFFF_FFFF_FFFF_FFFF
            random ^= random >> 7
            random ^= random << 17 & 0xFFFF_FFFF_FFFF_FFFF
            other = random & modulus - 1
            if other >= length:
                other -= length
            self.swap(position, first + other)

    def choose_pivot(self, first: int, end: int) -> tuple[int, int]:
        """A position, and how often the elements looked at had to change places to find it."""
        length = end - first
        candidates = [first + length // 4 * quarter for quarter in (1, 2, 3)]
        swaps = 0
        if length >= _NINTHER_MIN:
            for index, position in enumerate(candidates):
                candidates[index], more = self.median(position - 1, position, position + 1)
                swaps += more
        median, more = self.median(*candidates)
        return median, swaps + more

    def median(self, one: int, two: int, three: int) -> tuple[int, int]:
        swaps = 0
        if self.less(two, one):
            one, two, swaps = two, one, swaps + 1
        if self.less(three, two):
            two, three, swaps = three, two, swaps + 1
        if self.less(two, one):
            one, two, swaps = two, one, swaps + 1
        return two, swaps

    def finish(self, first: int, end: int) -> bool:
        """Put the few misplaced elements of an almost sorted range in place, if they are few."""
        position = first + 1
        for _ in range(_SHIFTS_MAX):
            while position < end and not self.less(position, position - 1):
                position += 1
            if position == end:
                return True
            if end - first < _NINTHER_MIN:
                return False
            self.swap(position, position - 1)
            if position - first >= 2:
                # Down to the very beginning, not only to that of the range: so does upstream.
                self.sink(position - 1, 0)
            if end - position >= 2:
                self.rise(position + 1, end)
        return False

    def rise(self, start: int, end: int) -> None:
        for position in range(start, end):
            if not self.less(position, position - 1):
                return
            self.swap(position, position - 1)

    def part(self, first: int, end: int, pivot: int) -> tuple[int, bool]:
        """Smaller elements before the pivot, others after it; whether that was so already."""
        self.swap(first, pivot)
        low, high = first + 1, end - 1
        swapped = False
        while True:
            while low <= high and self.less(low, first):
                low += 1
            while low <= high and not self.less(high, first):
                high -= 1
            if low > high:
                break
            self.swap(low, high)
            swapped = True
            low, high = low + 1, high - 1
        self.swap(high, first)
        return high, not swapped

    def part_equals(self, first: int, end: int, pivot: int) -> int:
        """The pivot's equals before everything greater; answers where the greater ones start."""
        self.swap(first, pivot)
        low, high = first + 1, end - 1
        while True:
            while low <= high and not self.less(first, low):
                low += 1
            while low <= high and self.less(first, high):
                high -= 1
            if low > high:
                return low
            self.swap(low, high)
            low, high = low + 1, high - 1
