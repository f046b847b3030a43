"""The conditions of a job.

A job that is to end says so first (FailureTarget, SuccessCriteriaMet), and that it has ended
(Failed, Complete) once all its pods are counted and gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from dray.api.batch import (
    JOB_CONDITION_COMPLETE,
    JOB_CONDITION_FAILED,
    JOB_CONDITION_FAILURE_TARGET,
    JOB_CONDITION_SUCCESS_CRITERIA_MET,
    Job,
    JobCondition,
)
from dray.api.wire import Time

__all__ = [
    "CONDITION_FALSE",
    "CONDITION_TRUE",
    "ending_begun",
    "final_condition",
    "finished_condition",
    "make_condition",
    "with_condition",
]

CONDITION_TRUE: Final = "True"
CONDITION_FALSE: Final = "False"

_FINAL: Final = {
    JOB_CONDITION_FAILURE_TARGET: JOB_CONDITION_FAILED,
    JOB_CONDITION_SUCCESS_CRITERIA_MET: JOB_CONDITION_COMPLETE,
}


def make_condition(
    type_: str, reason: str, message: str, now: datetime, *, status: str = CONDITION_TRUE
) -> JobCondition:
    time = Time(now)
    return JobCondition(
        type=type_,
        status=status,
        last_probe_time=time,
        last_transition_time=time,
        reason=reason,
        message=message,
    )


def finished_condition(job: Job) -> JobCondition | None:
    """What says that the job has ended, if it has."""
    return _true(job.status.conditions, *_FINAL.values())


def ending_begun(conditions: Sequence[JobCondition]) -> JobCondition | None:
    """What says that the job is to end, if it has been decided; of both, success."""
    return _true(conditions, JOB_CONDITION_SUCCESS_CRITERIA_MET) or _true(
        conditions, JOB_CONDITION_FAILURE_TARGET
    )


def final_condition(ending: JobCondition, now: datetime) -> JobCondition:
    """What the job says once it has ended as was decided."""
    return make_condition(_FINAL[ending.type], ending.reason, ending.message, now)


def with_condition(
    conditions: Sequence[JobCondition], wanted: JobCondition
) -> tuple[JobCondition, ...]:
    """With the condition among them; it stays as it is if it says the same.

    What was never the case is not said to be no longer the case.
    """
    for index, each in enumerate(conditions):
        if each.type == wanted.type:
            told = (each.status, each.reason, each.message)
            if told == (wanted.status, wanted.reason, wanted.message):
                return tuple(conditions)
            return (*conditions[:index], wanted, *conditions[index + 1 :])
    if wanted.status == CONDITION_FALSE:
        return tuple(conditions)
    return (*conditions, wanted)


def _true(conditions: Sequence[JobCondition], *types: str) -> JobCondition | None:
    for condition in conditions:
        if condition.type in types and condition.status == CONDITION_TRUE:
            return condition
    return None
