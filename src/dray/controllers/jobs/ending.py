"""Whether a job is to end, and why.

What was decided once stands. Then failures come before successes: a job that has both is failed.
That all completions are there is not asked here, but after it is known whether pods still run.
"""

from __future__ import annotations

from datetime import timedelta

from dray.api.batch import (
    JOB_CONDITION_FAILURE_TARGET,
    JOB_CONDITION_SUCCESS_CRITERIA_MET,
    JOB_REASON_BACKOFF_LIMIT_EXCEEDED,
    JOB_REASON_COMPLETIONS_REACHED,
    JOB_REASON_DEADLINE_EXCEEDED,
    JOB_REASON_FAILED_INDEXES,
    JOB_REASON_MAX_FAILED_INDEXES_EXCEEDED,
    JOB_REASON_POD_FAILURE_POLICY,
    JOB_REASON_SUCCESS_POLICY,
    Job,
    JobCondition,
)
from dray.api.core import POD_PHASE_PENDING, POD_PHASE_RUNNING
from dray.controllers.jobs.conditions import ending_begun, make_condition
from dray.controllers.jobs.failure_policy import judge
from dray.controllers.jobs.look import Look
from dray.controllers.jobs.pods import is_failed, is_indexed
from dray.controllers.jobs.success_policy import met_rule

__all__ = ["completed", "find_ending", "seconds_to_deadline"]


def find_ending(look: Look) -> JobCondition | None:
    """The condition that says that, and why, the job is to end; None if it goes on."""
    begun = ending_begun(look.job.status.conditions)
    return begun or _failure(look) or _index_failure(look) or _success(look)


def completed(look: Look, active_count: int) -> JobCondition | None:
    """The condition that says that everything is done, if it is and nothing runs any more."""
    wanted = look.job.spec.completions
    # Without a number, one success means that the work is done, and the others finish theirs.
    enough = look.succeeded_count > 0 if wanted is None else look.succeeded_count >= wanted
    if not enough or active_count:
        return None
    return make_condition(
        JOB_CONDITION_SUCCESS_CRITERIA_MET,
        JOB_REASON_COMPLETIONS_REACHED,
        "Reached expected number of succeeded pods",
        look.now,
    )


def seconds_to_deadline(look: Look) -> float | None:
    """How long the job may still take; None if it may take for ever, or its time stands still."""
    job = look.job
    seconds, start = job.spec.active_deadline_seconds, job.status.start_time
    if seconds is None or start is None or job.spec.suspend:
        return None
    return (start.instant + timedelta(seconds=seconds) - look.now).total_seconds()


def _failure(look: Look) -> JobCondition | None:
    job = look.job
    if job.spec.pod_failure_policy is not None:
        for pod in look.pods:
            if is_failed(pod, job):
                message = judge(job.spec.pod_failure_policy, pod).job_failure
                if message is not None:
                    return _failed(look, JOB_REASON_POD_FAILURE_POLICY, message)
    if look.failed_count > (job.spec.backoff_limit or 0) or _restarts_exceed(look):
        message = "Job has reached the specified backoff limit"
        return _failed(look, JOB_REASON_BACKOFF_LIMIT_EXCEEDED, message)
    left = seconds_to_deadline(look)
    if left is not None and left <= 0:
        message = "Job was active longer than specified deadline"
        return _failed(look, JOB_REASON_DEADLINE_EXCEEDED, message)
    return None


def _index_failure(look: Look) -> JobCondition | None:
    if look.failed_indexes is None:
        return None
    spec, failed_count = look.job.spec, len(look.failed_indexes)
    if spec.max_failed_indexes is not None and failed_count > spec.max_failed_indexes:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return _failed(look, JOB_REASON_MAX_FAILED_INDEXES_EXCEEDED, message)
    if failed_count and failed_count + len(look.succeeded_indexes) >= (spec.completions or 0):
        return _failed(look, JOB_REASON_FAILED_INDEXES, "Job has failed indexes")
    return None


def _success(look: Look) -> JobCondition | None:
    job = look.job
    if not is_indexed(job):
        return None
    rule = met_rule(job.spec.success_policy, job.spec.completions or 0, look.succeeded_indexes)
    if rule is None:
        return None
    return make_condition(
        JOB_CONDITION_SUCCESS_CRITERIA_MET,
        JOB_REASON_SUCCESS_POLICY,
        f"Matched rules at index {rule}",
        look.now,
    )


def _restarts_exceed(look: Look) -> bool:
    """Whether containers that are restarted in their pods were so too often, all together."""
    job: Job = look.job
    if job.spec.template.spec.restart_policy != "OnFailure":
        return False
    count = 0
    for pod in look.pods:
        if pod.status.phase in (POD_PHASE_RUNNING, POD_PHASE_PENDING):
            count += sum(each.restart_count for each in pod.status.init_container_statuses)
            count += sum(each.restart_count for each in pod.status.container_statuses)
    limit = job.spec.backoff_limit or 0
    return count > 0 if limit == 0 else count >= limit


def _failed(look: Look, reason: str, message: str) -> JobCondition:
    return make_condition(JOB_CONDITION_FAILURE_TARGET, reason, message, look.now)
