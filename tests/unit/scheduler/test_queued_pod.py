"""A pod at the beginning of its story."""

from __future__ import annotations

from dray.scheduler.queued_pod import Place, QueuedPod
from tests.unit.scheduler.queued import pod


def test_a_new_one_was_never_tried() -> None:
    queued = QueuedPod.of(pod("a", priority=7), 3.0)
    assert (queued.uid, queued.priority, queued.added_at) == ("a", 7, 3.0)
    assert (queued.attempts, queued.first_tried_at, queued.place) == (0, None, Place.GONE)


def test_a_pod_without_priority_has_priority_zero() -> None:
    assert QueuedPod.of(pod("a"), 0.0).priority == 0
