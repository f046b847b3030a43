"""A pod that wants a node, with the story of its attempts so far.

Only the queue changes one; whoever took it from there reads it. The pod in it is always the newest
that the queue was told of. Upstream counterpart: QueuedPodInfo in pkg/scheduler/framework.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from dray.api.core import Pod

__all__ = ["Place", "QueuedPod"]


class Place(Enum):
    """Where a pod is. Each is in one place at a time."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in-flight"
    GONE = "gone"


@dataclass(slots=True, eq=False)
class QueuedPod:
    """One pod from when the queue learns of it until it is bound or gone. Times are monotonic."""

    pod: Pod
    uid: str
    priority: int
    added_at: float  # when it was last added: at first, or after its last attempt
    attempts: int = 0
    unschedulable_count: int = 0  # rejections, never reset
    consecutive_errors_count: int = 0
    first_tried_at: float | None = None  # when it could have been tried first: not while gated
    rejectors: frozenset[str] = frozenset()  # the plugins that rejected the last attempt
    gate: str | None = None  # why it may not be tried yet
    place: Place = Place.GONE
    ticket: int = field(default=0, repr=False)  # of its entry in a heap; others are stale
    waits_since: float = field(default=0.0, repr=False)
    events_seen: int = field(default=0, repr=False)  # how many there were when the attempt began
    activated: bool = field(default=False, repr=False)  # during the attempt

    @classmethod
    def of(cls, pod: Pod, now: float) -> QueuedPod:
        return cls(pod, pod.metadata.uid, pod.spec.priority or 0, now)
