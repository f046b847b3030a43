"""Sets of completion indexes, in the form in which a job's status has them: `1,3-5,7`.

Upstream counterpart: orderedIntervals in pkg/controller/job.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

__all__ = ["Indexes"]


@dataclass(frozen=True, slots=True)
class Indexes:
    """Indexes as intervals, both ends included, in order and never next to each other."""

    intervals: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def of(indexes: Iterable[int]) -> Indexes:
        return _joined((index, index) for index in sorted(indexes))

    @staticmethod
    def parse(text: str, completions: int) -> Indexes:
        """Those of a text that are below a number; what cannot be read is left out."""
        found: list[tuple[int, int]] = []
        for part in text.split(",") if text else ():
            first_text, _, last_text = part.partition("-")
            try:
                first, last = int(first_text), int(last_text or first_text)
            except ValueError:
                continue
            if first >= completions:
                break
            found.append((first, min(last, completions - 1)))
        return _joined(found)

    def __or__(self, other: Indexes) -> Indexes:
        return _joined(sorted((*self.intervals, *other.intervals)))

    def __contains__(self, index: int) -> bool:
        at = bisect_right(self.intervals, index, key=lambda interval: interval[0])
        return at > 0 and index <= self.intervals[at - 1][1]

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    def __str__(self) -> str:
        return ",".join(_show(*interval) for interval in self.intervals)

    def missing(self, completions: int, count: int) -> list[int]:
        """The first few indexes below a number that are not in here."""
        return list(islice(self._gaps(completions), count))

    def overlap_count(self, other: Indexes) -> int:
        """How many indexes both have."""
        count = left = right = 0
        while left < len(self.intervals) and right < len(other.intervals):
            mine, theirs = self.intervals[left], other.intervals[right]
            count += max(0, min(mine[1], theirs[1]) - max(mine[0], theirs[0]) + 1)
            if mine[1] <= theirs[1]:
                left += 1
            else:
                right += 1
        return count

    def _gaps(self, completions: int) -> Iterator[int]:
        candidate = 0
        for first, last in self.intervals:
            yield from range(candidate, min(first, completions))
            candidate = max(candidate, last + 1)
        yield from range(candidate, completions)


def _joined(intervals: Iterable[tuple[int, int]]) -> Indexes:
    """Intervals that come in the order of their beginnings."""
    found: list[tuple[int, int]] = []
    for first, last in intervals:
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return Indexes(tuple(found))


def _show(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
