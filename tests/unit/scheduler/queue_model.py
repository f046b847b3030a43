"""A model of the scheduling queue, and the machine that compares the two.

The model knows who must be where, and who must be handed out before whom; it does not know how
long rests are, so about pods that back off it says only that they come back.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dray.api.core import Pod, PodSchedulingGate, Toleration
from dray.scheduler.attempts import Attempts
from dray.scheduler.cluster_events import (
    GATE,
    NODE,
    POD,
    RESOURCE_CLAIM,
    Action,
    ClusterEvent,
    Hint,
    Interest,
)
from dray.scheduler.queue import SchedulingQueue
from dray.scheduler.queued_pod import Place, QueuedPod
from dray.testing import FakeClock
from tests.unit.scheduler.queued import node_added, pod

__all__ = ["QueueAgainstModel"]

_GATES = (PodSchedulingGate(name="x"),)


def _gate(pod: Pod) -> str | None:
    return "it has a gate" if pod.spec.scheduling_gates else None


names = st.sampled_from(["a", "b", "c", "d", "e"])
NODE_ADDED, LABELS_CHANGED = node_added(), ClusterEvent(NODE, Action.LABELS)
MODEL_HINTS: Mapping[str, Mapping[str, Hint | None]] = {
    "Fit": {NODE: None},
    "Labels": {
        NODE: Interest(Action.LABELS, lambda _, __: True, shape=lambda pod: pod.spec.priority)
    },
    "Claims": {
        RESOURCE_CLAIM: Interest(
            Action.ADD,
            pod_keys=lambda pod: (pod.metadata.name,),
            event_keys=lambda event: (event.new.metadata.name,) if event.new else None,
        )
    },
    "Taints": {POD: Interest(Action.TOLERATIONS)},
    GATE: {},
}
plugins = st.frozensets(st.sampled_from(["Fit", "Labels", "Claims", "Taints"]), min_size=1)
events = st.one_of(
    st.sampled_from([NODE_ADDED, LABELS_CHANGED]),
    names.map(lambda name: ClusterEvent(RESOURCE_CLAIM, Action.ADD, None, pod(name))),
)


def helps(name: str, plugins: frozenset[str], event: ClusterEvent) -> bool:
    """What the hints above say, put plainly."""
    if event.resource == NODE:
        return "Fit" in plugins or ("Labels" in plugins and event is LABELS_CHANGED)
    if event.resource == RESOURCE_CLAIM:
        assert event.new is not None
        return "Claims" in plugins and event.new.metadata.name == name
    return "Taints" in plugins and bool(event.action & Action.TOLERATIONS)


class QueueAgainstModel(RuleBasedStateMachine):
    """Pods come, are tried, rejected, woken and go; the model knows who must be where."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.queue = SchedulingQueue(
            clock=self.clock,
            gate=_gate,
            hints=MODEL_HINTS,
            attempts=Attempts(events_max=8),
        )
        self.pods: dict[str, Pod] = {}
        self.fresh: list[str] = []  # never tried and not gated, in the order in which they came
        self.taken: dict[str, QueuedPod] = {}
        self.missed: dict[str, list[ClusterEvent]] = {}  # by those that are being tried
        self.activated: set[str] = set()  # while they were being tried
        self.rejected: dict[str, frozenset[str]] = {}  # and wait for something to happen

    def gated(self) -> set[str]:
        return {name for name, each in self.pods.items() if each.spec.scheduling_gates}

    @rule(name=names, priority=st.integers(0, 2), closed=st.booleans())
    def add(self, name: str, priority: int, closed: bool) -> None:
        if name in self.pods:
            return
        made = pod(name, priority=priority, scheduling_gates=_GATES if closed else ())
        self.pods[name] = made
        self.clock.advance(0.01)
        self.queue.add(made)
        if not closed:
            self.fresh.append(name)

    @rule(name=names, tolerates=st.booleans())
    def update(self, name: str, tolerates: bool) -> None:
        """The pod loses its gate; then it gets a toleration, or something that is no matter."""
        old = self.pods.get(name)
        if old is None:
            return
        tolerations = (*old.spec.tolerations, Toleration()) if tolerates else old.spec.tolerations
        priority = old.spec.priority
        new = self.pods[name] = pod(name, priority=priority, tolerations=tolerations)
        self.queue.update(old, new)
        event = ClusterEvent(POD, Action.TOLERATIONS if tolerates else Action.NONE)
        if old.spec.scheduling_gates:
            self.fresh.append(name)
        elif name in self.missed:
            self.missed[name].append(event)
        elif name in self.rejected and helps(name, self.rejected[name], event):
            del self.rejected[name]

    @rule(name=names)
    def delete(self, name: str) -> None:
        if name in self.pods:
            self.queue.delete(self.pods.pop(name))
            if name in self.fresh:
                self.fresh.remove(name)
            for each in (self.taken, self.missed, self.rejected):
                each.pop(name, None)

    @rule()
    def pop(self) -> None:
        queued = self.queue.pop_ready()
        if queued is None:
            assert not self.fresh
            return
        name = queued.uid
        assert name in self.pods.keys() - self.taken.keys() - self.rejected.keys() - self.gated()
        assert queued.pod is self.pods[name]
        if self.fresh:
            first = max(self.fresh, key=lambda each: self.pods[each].spec.priority or 0)
            assert queued.priority >= (self.pods[first].spec.priority or 0)
            # Those of one priority come in the order in which they were added, gated or not.
            earlier = self.queue.get(first)
            assert name == first or earlier is None or self.before(queued, earlier)
        if name in self.fresh:
            self.fresh.remove(name)
        self.taken[name] = queued
        self.missed[name] = []
        self.activated.discard(name)

    @staticmethod
    def before(one: QueuedPod, other: QueuedPod) -> bool:
        return (-one.priority, one.added_at) <= (-other.priority, other.added_at)

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), plugins=plugins)
    def reject(self, data: st.DataObject, plugins: frozenset[str]) -> None:
        name = data.draw(st.sampled_from(sorted(self.taken)))
        queued, missed = self.taken.pop(name), self.missed.pop(name)
        self.queue.reject(queued, plugins)
        waits = queued.place is Place.UNSCHEDULABLE
        if name in self.activated or any(helps(name, plugins, event) for event in missed):
            assert not waits
        elif len(missed) <= 8:  # of more, some may be forgotten
            assert waits
        if waits:
            self.rejected[name] = plugins

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), bound=st.booleans())
    def end(self, data: st.DataObject, bound: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.taken)))
        del self.missed[name]
        queued = self.taken.pop(name)
        if bound:
            self.queue.done(queued)
            del self.pods[name]
        else:
            self.queue.fail(queued)
            assert queued.place is Place.BACKOFF

    @rule(event=events)
    def move(self, event: ClusterEvent) -> None:
        self.queue.move(event)
        for missed in self.missed.values():
            missed.append(event)
        self.rejected = {
            name: plugins
            for name, plugins in self.rejected.items()
            if not helps(name, plugins, event)
        }

    @rule(name=names)
    def activate(self, name: str) -> None:
        self.queue.activate([name])
        self.rejected.pop(name, None)
        if name in self.missed:
            self.activated.add(name)

    @rule(seconds=st.sampled_from([0.3, 1.0, 11.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def everybody_is_where_they_should_be(self) -> None:
        queue = self.queue
        assert {each.uid for each in queue.pending()} == self.pods.keys() - self.taken.keys()
        assert {each.uid for each in queue.in_flight()} == self.taken.keys()
        counts = queue.counts()
        assert sum(counts.values()) == len(self.pods) - len(self.taken)
        assert counts["gated"] == len(self.gated())
        assert counts["unschedulable"] == len(self.rejected)
        for name, made in self.pods.items():
            found = queue.get(name)
            assert found is not None
            assert found.pod is made

    def teardown(self) -> None:
        """Whatever happened: after a while each pod that may be tried is handed out, once."""
        for queued in self.taken.values():
            self.queue.fail(queued)
        self.clock.advance(600)
        popped = []
        while (one := self.queue.pop_ready()) is not None:
            popped.append(one.uid)
        assert sorted(popped) == sorted(self.pods.keys() - self.gated())
