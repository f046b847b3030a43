"""Which pods go first when there are too many: those that would be missed least.

Upstream counterparts: ActivePods and ActivePodsWithRanks in pkg/controller.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from dray.api.core import (
    POD_PHASE_PENDING,
    POD_PHASE_RUNNING,
    POD_PHASE_UNKNOWN,
    Pod,
)
from dray.controllers.pod_states import is_active, is_ready, ready_since

__all__ = ["POD_DELETION_COST", "by_deletion_cost", "by_progress"]

POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"

_PHASES: Final = {POD_PHASE_PENDING: 0, POD_PHASE_UNKNOWN: 1, POD_PHASE_RUNNING: 2}
_COST_MAX: Final = 2**31 - 1
_EVER: Final = datetime.max.replace(tzinfo=UTC)


def by_progress(pods: Iterable[Pod]) -> list[Pod]:
    """The pods that have come the least far first; of equals, the newest."""

    def key(pod: Pod) -> tuple[Any, ...]:
        ready, created = ready_since(pod), pod.metadata.creation_timestamp
        return (
            *_stage(pod),
            -_seconds(ready),
            *_restarts(pod),
            -_seconds(created.instant if created else None),
        )

    return sorted(pods, key=key)


def by_deletion_cost(pods: Sequence[Pod], related: Iterable[Pod], now: datetime) -> list[Pod]:
    """As `by_progress`, but what annotations say, and having company on the node, come first.

    `related` are all pods that do the same work: of the same deployment, say. Ages are compared
    by their magnitude only, so that among pods about as old chance decides, by uid: the newest are
    often the ones on the newest nodes, and all would go at once. Unlike upstream, restarts decide
    before uids do among pods about as long ready: otherwise the order would depend on the order in
    which pods are compared.
    """
    company = Counter(pod.spec.node_name for pod in related if is_active(pod))

    def key(pod: Pod) -> tuple[Any, ...]:
        ready, created = ready_since(pod), pod.metadata.creation_timestamp
        return (
            *_stage(pod),
            _cost(pod),
            -company[pod.spec.node_name],
            _magnitude(ready, now),
            *_restarts(pod),
            _magnitude(created.instant if created else None, now),
            pod.metadata.uid,
        )

    return sorted(pods, key=key)


def _stage(pod: Pod) -> tuple[bool, int, bool]:
    return bool(pod.spec.node_name), _PHASES.get(pod.status.phase, 0), is_ready(pod)


def _restarts(pod: Pod) -> tuple[int, int]:
    """Those of the container that was restarted most, and of such a sidecar: more go first."""
    sidecars = {each.name for each in pod.spec.init_containers if each.restart_policy == "Always"}
    status = pod.status
    regular = max((each.restart_count for each in status.container_statuses), default=0)
    sidecar = max(
        (each.restart_count for each in status.init_container_statuses if each.name in sidecars),
        default=0,
    )
    return -regular, -sidecar


def _cost(pod: Pod) -> int:
    text = pod.metadata.annotations.get(POD_DELETION_COST, "")
    try:
        cost = int(text) if text and not text.startswith(("+", "0")) else 0
    except ValueError:
        return 0
    return cost if -_COST_MAX - 1 <= cost <= _COST_MAX else 0


def _seconds(instant: datetime | None) -> float:
    """Of an instant, where none at all counts as later than any."""
    return (instant or _EVER).timestamp()


def _magnitude(instant: datetime | None, now: datetime) -> int:
    """Of an age, in powers of two of nanoseconds; what has none counts as the youngest."""
    if instant is None:
        return -2
    age = (now - instant).total_seconds() * 1e9
    return int(math.log2(age)) if age > 0 else -1
