"""Who is tried next, who waits for what, and that nobody is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from dray.api.core import Pod, PodCondition, PodSchedulingGate, PodStatus, Toleration
from dray.errors import InternalError
from dray.scheduler.attempts import Attempts
from dray.scheduler.cluster_events import (
    GATE,
    NODE,
    POD,
    RESOURCE_CLAIM,
    Action,
    ClusterEvent,
    Interest,
)
from dray.scheduler.queue import SchedulingQueue
from dray.scheduler.queued_pod import Place, QueuedPod
from dray.testing import FakeClock
from tests.unit.scheduler.queue_model import QueueAgainstModel
from tests.unit.scheduler.queued import node_added, pod

FIT = frozenset({"Fit"})
TAINTS = frozenset({"Taints"})
HINTS = {
    "Fit": {NODE: None},
    "Taints": {POD: Interest(Action.TOLERATIONS)},
    GATE: {RESOURCE_CLAIM: None},
}
CLAIM_ADDED = ClusterEvent(RESOURCE_CLAIM, Action.ADD)


def gate(pod: Pod) -> str | None:
    names = ", ".join(each.name for each in pod.spec.scheduling_gates)
    return f"waiting for scheduling gates: {names}" if names else None


def gated(name: str, **fields: Any) -> Pod:
    return pod(name, scheduling_gates=(PodSchedulingGate(name="x"),), **fields)


class Stage:
    """A queue, its clock, and short words for what tests do."""

    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock()
        self.queue = SchedulingQueue(clock=self.clock, **{"gate": gate, "hints": HINTS, **options})

    def add(self, *names: str) -> None:
        for name in names:
            self.queue.add(pod(name))

    def pop(self) -> QueuedPod:
        queued = self.queue.pop_ready()
        assert queued is not None
        return queued

    def pop_all(self) -> list[str]:
        names = []
        while (queued := self.queue.pop_ready()) is not None:
            names.append(queued.uid)
        return names

    def rejected(self, name: str, plugins: frozenset[str] = FIT) -> QueuedPod:
        self.add(name)
        queued = self.pop()
        self.queue.reject(queued, plugins)
        return queued

    def counts(self) -> tuple[int, ...]:
        """Active, backing off, unschedulable, gated."""
        return tuple(self.queue.counts().values())


@pytest.fixture
def stage() -> Stage:
    return Stage()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 5))


# Order -------------------------------------------------------------------------------------------


def test_the_highest_priority_is_tried_first_then_the_oldest(stage: Stage) -> None:
    for name, priority in (("a", 0), ("b", 10), ("c", 10), ("d", -5)):
        stage.queue.add(pod(name, priority=priority))
        stage.clock.advance(1)
    assert stage.pop_all() == ["b", "c", "a", "d"]


def test_a_changed_priority_counts(stage: Stage) -> None:
    stage.add("a", "b")
    stage.queue.update(pod("b"), pod("b", priority=1))
    assert stage.pop_all() == ["b", "a"]


def test_a_pod_that_is_being_tried_is_not_handed_out_again(stage: Stage) -> None:
    stage.add("a")
    stage.pop()
    stage.add("a")
    stage.queue.activate(["a"])
    stage.queue.move(node_added())
    assert stage.pop_all() == []
    assert [each.uid for each in stage.queue.in_flight()] == ["a"]


def test_pop_waits_for_a_pod(stage: Stage) -> None:
    async def scenario() -> None:
        popped = asyncio.ensure_future(stage.queue.pop())
        await asyncio.sleep(0)
        assert not popped.done()
        stage.add("a")
        assert (await popped).uid == "a"

    run(scenario())


# After an attempt --------------------------------------------------------------------------------


def test_what_is_done_is_forgotten(stage: Stage) -> None:
    stage.add("a")
    queued = stage.pop()
    stage.queue.done(queued)
    stage.queue.done(queued)
    assert stage.queue.get("a") is None
    assert not list(stage.queue.pending())


def test_what_is_rejected_waits_until_a_rejecting_plugin_sees_a_change(stage: Stage) -> None:
    fit = stage.rejected("fit")
    taints = stage.rejected("taints", TAINTS)
    assert stage.counts() == (0, 0, 2, 0)
    assert stage.queue.unschedulable_by_plugin() == {"Fit": 1, "Taints": 1}
    stage.queue.move(node_added())
    assert (fit.place, taints.place) == (Place.BACKOFF, Place.UNSCHEDULABLE)


def test_who_has_rested_is_active_at_once(stage: Stage) -> None:
    queued = stage.rejected("a")
    stage.clock.advance(2)
    stage.queue.move(node_added())
    assert queued.place is Place.ACTIVE


def test_who_rests_is_tried_early_when_nobody_else_is_to_be(stage: Stage) -> None:
    stage.rejected("tired")
    stage.queue.move(node_added())
    stage.add("fresh")
    assert stage.pop_all() == ["fresh", "tired"]


def test_after_an_error_nobody_is_tried_early(stage: Stage) -> None:
    async def scenario() -> None:
        stage.add("a")
        stage.queue.fail(stage.pop())
        assert stage.counts() == (0, 1, 0, 0)
        popped = asyncio.ensure_future(stage.queue.pop())
        await asyncio.sleep(0)
        stage.clock.advance(1.9)
        await asyncio.sleep(0)
        assert not popped.done()
        stage.clock.advance(0.1)
        queued = await popped
        assert (queued.attempts, queued.consecutive_errors_count) == (2, 1)

    run(scenario())


def test_a_rejection_without_plugins_is_an_error(stage: Stage) -> None:
    stage.add("a")
    queued = stage.pop()
    stage.queue.reject(queued, frozenset())
    assert (queued.consecutive_errors_count, queued.unschedulable_count) == (1, 0)


def test_a_rejection_ends_a_row_of_errors_and_not_the_count_of_rejections(stage: Stage) -> None:
    queued = stage.rejected("a")
    stage.queue.activate(["a"])
    stage.queue.fail(stage.pop())
    assert (queued.consecutive_errors_count, queued.unschedulable_count) == (1, 1)
    stage.clock.advance(2)
    stage.queue.reject(stage.pop(), FIT)
    assert (queued.consecutive_errors_count, queued.unschedulable_count) == (0, 2)


def test_who_is_resting_in_the_same_second_is_ordered_by_priority(stage: Stage) -> None:
    for name, priority in (("low", 1), ("high", 2)):
        stage.queue.add(pod(name, priority=priority))
    high, low = stage.pop(), stage.pop()
    stage.queue.reject(low, FIT)
    stage.clock.advance(0.5)
    stage.queue.reject(high, FIT)
    stage.queue.move(node_added())
    assert stage.pop_all() == ["high", "low"]


def test_what_was_not_taken_cannot_be_given_back(stage: Stage) -> None:
    queued = stage.rejected("a")
    with pytest.raises(InternalError, match='pod "default/a" is unschedulable'):
        stage.queue.fail(queued)


def test_who_waits_longer_than_five_minutes_is_tried_anyway(stage: Stage) -> None:
    async def scenario() -> None:
        stage.rejected("a", frozenset({"Taints"}))
        popped = asyncio.ensure_future(stage.queue.pop())
        for _ in range(10):
            await asyncio.sleep(0)
            stage.clock.advance(30)
        await asyncio.sleep(0)
        assert not popped.done()  # it is five minutes, not more
        stage.clock.advance(30)
        assert (await popped).uid == "a"
        assert stage.queue.incoming["active", "UnschedulableTimeout"] == 1

    run(scenario())


# Events during an attempt ------------------------------------------------------------------------


def test_what_happens_during_an_attempt_is_not_missed(stage: Stage) -> None:
    stage.add("a")
    queued = stage.pop()
    stage.queue.move(node_added())
    stage.queue.reject(queued, FIT)
    assert queued.place is Place.BACKOFF


def test_what_happened_before_an_attempt_does_not_count(stage: Stage) -> None:
    stage.add("other", "a")
    stage.pop()
    stage.queue.move(node_added())
    queued = stage.pop()
    stage.queue.reject(queued, FIT)
    assert queued.place is Place.UNSCHEDULABLE


def test_its_own_update_during_an_attempt_counts(stage: Stage) -> None:
    stage.add("a")
    queued = stage.pop()
    tolerant = pod("a", tolerations=(Toleration(key="x"),))
    stage.queue.update(pod("a"), tolerant)
    assert queued.pod is tolerant
    stage.queue.reject(queued, TAINTS)
    assert queued.place is Place.BACKOFF


def test_being_activated_during_an_attempt_counts(stage: Stage) -> None:
    stage.add("a")
    queued = stage.pop()
    stage.queue.activate(["a"])
    stage.queue.reject(queued, TAINTS)
    assert queued.place is Place.BACKOFF


def test_who_outlived_the_events_that_are_kept_is_tried_again() -> None:
    stage = Stage(attempts=Attempts(events_max=3))
    stage.add("a")
    queued = stage.pop()
    for number in range(4):
        stage.queue.move(node_added(f"node-{number}"))
    stage.queue.reject(queued, TAINTS)
    assert queued.place is Place.BACKOFF


def test_a_pod_deleted_during_an_attempt_does_not_come_back(stage: Stage) -> None:
    stage.add("a", "b")
    for give_back in (stage.queue.fail, lambda queued: stage.queue.reject(queued, FIT)):
        queued = stage.pop()
        stage.queue.delete(queued.pod)
        give_back(queued)
    assert not list(stage.queue.pending())
    assert not list(stage.queue.in_flight())


# Updates -----------------------------------------------------------------------------------------


def test_an_unschedulable_pod_is_tried_again_only_after_an_update_that_matters(
    stage: Stage,
) -> None:
    queued = stage.rejected("a", TAINTS)
    told = pod("a", status=PodStatus(conditions=(PodCondition(type="PodScheduled"),)))
    stage.queue.update(pod("a"), told)
    labelled = pod("a", labels={"app": "x"})
    stage.queue.update(told, labelled)
    assert (queued.place, queued.pod) == (Place.UNSCHEDULABLE, labelled)
    tolerant = pod("a", tolerations=(Toleration(key="x"),))
    stage.queue.update(labelled, tolerant)
    assert (queued.place, queued.pod) == (Place.BACKOFF, tolerant)


def test_an_unknown_pod_that_changes_is_added(stage: Stage) -> None:
    stage.queue.update(pod("a"), pod("a"))
    assert stage.pop_all() == ["a"]


def test_another_pod_of_the_same_name_takes_its_place(stage: Stage) -> None:
    stage.add("old")
    stage.queue.update(pod("old"), pod("new"))
    assert stage.pop_all() == ["new"]


@pytest.mark.parametrize("place", [place for place in Place if place is not Place.GONE])
def test_a_deleted_pod_is_nowhere(stage: Stage, place: Place) -> None:
    stage.queue.add(gated("a") if place is Place.GATED else pod("a"))
    if place in (Place.IN_FLIGHT, Place.BACKOFF, Place.UNSCHEDULABLE):
        queued = stage.pop()
        if place is not Place.IN_FLIGHT:
            stage.queue.reject(queued, FIT)
        if place is Place.BACKOFF:
            stage.queue.move(node_added())
    found = stage.queue.get("a")
    assert found is not None
    assert found.place is place
    stage.queue.delete(pod("a"))
    assert stage.counts() == (0, 0, 0, 0)
    assert stage.pop_all() == []
    assert stage.queue.get("a") is None


# Activation --------------------------------------------------------------------------------------


def test_who_is_activated_is_tried_at_once(stage: Stage) -> None:
    stage.rejected("a")
    stage.add("b")
    stage.queue.fail(stage.pop())
    assert stage.counts() == (0, 1, 1, 0)
    stage.queue.activate(["a", "b", "unknown"])
    assert stage.counts() == (2, 0, 0, 0)


# Gates -------------------------------------------------------------------------------------------


def test_a_gated_pod_is_kept_apart_with_the_reason(stage: Stage) -> None:
    stage.queue.add(gated("a"))
    assert stage.counts() == (0, 0, 0, 1)
    assert [each.gate for each in stage.queue.pending()] == ["waiting for scheduling gates: x"]
    assert stage.pop_all() == []


def test_a_gated_pod_that_changes_is_judged_anew(stage: Stage) -> None:
    stage.queue.add(gated("a"))
    stage.queue.update(gated("a"), gated("a", labels={"app": "x"}))
    assert stage.counts() == (0, 0, 0, 1)
    stage.clock.advance(10)
    stage.queue.update(gated("a"), pod("a"))
    queued = stage.pop()
    assert (queued.gate, queued.added_at, queued.first_tried_at) == (None, 0.0, 10.0)


def test_what_a_gate_listens_to_has_gated_pods_judged_anew() -> None:
    missing = {"claim"}
    stage = Stage(gate=lambda _: "could not find it" if missing else None)
    stage.add("a")
    missing.clear()
    stage.queue.move(node_added())
    assert stage.counts() == (0, 0, 0, 1)
    stage.queue.move(CLAIM_ADDED)
    assert stage.counts() == (1, 0, 0, 0)


def test_without_hints_for_the_gate_every_event_has_gated_pods_judged_anew() -> None:
    missing = {"claim"}
    stage = Stage(gate=lambda _: "could not find it" if missing else None, hints={})
    stage.add("a")
    missing.clear()
    stage.queue.move(node_added())
    assert stage.counts() == (1, 0, 0, 0)


def test_a_pod_may_become_gated_when_it_is_to_be_tried_again() -> None:
    missing: set[str] = set()
    stage = Stage(gate=lambda _: "could not find it" if missing else None)
    queued = stage.rejected("a")
    missing.add("claim")
    stage.queue.move(node_added())
    assert (queued.place, queued.gate) == (Place.GATED, "could not find it")
    stage.queue.activate(["a"])
    assert stage.counts() == (0, 0, 0, 1)
    missing.clear()
    stage.queue.activate(["a"])
    assert stage.counts() == (1, 0, 0, 0)


def test_how_pods_came_where_they_are_is_counted(stage: Stage) -> None:
    stage.queue.add(gated("gated"))
    stage.rejected("a")
    stage.queue.move(node_added())
    stage.clock.advance(2)
    stage.pop()
    assert dict(stage.queue.incoming) == {
        ("active", "UnscheduledPodAdd"): 1,
        ("unschedulable", "UnscheduledPodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "NodeAdd"): 1,
        ("active", "BackoffComplete"): 1,
    }


# Against a model ---------------------------------------------------------------------------------

TestQueueAgainstModel = pytest.mark.slow(QueueAgainstModel.TestCase)
