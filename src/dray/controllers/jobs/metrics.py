"""What is counted about jobs, under upstream's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dray.api.batch import (
    COMPLETION_NON_INDEXED,
    JOB_CONDITION_COMPLETE,
    Job,
    JobCondition,
    JobStatus,
)
from dray.metrics import Family

__all__ = ["JobMetrics"]

SUCCEEDED: Final = "succeeded"
FAILED: Final = "failed"


class JobMetrics:
    """Counters of one controller."""

    def __init__(self) -> None:
        self._jobs = Family(
            "job_controller_jobs_finished_total",
            "Jobs that ended.",
            kind="counter",
            labels=("completion_mode", "result", "reason"),
        )
        self._pods = Family(
            "job_controller_job_pods_finished_total",
            "Pods that ended and are counted.",
            kind="counter",
            labels=("completion_mode", "result"),
        )
        self._failures = Family(
            "job_controller_pod_failures_handled_by_failure_policy_total",
            "Failed pods that a rule of their job's policy was about.",
            kind="counter",
            labels=("action",),
        )
        self._creations = Family(
            "job_controller_job_pods_creation_total",
            "Pods that were to be made, and whether they were.",
            kind="counter",
            labels=("reason", "status"),
        )

    def families(self) -> Sequence[Family]:
        return self._jobs, self._pods, self._failures, self._creations

    def finished(self, job: Job, final: JobCondition) -> None:
        """A job has ended."""
        result = SUCCEEDED if final.type == JOB_CONDITION_COMPLETE else FAILED
        self._jobs.add(_mode(job), result, final.reason)

    def counted(self, job: Job, before: JobStatus, after: JobStatus) -> None:
        """Pods were counted: what a job's status says has grown."""
        for result, count in (
            (SUCCEEDED, after.succeeded - before.succeeded),
            (FAILED, after.failed - before.failed),
        ):
            if count > 0:
                self._pods.add(_mode(job), result, amount=count)

    def judged(self, actions: Mapping[str, int]) -> None:
        """Rules were about so many failures."""
        for action, count in actions.items():
            self._failures.add(action, amount=count)

    def created(self, reason: str, *, made: int, failed: int) -> None:
        """Pods were made; `reason` is new, recreate_terminating_or_failed or recreate_failed."""
        if made:
            self._creations.add(reason, SUCCEEDED, amount=made)
        if failed:
            self._creations.add(reason, FAILED, amount=failed)


def _mode(job: Job) -> str:
    return job.spec.completion_mode or COMPLETION_NON_INDEXED
