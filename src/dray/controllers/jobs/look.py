"""One look at a job: its pods, sorted and counted, the way every decision about it needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from dray.api.batch import POD_FAILURE_POLICY_FAIL_INDEX, Job, UncountedTerminatedPods
from dray.api.core import POD_PHASE_SUCCEEDED, Pod
from dray.controllers.jobs.backoff import Backoff, finished_at
from dray.controllers.jobs.failure_policy import judge
from dray.controllers.jobs.indexes import Indexes
from dray.controllers.jobs.pods import (
    completion_index,
    has_valid_index,
    index_failures,
    index_ignored_failures,
    is_failed,
    is_indexed,
    is_tracked,
    replaces_failed_only,
)
from dray.controllers.pod_states import is_active, is_ready, is_terminating

__all__ = ["Look", "look_at"]

_Ended = Callable[[Pod, Job], bool]


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a job at one time."""

    job: Job
    pods: Sequence[Pod]
    now: datetime
    active: Sequence[Pod]
    terminating: Sequence[Pod]
    ready_count: int
    succeeded_count: int
    failed_count: int  # as far as failures count
    counted_indexes: Indexes  # that succeeded, by the job's status
    succeeded_indexes: Indexes  # with those of pods that are not counted yet
    failed_indexes: Indexes | None  # None if indexes do not fail by themselves
    backoff: Backoff
    kept: dict[int, Pod]  # the last failed pod of an index, until the next one knows its count

    def busy_indexes(self) -> Indexes:
        """Indexes that need no pod: done, given up, or with one that is at work."""
        busy = set(map(completion_index, self.active))
        if replaces_failed_only(self.job):
            busy.update(map(completion_index, self.terminating))
        found = self.succeeded_indexes | Indexes.of(index for index in busy if index >= 0)
        return found | self.failed_indexes if self.failed_indexes is not None else found


def look_at(job: Job, pods: Sequence[Pod], backoff: Backoff, now: datetime) -> Look:
    """Look at a job that has these pods; `backoff` is what it was the last time."""
    uncounted = job.status.uncounted_terminated_pods or UncountedTerminatedPods()
    active = [pod for pod in pods if is_active(pod)]
    succeeded = _new(job, pods, uncounted.succeeded, _has_succeeded)
    failed = _new(job, pods, uncounted.failed, is_failed)
    policy = job.spec.pod_failure_policy
    failing_count = sum(judge(policy, pod).counts for pod in failed)
    succeeded_count = job.status.succeeded + len(succeeded) + len(uncounted.succeeded)
    counted = succeeded_indexes = Indexes()
    failed_indexes: Indexes | None = None
    kept: dict[int, Pod] = {}
    if is_indexed(job):
        completions = job.spec.completions or 0
        counted = Indexes.parse(job.status.completed_indexes, completions)
        done = [pod for pod in _countable(job, pods) if pod.status.phase == POD_PHASE_SUCCEEDED]
        succeeded_indexes = counted | Indexes.of(map(completion_index, done))
        succeeded_count = len(succeeded_indexes)
        if job.spec.backoff_limit_per_index is not None:
            failed_indexes = _failed_indexes(job, pods)
            over = succeeded_indexes | failed_indexes | _indexes(active)
            kept = _kept(job, pods, over)
    return Look(
        job=job,
        pods=pods,
        now=now,
        active=active,
        terminating=[pod for pod in pods if is_terminating(pod)],
        ready_count=sum(map(is_ready, active)),
        succeeded_count=succeeded_count,
        failed_count=job.status.failed + failing_count + len(uncounted.failed),
        counted_indexes=counted,
        succeeded_indexes=succeeded_indexes,
        failed_indexes=failed_indexes,
        backoff=backoff.after(succeeded, failed),
        kept=kept,
    )


def _has_succeeded(pod: Pod, _job: Job) -> bool:
    return pod.status.phase == POD_PHASE_SUCCEEDED


def _countable(job: Job, pods: Sequence[Pod]) -> list[Pod]:
    return [pod for pod in pods if is_tracked(pod) and has_valid_index(pod, job)]


def _new(job: Job, pods: Sequence[Pod], uncounted: Sequence[str], ended: _Ended) -> list[Pod]:
    """Pods that have ended so and that the job's status does not know of."""
    known = frozenset(uncounted)
    return [
        pod for pod in _countable(job, pods) if pod.metadata.uid not in known and ended(pod, job)
    ]


def _indexes(pods: Sequence[Pod]) -> Indexes:
    return Indexes.of(index for index in set(map(completion_index, pods)) if index >= 0)


def _failed_indexes(job: Job, pods: Sequence[Pod]) -> Indexes:
    known = Indexes.parse(job.status.failed_indexes or "", job.spec.completions or 0)
    failed = [pod for pod in _countable(job, pods) if _fails_index(job, pod)]
    return known | Indexes.of(set(map(completion_index, failed)))


def _fails_index(job: Job, pod: Pod) -> bool:
    if not is_failed(pod, job):
        return False
    verdict = judge(job.spec.pod_failure_policy, pod)
    if verdict.action == POD_FAILURE_POLICY_FAIL_INDEX:
        return True
    limit = job.spec.backoff_limit_per_index
    return verdict.counts and limit is not None and index_failures(pod) >= limit


def _kept(job: Job, pods: Sequence[Pod], over: Indexes) -> dict[int, Pod]:
    kept: dict[int, Pod] = {}
    for pod in _countable(job, pods):
        index = completion_index(pod)
        if index in over or not is_failed(pod, job):
            continue
        known = kept.get(index)
        if known is None or (
            _all_failures(known) <= _all_failures(pod) and finished_at(known) <= finished_at(pod)
        ):
            kept[index] = pod
    return kept


def _all_failures(pod: Pod) -> int:
    return index_failures(pod) + index_ignored_failures(pod)
