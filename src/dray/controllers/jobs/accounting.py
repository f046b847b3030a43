"""Counts each pod that ended exactly once, whatever happens in between.

A pod's uid is first written to the job's status as uncounted; then the pod loses its finalizer;
then, in one write, its uid leaves the list and the counter grows. Whoever takes over after any of
these steps knows which have been taken: a uid in the list whose pod has no finalizer is to be
counted, and a pod with a finalizer whose uid is not in the list has not been begun with. For an
indexed job its completed indexes are list and counter in one. Upstream's:
trackJobStatusAndRemoveFinalizers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dray.api.batch import (
    JOB_CONDITION_FAILURE_TARGET,
    JobCondition,
    JobStatus,
    UncountedTerminatedPods,
)
from dray.api.core import POD_PHASE_SUCCEEDED, Pod
from dray.api.wire import replace
from dray.controllers.jobs.failure_policy import judge
from dray.controllers.jobs.look import Look
from dray.controllers.jobs.pods import (
    completion_index,
    has_valid_index,
    is_failed,
    is_indexed,
    is_tracked,
)

__all__ = ["UNCOUNTED_PODS_MAX", "Account", "count_released", "draw_up"]

# Upstream's: more uids would make a status of more than 20 kB.
UNCOUNTED_PODS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class Account:
    """The status to write first, the pods to release then, and whether these are all."""

    status: JobStatus
    released: Sequence[Pod]
    is_complete: bool
    actions: Mapping[str, int]  # of rules for failed pods, and of how many pods each


def draw_up(look: Look, status: JobStatus, ending: JobCondition | None) -> Account:
    """What of a look is to be counted. With an ending, all that still runs counts as failed."""
    indexed = is_indexed(look.job)
    tracked = [pod for pod in look.pods if is_tracked(pod)]
    if indexed:
        tracked.sort(key=completion_index)
    status = count_released(status, {pod.metadata.uid for pod in tracked})
    listed = status.uncounted_terminated_pods or UncountedTerminatedPods()
    known_succeeded, known_failed = frozenset(listed.succeeded), frozenset(listed.failed)
    succeeded, failed = list(listed.succeeded), list(listed.failed)
    succeeded_indexes_count = 0
    released: list[Pod] = []
    actions: Counter[str] = Counter()
    is_complete = True
    failing = ending is not None and ending.type == JOB_CONDITION_FAILURE_TARGET
    for pod in tracked:
        counts_as_failed = is_failed(pod, look.job)
        if not _may_go(look, pod, ending, counts_as_failed):
            continue
        released.append(pod)
        uid = pod.metadata.uid
        if pod.status.phase == POD_PHASE_SUCCEEDED and uid not in known_failed:
            if not indexed:
                if uid not in known_succeeded:
                    succeeded.append(uid)
            elif (
                has_valid_index(pod, look.job) and completion_index(pod) not in look.counted_indexes
            ):
                succeeded_indexes_count += 1
        elif (counts_as_failed or failing) and uid not in known_failed:
            verdict = judge(look.job.spec.pod_failure_policy, pod)
            if has_valid_index(pod, look.job):
                actions[verdict.action] += bool(verdict.action)
                if verdict.counts:
                    failed.append(uid)
        if succeeded_indexes_count + len(succeeded) + len(failed) >= UNCOUNTED_PODS_MAX:
            is_complete = False
            break
    status = replace(
        status,
        uncounted_terminated_pods=UncountedTerminatedPods(
            succeeded=tuple(succeeded), failed=tuple(failed)
        ),
    )
    if indexed:
        status = _with_indexes(look, status)
    return Account(status, released, is_complete, +actions)


def count_released(status: JobStatus, tracked: Collection[str]) -> JobStatus:
    """The status with all those counted that are listed and no longer among the tracked."""
    listed = status.uncounted_terminated_pods or UncountedTerminatedPods()
    succeeded = tuple(uid for uid in listed.succeeded if uid in tracked)
    failed = tuple(uid for uid in listed.failed if uid in tracked)
    return replace(
        status,
        succeeded=status.succeeded + len(listed.succeeded) - len(succeeded),
        failed=status.failed + len(listed.failed) - len(failed),
        uncounted_terminated_pods=UncountedTerminatedPods(succeeded=succeeded, failed=failed),
    )


def _may_go(look: Look, pod: Pod, ending: JobCondition | None, counts_as_failed: bool) -> bool:
    """Whether nothing needs the pod any more once it is counted."""
    if look.job.metadata.deletion_timestamp is not None or ending is not None:
        return True
    if pod.status.phase == POD_PHASE_SUCCEEDED:
        return True
    if not counts_as_failed:
        return False
    kept = look.kept.get(completion_index(pod))
    return kept is None or kept.metadata.uid != pod.metadata.uid


def _with_indexes(look: Look, status: JobStatus) -> JobStatus:
    failed = look.failed_indexes
    return replace(
        status,
        succeeded=len(look.succeeded_indexes),
        completed_indexes=str(look.succeeded_indexes),
        failed_indexes=None if failed is None else str(failed),
    )
