"""The latest changes, in order: what watches resume from, and what older states are read with.

Bounded by count and by bytes; the oldest go first. `floor` is the oldest revision whose state can
still be told: every change after it is here. What an event keeps alive beyond the current state is
the value before it (the one after it is current, or the next event's before), so that is what it
is charged for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from dray.errors import RevisionCompacted
from dray.store.store import Event, Record

__all__ = ["EVENTS_MAX", "History"]

# A minute of writing at full speed, and more than a watcher that lost its connection for a moment
# can have missed. Upstream's watch cache keeps at most as many per resource.
EVENTS_MAX: Final = 100_000

# What all previous values together may take: a few percent of a control plane on a small machine.
BYTES_MAX: Final = 64 * 1024 * 1024

# An event, its record, its key and its place in the queue.
EVENT_OVERHEAD_BYTES: Final = 256


class History:
    """Changes by revision, from `floor` (not included) on."""

    def __init__(
        self, floor: int, *, events_max: int = EVENTS_MAX, bytes_max: int = BYTES_MAX
    ) -> None:
        self.floor = floor
        self._events: deque[Event] = deque()
        self._bytes = 0
        self._events_max = events_max
        self._bytes_max = bytes_max

    def __len__(self) -> int:
        return len(self._events)

    def append(self, event: Event) -> None:
        """Take in the newest change; forget the oldest when there are too many."""
        self._events.append(event)
        self._bytes += _cost(event)
        while len(self._events) > self._events_max or self._bytes > self._bytes_max:
            self._forget_oldest()

    def forget(self, revision: int) -> None:
        """Forget what led up to the revision. Its own state can still be told."""
        while self._events and self._events[0].revision <= revision:
            self._forget_oldest()
        self.floor = max(self.floor, revision)

    def since(self, revision: int) -> Sequence[Event]:
        """Every change after the revision. Costs as much as there are."""
        if revision < self.floor:
            raise RevisionCompacted(revision, oldest=self.floor)
        found: list[Event] = []
        for event in reversed(self._events):
            if event.revision <= revision:
                break
            found.append(event)
        found.reverse()
        return found

    def undone(self, prefix: str, revision: int) -> dict[str, Record | None]:
        """For each key under the prefix that changed since the revision, what it held then."""
        held: dict[str, Record | None] = {}
        for event in _under(prefix, self.since(revision)):
            held.setdefault(event.key, event.previous)
        return held

    def _forget_oldest(self) -> None:
        event = self._events.popleft()
        self._bytes -= _cost(event)
        self.floor = event.revision


def _under(prefix: str, events: Iterable[Event]) -> Iterable[Event]:
    return (event for event in events if event.key.startswith(prefix))


def _cost(event: Event) -> int:
    previous = event.previous
    return EVENT_OVERHEAD_BYTES + (len(previous.value) if previous is not None else 0)
