"""The pods without a node, and which of them to try next.

A pod is in one place at a time. *Active* ones are tried, the highest priority first, then the
oldest. What was rejected is *unschedulable* until something happens that a plugin that rejected it
deems worth another try, or five minutes have passed; it is then *backing off* until its rest is
over, or nothing else is to do. An error makes it back off at once. *Gated* pods may not be tried
yet, and are judged anew when they or what their gate listens to change. Whoever takes a pod gives
it back by `done`, `reject` or `fail`; until then it is in flight and nobody else gets it.

Invariants: no pod is lost, none is handed out twice at a time, and nothing that happens during an
attempt is missed by the pod that is rejected in it. Nothing here waits or writes, but `pop`; time
comes from the clock. A pod that was bound must not be added again by a stale update: the caller
tells pods with a node from those without. Upstream counterpart: pkg/scheduler/backend/queue.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from math import inf
from typing import Final

from dray.api.core import Pod
from dray.clock import Clock
from dray.errors import InternalError
from dray.scheduler.attempts import Attempts
from dray.scheduler.backoff import Backoff
from dray.scheduler.cluster_events import GATE, ClusterEvent, Hint, pod_event
from dray.scheduler.interests import Interests
from dray.scheduler.pod_heap import PodHeap
from dray.scheduler.queued_pod import Place, QueuedPod
from dray.scheduler.waiting_pods import WaitingPods

__all__ = ["SchedulingQueue"]

# Upstream's: hints may be wrong, so nobody waits longer than this without a try; and it is no
# matter of seconds when that is noticed.
UNSCHEDULABLE_SECONDS_MAX: Final = 300.0
FLUSH_SECONDS: Final = 30.0

_GATED: Final = frozenset({GATE})


class SchedulingQueue:
    """One for a scheduler. `incoming` counts, by place and cause, how pods came there."""

    def __init__(
        self,
        *,
        clock: Clock,
        gate: Callable[[Pod], str | None],
        hints: Mapping[str, Mapping[str, Hint | None]],
        backoff: Backoff | None = None,
        attempts: Attempts | None = None,
        unschedulable_seconds_max: float = UNSCHEDULABLE_SECONDS_MAX,
    ) -> None:
        self._clock = clock
        self._gate = gate
        self._interests = Interests(hints)
        self._backoff = Backoff() if backoff is None else backoff
        self._unschedulable_seconds_max = unschedulable_seconds_max
        self._pods: dict[str, QueuedPod] = {}
        tickets = count(1)
        self._active: PodHeap = PodHeap(tickets)
        self._resting: PodHeap = PodHeap(tickets)  # after a rejection
        self._recovering: PodHeap = PodHeap(tickets)  # after an error
        self._unschedulable = WaitingPods(self._interests)
        self._gated = WaitingPods(self._interests)
        self._attempts = Attempts() if attempts is None else attempts
        self._next_flush_at = -inf
        self._changed = asyncio.Event()
        self.incoming: Counter[tuple[str, str]] = Counter()

    # Pods ----------------------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """A pod without a node is there; one that is known already is updated."""
        known = self._pods.get(pod.metadata.uid)
        if known is not None:
            self._update(known, pod)
            return
        queued = QueuedPod.of(pod, self._clock.monotonic())
        self._pods[queued.uid] = queued
        self._enter(queued, "UnscheduledPodAdd")

    def update(self, old: Pod | None, new: Pod) -> None:
        """A pod without a node changed, or another one of its name has taken its place."""
        if old is not None and old.metadata.uid != new.metadata.uid:
            self.delete(old)
        self.add(new)

    def delete(self, pod: Pod) -> None:
        """A pod is gone, or is no longer for this scheduler; an attempt under way is void."""
        queued = self._pods.pop(pod.metadata.uid, None)
        if queued is not None:
            self._leave(queued)
            queued.place = Place.GONE

    def _update(self, queued: QueuedPod, pod: Pod) -> None:
        event = pod_event(queued.pod, pod)
        queued.pod = pod
        if queued.priority != (pod.spec.priority or 0):
            queued.priority = pod.spec.priority or 0
            if queued.place is Place.ACTIVE:
                self._active.remove(queued)
                self._active.push(queued, (-queued.priority, queued.added_at))
        if queued.place is Place.GATED:
            self._gated.remove(queued)
            self._enter(queued, "TargetPodUpdate" if event is None else event.label)
        elif event is None:
            pass
        elif queued.place is Place.IN_FLIGHT:
            self._attempts.record_update(queued, event)
        elif queued.place is Place.UNSCHEDULABLE:
            if self._interests.worth(pod, queued.rejectors, event):
                self._unschedulable.remove(queued)
                self._enter(queued, event.label)
            else:
                self._unschedulable.add(queued, queued.rejectors)

    # Attempts ------------------------------------------------------------------------------------

    async def pop(self) -> QueuedPod:
        """The next pod to try, as soon as there is one."""
        while True:
            queued = self.pop_ready()
            if queued is not None:
                return queued
            self._changed.clear()
            await self._wait()

    def pop_ready(self) -> QueuedPod | None:
        """The next pod to try; None if there is none now."""
        now = self._clock.monotonic()
        self._collect(now)
        queued = self._active.pop()
        if queued is None:
            # Rather this one now than nobody: it rests only for the sake of others.
            queued = self._resting.pop()
            if queued is None:
                return None
            self.incoming["active", "PopFromBackoffQ"] += 1
        queued.place = Place.IN_FLIGHT
        queued.attempts += 1
        queued.rejectors = frozenset()
        self._attempts.begin(queued)
        return queued

    def done(self, queued: QueuedPod) -> None:
        """The pod is bound, or is none of ours any more."""
        if queued.place is Place.IN_FLIGHT:
            self._attempts.end(queued)
            del self._pods[queued.uid]
            queued.place = Place.GONE

    def reject(self, queued: QueuedPod, plugins: frozenset[str]) -> None:
        """No node will do, say these plugins: it waits until one of them sees a change."""
        if not plugins:
            self.fail(queued)
            return
        if not self._returns(queued):
            return
        queued.unschedulable_count += 1
        queued.consecutive_errors_count = 0
        queued.rejectors = plugins
        worth = self._missed_something(queued)
        self._attempts.end(queued)
        if worth:
            self._enter(queued, "ScheduleAttemptFailure")
        else:
            self._wait_for_change(queued, "ScheduleAttemptFailure")

    def fail(self, queued: QueuedPod) -> None:
        """The attempt broke, so nothing is known of the pod: it is tried again after a rest."""
        if not self._returns(queued):
            return
        queued.consecutive_errors_count += 1
        self._attempts.end(queued)
        self._enter(queued, "ScheduleAttemptFailure")

    def _returns(self, queued: QueuedPod) -> bool:
        """Whether a pod that is given back still exists; one that was not taken is a mistake."""
        if queued.place is Place.GONE:
            return False
        if queued.place is not Place.IN_FLIGHT:
            name = f"{queued.pod.metadata.namespace}/{queued.pod.metadata.name}"
            raise InternalError(f'pod "{name}" is {queued.place.value}: it cannot be given back')
        queued.added_at = self._clock.monotonic()
        return True

    def _missed_something(self, queued: QueuedPod) -> bool:
        if queued.activated or self._attempts.overran(queued):
            return True
        return any(
            self._interests.worth(queued.pod, queued.rejectors, event)
            for event in self._attempts.events_during(queued)
        )

    # Events --------------------------------------------------------------------------------------

    def move(self, event: ClusterEvent) -> None:
        """Something happened: try again those for whom it may make a difference."""
        self._attempts.record(event)
        label = event.label
        for queued in self._unschedulable.woken_by(event):
            self._unschedulable.remove(queued)
            self._enter(queued, label)
        for queued in self._gated.woken_by(event):
            self._gated.remove(queued)
            self._enter(queued, label)

    def activate(self, uids: Iterable[str]) -> None:
        """Try these at once, whatever they wait for, unless a gate is in the way."""
        for uid in uids:
            queued = self._pods.get(uid)
            if queued is None or queued.place is Place.ACTIVE:
                continue
            if queued.place is Place.IN_FLIGHT:
                queued.activated = True
                continue
            self._leave(queued)
            self._enter(queued, "ForceActivate", at_once=True)

    # What there is -------------------------------------------------------------------------------

    def get(self, uid: str) -> QueuedPod | None:
        """A pod, wherever it is, also while it is being tried."""
        return self._pods.get(uid)

    def pending(self) -> Iterator[QueuedPod]:
        """All pods that wait, in the order in which they came first; none that is in flight."""
        return (each for each in self._pods.values() if each.place is not Place.IN_FLIGHT)

    def in_flight(self) -> Iterator[QueuedPod]:
        """The pods that are being tried."""
        return iter(self._attempts)

    def counts(self) -> Mapping[str, int]:
        """How many pods wait in each place."""
        return {
            Place.ACTIVE.value: len(self._active),
            Place.BACKOFF.value: len(self._resting) + len(self._recovering),
            Place.UNSCHEDULABLE.value: len(self._unschedulable),
            Place.GATED.value: len(self._gated),
        }

    def unschedulable_by_plugin(self) -> Mapping[str, int]:
        """How many pods wait for each of the plugins that rejected them."""
        return self._unschedulable.count_by_plugin()

    # From place to place -------------------------------------------------------------------------

    def _enter(self, queued: QueuedPod, cause: str, *, at_once: bool = False) -> None:
        """Have a pod that is in no place tried: after its rest, and if its gate is open."""
        queued.gate = self._gate(queued.pod)
        if queued.gate is not None:
            if queued.place is not Place.GATED:
                self.incoming["unschedulable", cause] += 1  # as upstream counts
            queued.place = Place.GATED
            queued.waits_since = self._clock.monotonic()
            self._gated.add(queued, _GATED)
            return
        ready_at = self._backoff.ready_at(queued)
        if at_once or ready_at <= self._clock.monotonic():
            self._make_active(queued, cause)
            return
        queued.place = Place.BACKOFF
        if queued.consecutive_errors_count:
            self._recovering.push(queued, (ready_at,))
        else:
            self._resting.push(queued, (ready_at, -queued.priority, queued.added_at))
        self.incoming["backoff", cause] += 1
        self._changed.set()

    def _make_active(self, queued: QueuedPod, cause: str) -> None:
        queued.place = Place.ACTIVE
        if queued.first_tried_at is None:
            queued.first_tried_at = self._clock.monotonic()
        self._active.push(queued, (-queued.priority, queued.added_at))
        self.incoming["active", cause] += 1
        self._changed.set()

    def _wait_for_change(self, queued: QueuedPod, cause: str) -> None:
        queued.place = Place.UNSCHEDULABLE
        queued.waits_since = queued.added_at
        self._unschedulable.add(queued, queued.rejectors)
        self.incoming["unschedulable", cause] += 1

    def _leave(self, queued: QueuedPod) -> None:
        """Take it away from where it is."""
        match queued.place:
            case Place.ACTIVE:
                self._active.remove(queued)
            case Place.BACKOFF if queued.consecutive_errors_count:
                self._recovering.remove(queued)
            case Place.BACKOFF:
                self._resting.remove(queued)
            case Place.UNSCHEDULABLE:
                self._unschedulable.remove(queued)
            case Place.GATED:
                self._gated.remove(queued)
            case Place.IN_FLIGHT:
                self._attempts.end(queued)
            case Place.GONE:
                pass

    # Time ----------------------------------------------------------------------------------------

    def _collect(self, now: float) -> None:
        """Make those active whose rest is over, and those that have waited too long."""
        for heap in (self._resting, self._recovering):
            while (rank := heap.first_rank()) is not None and rank[0] <= now:
                if (rested := heap.pop()) is not None:
                    # The gate was asked when it began to rest, as upstream does.
                    self._make_active(rested, "BackoffComplete")
        if now < self._next_flush_at:
            return
        self._next_flush_at = now + FLUSH_SECONDS
        since = now - self._unschedulable_seconds_max
        for queued in self._unschedulable.waiting_longer_than(since):
            self._unschedulable.remove(queued)
            self._enter(queued, "UnschedulableTimeout")
        for queued in self._gated.waiting_longer_than(since):
            self._gated.remove(queued)
            self._enter(queued, "UnschedulableTimeout")

    async def _wait(self) -> None:
        """Until something changes, or time brings something."""
        due_at = self._due_at()
        if due_at is None:
            await self._changed.wait()
            return
        alarm = asyncio.ensure_future(self._sleep_until(due_at))
        try:
            await self._changed.wait()
        finally:
            alarm.cancel()

    def _due_at(self) -> float | None:
        times = []
        if (rank := self._recovering.first_rank()) is not None:
            times.append(rank[0])
        for oldest in (self._unschedulable.oldest(), self._gated.oldest()):
            if oldest is not None:
                too_long_at = oldest.waits_since + self._unschedulable_seconds_max
                times.append(max(too_long_at, self._next_flush_at))
        return min(times, default=None)

    async def _sleep_until(self, at: float) -> None:
        await self._clock.sleep(at - self._clock.monotonic())
        self._changed.set()
