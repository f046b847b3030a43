"""The pods that are being tried right now, and what happened meanwhile.

What happens during an attempt may be just what a pod will have been rejected for the lack of, so
it is kept until the attempts that were under way have ended. Events are kept once for all attempts;
each remembers where it began. Attempts may last minutes, while a node gets devices ready, so
only so many events are kept: an attempt that outlived them is taken to have missed something.
Invariant: no event that a listed attempt could need is dropped without it being told so. Upstream
counterpart: inFlightPods and inFlightEvents of pkg/scheduler/backend/queue/active_queue.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Final

from dray.scheduler.cluster_events import ClusterEvent
from dray.scheduler.queued_pod import QueuedPod

__all__ = ["EVENTS_MAX", "Attempts"]

# An attempt that ends in a rejection lasts milliseconds, in which a few hundred events come at
# most; only those that wait for a node see more. Each event keeps two objects alive, so this is
# in the order of a hundred megabytes at worst, and asking the hints about all takes milliseconds.
EVENTS_MAX: Final = 8192


class Attempts:
    """In the order in which they began."""

    def __init__(self, *, events_max: int = EVENTS_MAX) -> None:
        self._events: deque[ClusterEvent] = deque(maxlen=events_max)
        self._seen = 0  # events that ever were recorded
        self._pods: dict[str, QueuedPod] = {}
        self._updates: dict[str, ClusterEvent] = {}  # of the pods themselves, all in one

    def begin(self, queued: QueuedPod) -> None:
        queued.events_seen = self._seen
        queued.activated = False
        self._pods[queued.uid] = queued

    def end(self, queued: QueuedPod) -> None:
        """Forget an attempt, and the events that no other one needs."""
        del self._pods[queued.uid]
        self._updates.pop(queued.uid, None)
        if not self._events:
            return
        oldest = next(iter(self._pods.values()), None)
        needed = 0 if oldest is None else self._seen - oldest.events_seen
        while len(self._events) > needed:
            self._events.popleft()

    def record(self, event: ClusterEvent) -> None:
        """Something happened."""
        if self._pods:
            self._seen += 1
            self._events.append(event)

    def record_update(self, queued: QueuedPod, event: ClusterEvent) -> None:
        """A pod changed while it is being tried; several changes become one."""
        earlier = self._updates.get(queued.uid)
        if earlier is not None:
            event = ClusterEvent(
                event.resource, earlier.action | event.action, earlier.old, event.new
            )
        self._updates[queued.uid] = event

    def overran(self, queued: QueuedPod) -> bool:
        """Whether events since its attempt began are no longer there."""
        return self._seen - queued.events_seen > len(self._events)

    def events_during(self, queued: QueuedPod) -> Iterator[ClusterEvent]:
        """What is known to have happened since its attempt began, the latest first."""
        update = self._updates.get(queued.uid)
        if update is not None:
            yield update
        yield from islice(reversed(self._events), self._seen - queued.events_seen)

    @property
    def events_count(self) -> int:
        """How many events are kept."""
        return len(self._events)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def __len__(self) -> int:
        return len(self._pods)
