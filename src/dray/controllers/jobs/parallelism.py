"""How many pods of a job run at a time: which are too many, and which are missing.

Of the two only one is done at a time, and what is too many goes first. Upstream's: manageJob.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dray.api.core import Pod
from dray.controllers.deletion_order import by_progress
from dray.controllers.jobs.backoff import Backoff, finished_at
from dray.controllers.jobs.look import Look
from dray.controllers.jobs.pods import (
    NO_INDEX,
    completion_index,
    has_valid_index,
    index_failures,
    index_ignored_failures,
    is_indexed,
    replaces_failed_only,
)
from dray.controllers.pod_control import BURST_PODS_MAX

__all__ = ["Plan", "plan_pods"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Pods to delete, indexes to make pods for (NO_INDEX where there are none), time to wait."""

    surplus: Sequence[Pod] = ()
    missing: Sequence[int] = ()
    wait_seconds: float | None = None  # until failures are long enough ago


def plan_pods(look: Look) -> Plan:
    """What to do about the job's pods now."""
    job, active_count = look.job, len(look.active)
    if job.spec.suspend:
        return Plan(surplus=look.active)
    wanted = _wanted_count(look)
    surplus = _surplus(look, max(active_count - wanted, 0))
    if surplus:
        return Plan(surplus=surplus[:BURST_PODS_MAX])
    terminating_count = len(look.terminating) if replaces_failed_only(job) else 0
    missing_count = wanted - terminating_count - active_count
    if missing_count <= 0:
        return Plan()
    return _missing(look, missing_count)


def _wanted_count(look: Look) -> int:
    spec = look.job.spec
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        return len(look.active) if look.succeeded_count else parallelism
    return max(0, min(spec.completions - look.succeeded_count, parallelism))


def _surplus(look: Look, count: int) -> list[Pod]:
    """At least so many pods to delete, and all that do what others do or nobody asked for."""
    surplus: list[Pod] = []
    left: Sequence[Pod] = look.active
    if is_indexed(look.job):
        by_index: dict[int, list[Pod]] = {}
        for pod in look.active:
            valid = has_valid_index(pod, look.job)
            by_index.setdefault(completion_index(pod) if valid else NO_INDEX, []).append(pod)
        surplus += by_index.pop(NO_INDEX, [])
        best: list[Pod] = []
        for _index, pods in sorted(by_index.items()):
            *others, last = by_progress(pods) if len(pods) > 1 else pods
            surplus += others
            best.append(last)
        left = best
    if len(surplus) < count:
        surplus += by_progress(left)[: count - len(surplus)]
    return surplus


def _missing(look: Look, count: int) -> Plan:
    count = min(count, BURST_PODS_MAX)
    per_index = look.failed_indexes is not None
    if not per_index:
        wait = look.backoff.remaining_seconds(look.now)
        if wait > 0:
            return Plan(wait_seconds=wait)
    if not is_indexed(look.job):
        return Plan(missing=[NO_INDEX] * count)
    indexes = look.busy_indexes().missing(look.job.spec.completions or 0, count)
    if not per_index:
        return Plan(missing=indexes)
    waits = {index: _index_wait(look, index) for index in indexes}
    return Plan(
        missing=[index for index in indexes if waits[index] <= 0],
        wait_seconds=min((wait for wait in waits.values() if wait > 0), default=None),
    )


def _index_wait(look: Look, index: int) -> float:
    """How long an index waits that has a backoff of its own."""
    pod = look.kept.get(index)
    if pod is None:
        return 0.0
    failures = index_failures(pod) + index_ignored_failures(pod) + 1
    return Backoff(failures, finished_at(pod)).remaining_seconds(look.now)
