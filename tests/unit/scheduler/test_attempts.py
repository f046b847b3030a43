"""What happened during an attempt is known until it ends, or known to be lost."""

from __future__ import annotations

from dray.scheduler.attempts import Attempts
from dray.scheduler.cluster_events import POD, Action, ClusterEvent
from tests.unit.scheduler.queued import node_added, pod, queued

FIRST, SECOND, THIRD = (node_added(f"node-{number}") for number in range(3))


def test_an_attempt_sees_what_happened_since_it_began() -> None:
    attempts = Attempts()
    early, late = queued("early"), queued("late")
    attempts.begin(early)
    attempts.record(FIRST)
    attempts.begin(late)
    attempts.record(SECOND)
    assert list(attempts.events_during(early)) == [SECOND, FIRST]
    assert list(attempts.events_during(late)) == [SECOND]


def test_events_that_no_attempt_needs_are_forgotten() -> None:
    attempts = Attempts()
    early, late = queued("early"), queued("late")
    attempts.begin(early)
    attempts.record(FIRST)
    attempts.begin(late)
    attempts.record(SECOND)
    attempts.end(early)
    assert attempts.events_count == 1
    assert list(attempts.events_during(late)) == [SECOND]
    attempts.end(late)
    assert attempts.events_count == 0


def test_without_an_attempt_nothing_is_kept() -> None:
    attempts = Attempts()
    attempts.record(FIRST)
    assert attempts.events_count == 0


def test_an_attempt_that_outlives_its_events_is_told_so() -> None:
    attempts = Attempts(events_max=2)
    long, short = queued("long"), queued("short")
    attempts.begin(long)
    attempts.record(FIRST)
    attempts.begin(short)
    attempts.record(SECOND)
    assert not attempts.overran(long)
    attempts.record(THIRD)
    assert attempts.overran(long)
    assert not attempts.overran(short)
    assert list(attempts.events_during(short)) == [THIRD, SECOND]
    attempts.end(long)
    assert not attempts.overran(short)
    assert list(attempts.events_during(short)) == [THIRD, SECOND]


def test_changes_of_the_pod_itself_become_one() -> None:
    attempts = Attempts()
    mine, other = queued("mine"), queued("other")
    attempts.begin(mine)
    attempts.begin(other)
    versions = [pod("mine", labels={"version": str(number)}) for number in range(3)]
    attempts.record_update(mine, ClusterEvent(POD, Action.LABELS, versions[0], versions[1]))
    attempts.record_update(mine, ClusterEvent(POD, Action.TOLERATIONS, versions[1], versions[2]))
    both = Action.LABELS | Action.TOLERATIONS
    assert list(attempts.events_during(mine)) == [ClusterEvent(POD, both, versions[0], versions[2])]
    assert not list(attempts.events_during(other))
