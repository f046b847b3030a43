"""What controllers ask of a pod: whether it counts, is ready, is available.

Upstream counterparts: IsPodActive and its kin in pkg/controller, IsPodAvailable in pkg/api/v1/pod.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from dray.api.core import (
    POD_CONDITION_READY,
    POD_PHASE_FAILED,
    POD_PHASE_SUCCEEDED,
    Pod,
    PodCondition,
)

__all__ = [
    "is_active",
    "is_available",
    "is_ready",
    "is_terminal",
    "is_terminating",
    "pod_condition",
    "ready_since",
    "seconds_to_available",
]

_TERMINAL: Final = frozenset({POD_PHASE_SUCCEEDED, POD_PHASE_FAILED})


def is_terminal(pod: Pod) -> bool:
    """Whether it has ended, in whichever way."""
    return pod.status.phase in _TERMINAL


def is_active(pod: Pod) -> bool:
    """Whether it runs or may yet, and nobody asked it to stop."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in _TERMINAL


def is_terminating(pod: Pod) -> bool:
    """Whether it was asked to stop and has not yet."""
    return pod.metadata.deletion_timestamp is not None and pod.status.phase not in _TERMINAL


def pod_condition(pod: Pod, type_: str) -> PodCondition | None:
    """The pod's condition of a type."""
    for condition in pod.status.conditions:
        if condition.type == type_:
            return condition
    return None


def is_ready(pod: Pod) -> bool:
    """Whether the pod says it can serve."""
    condition = pod_condition(pod, POD_CONDITION_READY)
    return condition is not None and condition.status == "True"


def ready_since(pod: Pod) -> datetime | None:
    """Since when the pod is ready; None if it is not, or does not say."""
    condition = pod_condition(pod, POD_CONDITION_READY)
    if condition is None or condition.status != "True" or condition.last_transition_time is None:
        return None
    return condition.last_transition_time.instant


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Whether it has been ready for so long."""
    if min_ready_seconds <= 0:
        return is_ready(pod)
    since = ready_since(pod)
    return since is not None and since + timedelta(seconds=min_ready_seconds) <= now


def seconds_to_available(
    pods: Iterable[Pod], min_ready_seconds: int, now: datetime
) -> float | None:
    """When the next of these becomes available just by staying ready; None if none will."""
    if min_ready_seconds <= 0:
        return None
    waits = (
        (since + timedelta(seconds=min_ready_seconds) - now).total_seconds()
        for since in map(ready_since, pods)
        if since is not None
    )
    return min((wait for wait in waits if wait > 0), default=None)
