"""Pods by rank, the first one at hand, from anywhere of which a pod can be taken away.

An entry that is taken away stays where it is and is passed over later: its ticket is no longer the
pod's. When such entries are the majority, the heap is made anew, so it never holds more than twice
what it should. A pod is in at most one heap at a time; heaps that share pods share their tickets.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final, TypeAlias

from dray.scheduler.queued_pod import QueuedPod

__all__ = ["PodHeap", "Rank"]

# Below this, stale entries are not worth looking for.
_STALE_MIN: Final = 64


# Compared from the left, the lowest first.
Rank: TypeAlias = tuple[float, ...]


class PodHeap:
    """The lowest rank first; of equal ranks the one that was pushed first."""

    def __init__(self, tickets: Iterator[int]) -> None:
        self._tickets = tickets
        self._entries: list[tuple[Rank, int, QueuedPod]] = []
        self._count = 0

    def push(self, queued: QueuedPod, rank: Rank) -> None:
        queued.ticket = ticket = next(self._tickets)
        heapq.heappush(self._entries, (rank, ticket, queued))
        self._count += 1

    def remove(self, queued: QueuedPod) -> None:
        """Take away a pod that is in here."""
        queued.ticket = 0
        self._count -= 1
        if len(self._entries) > 2 * self._count + _STALE_MIN:
            self._entries = [entry for entry in self._entries if entry[2].ticket == entry[1]]
            heapq.heapify(self._entries)

    def pop(self) -> QueuedPod | None:
        """The first pod, taken away; None if there is none."""
        entries = self._entries
        while entries:
            _, ticket, queued = heapq.heappop(entries)
            if queued.ticket == ticket:
                queued.ticket = 0
                self._count -= 1
                return queued
        return None

    def first_rank(self) -> Rank | None:
        """The rank of the first pod; None if there is none."""
        entries = self._entries
        while entries:
            rank, ticket, queued = entries[0]
            if queued.ticket == ticket:
                return rank
            heapq.heappop(entries)
        return None

    def __len__(self) -> int:
        return self._count
