"""How long a job waits before it makes another pod after failures in a row.

Ten seconds, and twice as long with each more, up to ten minutes; counted from when the last pod
failed, not from when that was noticed. Upstream's: backoff_utils.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from dray.api.core import POD_CONDITION_READY, ContainerStatus, Pod
from dray.controllers.pod_states import pod_condition

__all__ = ["NO_FAILURES", "Backoff", "finished_at"]

BACKOFF_SECONDS_MIN: Final = 10.0
BACKOFF_SECONDS_MAX: Final = 600.0

# The most doublings that still make a difference.
_DOUBLINGS_MAX: Final = 6
_NEVER: Final = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Failures since the last success, and when the last of them was."""

    failures_count: int = 0
    failed_at: datetime | None = None

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> Backoff:
        """What it is once these have ended as well; those that failed before a success are past."""
        times = sorted(map(finished_at, failed))
        count = self.failures_count
        if succeeded:
            last = max(map(finished_at, succeeded))
            times = [time for time in times if time > last]
            count = 0
            if not times:
                return NO_FAILURES
        if not times:
            return self
        return Backoff(count + len(times), times[-1])

    def remaining_seconds(self, now: datetime) -> float:
        """How long to wait from now on."""
        if not self.failures_count or self.failed_at is None:
            return 0.0
        doublings = min(self.failures_count - 1, _DOUBLINGS_MAX)
        seconds = min(BACKOFF_SECONDS_MIN * 2.0**doublings, BACKOFF_SECONDS_MAX)
        return max(0.0, seconds - (now - self.failed_at).total_seconds())


NO_FAILURES: Final = Backoff()


def finished_at(pod: Pod) -> datetime:
    """When a pod ended, by the best that it says: containers, readiness, its deletion, its making.

    What the node ends says one of the first two; what was orphaned is deleted by the collector.
    """
    ended = _containers_ended(pod)
    if ended is not None:
        return ended
    ready = pod_condition(pod, POD_CONDITION_READY)
    if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
        return ready.last_transition_time.instant
    metadata = pod.metadata
    if metadata.deletion_timestamp is not None:
        grace = timedelta(seconds=metadata.deletion_grace_period_seconds or 0)
        return metadata.deletion_timestamp.instant - grace
    created = metadata.creation_timestamp
    return created.instant if created is not None else _NEVER


def _containers_ended(pod: Pod) -> datetime | None:
    """When the last container ended, sidecars included; None if one has not, or does not say."""
    sidecars = {each.name for each in pod.spec.init_containers if each.restart_policy == "Always"}
    status = pod.status
    statuses: Iterable[ContainerStatus] = (
        *status.container_statuses,
        *(each for each in status.init_container_statuses if each.name in sidecars),
    )
    times: list[datetime] = []
    for each in statuses:
        ended = each.state.terminated
        if ended is None or ended.finished_at is None:
            return None
        times.append(ended.finished_at.instant)
    return max(times, default=None)
