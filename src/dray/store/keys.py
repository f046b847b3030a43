"""Keys in order: every key that has a value, and where those of a prefix begin and end.

A list of sorted runs. One long list would move half a megabyte for every key added among 100,000;
runs of bounded length keep that in the microseconds, and finding a place is two binary searches.
Text is ordered by code point, which is the byte order of its UTF-8 form, and so etcd's.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Final

__all__ = ["SortedKeys", "end_of"]

# Moving 8 kB within a run takes about as long as finding it.
RUN_KEYS_MAX: Final = 1024

_LAST_CHARACTER: Final = "\U0010ffff"


def end_of(prefix: str) -> str | None:
    """The least text after everything that starts with the prefix; None if nothing comes after."""
    kept = prefix.rstrip(_LAST_CHARACTER)
    return kept[:-1] + chr(ord(kept[-1]) + 1) if kept else None


class SortedKeys:
    """A sorted set of texts. Bounds are the first text inside and the first one beyond."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        every = sorted(keys)
        half = RUN_KEYS_MAX // 2  # room to grow
        self._runs = [every[start : start + half] for start in range(0, len(every), half)]
        self._lasts = [run[-1] for run in self._runs]
        self._count = len(every)

    def __len__(self) -> int:
        return self._count

    def add(self, key: str) -> None:
        """Add a key that is not there yet."""
        self._count += 1
        if not self._runs:
            self._runs.append([key])
            self._lasts.append(key)
            return
        index = min(bisect_left(self._lasts, key), len(self._runs) - 1)
        run = self._runs[index]
        insort(run, key)
        if len(run) > RUN_KEYS_MAX:
            half = len(run) // 2
            self._runs[index : index + 1] = [run[:half], run[half:]]
            self._lasts[index : index + 1] = [run[half - 1], run[-1]]
        else:
            self._lasts[index] = run[-1]

    def remove(self, key: str) -> None:
        """Remove a key that is there."""
        self._count -= 1
        index = bisect_left(self._lasts, key)
        run = self._runs[index]
        del run[bisect_left(run, key)]
        if run:
            self._lasts[index] = run[-1]
        else:
            del self._runs[index], self._lasts[index]

    def within(self, low: str, high: str | None, limit: int = 0) -> list[str]:
        """The keys from `low` up to but without `high`, at most `limit` of them if it is not 0."""
        index = bisect_left(self._lasts, low)
        found: list[str] = []
        while index < len(self._runs):
            run = self._runs[index]
            start = bisect_left(run, low) if not found else 0
            if high is not None and run[-1] >= high:
                found += run[start : bisect_left(run, high)]
                break
            found += run[start:]
            if limit and len(found) >= limit:
                break
            index += 1
        return found[:limit] if limit else found

    def count(self, low: str, high: str | None) -> int:
        """How many keys `within` would return without a limit."""
        end = self._count if high is None else self._rank(high)
        return max(0, end - self._rank(low))

    def _rank(self, key: str) -> int:
        index = bisect_left(self._lasts, key)
        if index == len(self._runs):
            return self._count
        # All but the last few runs are summed for keys at the end: a hundred lengths at 100,000.
        return sum(map(len, self._runs[:index])) + bisect_left(self._runs[index], key)
