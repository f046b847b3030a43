"""What a pod says about itself as a pod of a job.

A pod carries a finalizer until it has been counted, so that none goes uncounted; and, if its job is
indexed, its index and how often the index failed before, so that this survives the controller.
"""

from __future__ import annotations

from typing import Final

from dray.api.batch import COMPLETION_INDEXED, POD_REPLACEMENT_FAILED, Job
from dray.api.core import POD_PHASE_FAILED, POD_PHASE_SUCCEEDED, Pod

__all__ = [
    "COMPLETION_INDEX",
    "INDEX_FAILURE_COUNT",
    "INDEX_IGNORED_FAILURE_COUNT",
    "NO_INDEX",
    "TRACKING_FINALIZER",
    "completion_index",
    "has_valid_index",
    "index_failures",
    "index_ignored_failures",
    "is_failed",
    "is_indexed",
    "is_tracked",
    "replaces_failed_only",
]

TRACKING_FINALIZER: Final = "batch.kubernetes.io/job-tracking"
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-ignored-failure-count"

NO_INDEX: Final = -1
_INT32_MAX: Final = 2**31 - 1


def is_indexed(job: Job) -> bool:
    """Whether each pod has a part of the work of its own."""
    return job.spec.completion_mode == COMPLETION_INDEXED


def replaces_failed_only(job: Job) -> bool:
    """Whether a pod is replaced when it has ended, not already when it is asked to."""
    return job.spec.pod_replacement_policy == POD_REPLACEMENT_FAILED


def is_tracked(pod: Pod) -> bool:
    """Whether it has not been counted yet."""
    return TRACKING_FINALIZER in pod.metadata.finalizers


def is_failed(pod: Pod, job: Job) -> bool:
    """Whether it counts as failed; one that is deleted may never come to say so itself."""
    if pod.status.phase == POD_PHASE_FAILED:
        return True
    if replaces_failed_only(job):
        return False
    going = pod.metadata.deletion_timestamp is not None
    return going and pod.status.phase != POD_PHASE_SUCCEEDED


def completion_index(pod: Pod) -> int:
    """Its part of the work; NO_INDEX if it does not say."""
    text = pod.metadata.annotations.get(COMPLETION_INDEX, "")
    return int(text) if text.isascii() and text.isdecimal() else NO_INDEX


def has_valid_index(pod: Pod, job: Job) -> bool:
    """Whether it does a part of the work that there is; for jobs without parts, any does."""
    if not is_indexed(job):
        return True
    return 0 <= completion_index(pod) < (job.spec.completions or 0)


def index_failures(pod: Pod) -> int:
    """How often its index had failed, in a way that counts, when it was made."""
    return _count(pod, INDEX_FAILURE_COUNT)


def index_ignored_failures(pod: Pod) -> int:
    """How often its index had failed in a way that was ignored."""
    return _count(pod, INDEX_IGNORED_FAILURE_COUNT)


def _count(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    count = int(text) if text.isascii() and text.isdecimal() else 0
    return count if count <= _INT32_MAX else 0
