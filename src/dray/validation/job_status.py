"""What a job's status may say, given what it said before.

Most rules are about what changes: a status that is odd already can still be written, so that
whoever counts pods never gets stuck. Upstream counterparts: ValidateJobStatusUpdate in
pkg/apis/batch/validation, getStatusValidationOptions in pkg/registry/batch/job.
"""

from __future__ import annotations

from typing import Final

from dray.api.batch import (
    COMPLETION_INDEXED,
    JOB_CONDITION_COMPLETE,
    JOB_CONDITION_FAILED,
    JOB_CONDITION_FAILURE_TARGET,
    JOB_CONDITION_SUCCESS_CRITERIA_MET,
    JOB_CONDITION_SUSPENDED,
    Job,
    JobStatus,
    UncountedTerminatedPods,
)
from dray.api.core import CONDITION_FALSE, CONDITION_TRUE
from dray.api.equality import semantically_equal
from dray.errors import OMITTED, ParseError
from dray.validation.counts import check_not_negative
from dray.validation.findings import Findings
from dray.validation.job_indexes import count_indexes, first_overlap
from dray.validation.rules import IMMUTABLE
from dray.validation.shown import as_internal

__all__ = ["check_job_status_update", "has_condition"]

_TERMINAL: Final = (JOB_CONDITION_FAILED, JOB_CONDITION_COMPLETE, JOB_CONDITION_FAILURE_TARGET)
_CONDITIONS: Final = "status.conditions"


def has_condition(status: JobStatus, type_: str, value: str = CONDITION_TRUE) -> bool:
    return any((each.type, each.status) == (type_, value) for each in status.conditions)


def check_job_status_update(found: Findings, new: Job, old: Job) -> None:
    """The new status by itself, and then as the successor of the old one."""
    change = _Change(new, old)
    _check_counts(found, new.status)
    _check_ends(found, change)
    _check_finished(found, change)
    _check_indexes(found, change)
    _check_rest(found, change)
    _check_succession(found, change)


class _Change:
    """Two statuses of one job, and what differs."""

    def __init__(self, new: Job, old: Job) -> None:
        self.spec = new.spec
        self.new, self.old = new.status, old.status
        self.complete = has_condition(self.new, JOB_CONDITION_COMPLETE)
        self.failed = has_condition(self.new, JOB_CONDITION_FAILED)
        self.failure_target = has_condition(self.new, JOB_CONDITION_FAILURE_TARGET)
        self.success_met = has_condition(self.new, JOB_CONDITION_SUCCESS_CRITERIA_MET)
        self.finished = self.complete or self.failed
        self.completes = self.turns(JOB_CONDITION_COMPLETE)
        self.fails = self.turns(JOB_CONDITION_FAILED)
        self.finishes = self.finished != (
            has_condition(self.old, JOB_CONDITION_COMPLETE)
            or has_condition(self.old, JOB_CONDITION_FAILED)
        )

    def turns(self, type_: str) -> bool:
        return has_condition(self.new, type_) != has_condition(self.old, type_)

    def of(self, *names: str) -> bool:
        """Whether one of these fields differs."""
        return any(
            not semantically_equal(getattr(self.new, name), getattr(self.old, name))
            for name in names
        )


def _check_counts(found: Findings, status: JobStatus) -> None:
    for name, count in (
        ("active", status.active),
        ("succeeded", status.succeeded),
        ("failed", status.failed),
        ("ready", status.ready),
        ("terminating", status.terminating),
    ):
        check_not_negative(found, count, f"status.{name}")
    pods = status.uncounted_terminated_pods or UncountedTerminatedPods()
    seen: set[str] = set()
    for name, uids in (("succeeded", pods.succeeded), ("failed", pods.failed)):
        for index, uid in enumerate(uids):
            at = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                found.invalid(at, uid, "must not be empty")
            elif uid in seen:
                found.duplicate(at, uid)
            seen.add(uid)


def _check_ends(found: Findings, change: _Change) -> None:
    """Conditions that exclude or need each other, and the time of completion."""
    status, complete, failed = change.new, change.complete, change.failed
    if (change.completes or change.fails) and complete and failed:
        found.invalid(_CONDITIONS, OMITTED, "cannot set Complete=True and Failed=true conditions")
    turns = change.completes or change.turns(JOB_CONDITION_FAILURE_TARGET)
    if turns and complete and change.failure_target:
        detail = "cannot set Complete=True and FailureTarget=true conditions"
        found.invalid(_CONDITIONS, OMITTED, detail)
    end, at = status.completion_time, "status.completionTime"
    if change.completes or change.of("completion_time"):
        if end is not None and not complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            found.invalid(at, str(end), detail)
        if end is None and complete:
            found.required(at, "completionTime is required for Complete jobs")
    if change.of("start_time", "completion_time"):
        start = status.start_time
        if start is not None and end is not None and end < start:
            found.invalid(at, str(end), "must be equal to or after `startTime`")
    if (change.fails or change.of("failed_indexes")) and failed and not change.failure_target:
        detail = "cannot set Failed=True condition without the FailureTarget=true condition"
        found.invalid(_CONDITIONS, OMITTED, detail)
    turns = change.completes or change.turns(JOB_CONDITION_SUCCESS_CRITERIA_MET)
    if turns and complete and not change.success_met:
        detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        found.invalid(_CONDITIONS, OMITTED, detail)


def _check_finished(found: Findings, change: _Change) -> None:
    """What a job that is over has left behind."""
    status = change.new
    if not change.finished:
        return
    if (change.finishes or change.of("active")) and status.active > 0:
        found.invalid("status.active", status.active, "active>0 is invalid for finished job")
    never_started = bool(change.spec.suspend) and change.spec.completions == 0
    start_matters = (change.finishes or change.of("start_time")) and not never_started
    if start_matters and status.start_time is None:
        found.required("status.startTime", "startTime is required for finished job")
    pods = status.uncounted_terminated_pods
    pods_matter = change.finishes or change.of("uncounted_terminated_pods")
    if pods_matter and pods is not None and (pods.succeeded or pods.failed):
        at = "status.uncountedTerminatedPods"
        found.invalid(at, as_internal(pods), "must be empty for finished job")


def _check_indexes(found: Findings, change: _Change) -> None:
    spec, completed, failed = change.spec, change.new.completed_indexes, change.new.failed_indexes
    completed_changes, failed_changes = change.of("completed_indexes"), change.of("failed_indexes")
    at_completed, at_failed = "status.completedIndexes", "status.failedIndexes"
    limited = spec.backoff_limit_per_index is not None
    if completed_changes and spec.completions is not None:
        _check_list(found, completed, spec.completions, at_completed)
    if failed_changes and spec.completions is not None and limited and failed is not None:
        _check_list(found, failed, spec.completions, at_failed)
    if completed_changes and completed and spec.completion_mode != COMPLETION_INDEXED:
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        found.invalid(at_completed, completed, detail)
    if failed_changes and failed is not None and not limited:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        found.invalid(at_failed, failed, detail)
    if (failed_changes or completed_changes) and spec.completions is not None and failed:
        index = first_overlap(completed, failed, spec.completions)
        if index is not None:
            detail = f"failedIndexes and completedIndexes overlap at index: {index}"
            found.invalid(at_failed, failed, detail)


def _check_list(found: Findings, indexes: str, completions: int, path: str) -> None:
    try:
        count_indexes(indexes, completions)
    except ParseError as error:
        name = path.removeprefix("status.")
        found.invalid(path, indexes, f"error parsing {name}: {error.rule}")


def _check_rest(found: Findings, change: _Change) -> None:
    status = change.new
    terminating, ready = status.terminating or 0, status.ready or 0
    if change.finished and (change.finishes or change.of("terminating")) and terminating > 0:
        detail = "terminating>0 is invalid for finished job"
        found.invalid("status.terminating", terminating, detail)
    if change.of("ready", "active") and status.ready is not None and ready > status.active:
        found.invalid("status.ready", ready, "cannot set more ready pods than active")
    if change.success_met:
        for other, set_ in (("Failed", change.failed), ("FailureTarget", change.failure_target)):
            if set_:
                detail = f"cannot set SuccessCriteriaMet=True and {other}=true conditions"
                found.invalid(_CONDITIONS, OMITTED, detail)
    elif change.spec.success_policy is not None and change.complete:
        detail = (
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        )
        found.invalid(_CONDITIONS, OMITTED, detail)


def _check_succession(found: Findings, change: _Change) -> None:
    """What cannot be taken back."""
    spec, new, old = change.spec, change.new, change.old
    for type_ in _TERMINAL:
        if has_condition(old, type_) and not has_condition(new, type_):
            detail = f"cannot disable the terminal {type_}=True condition"
            found.invalid(_CONDITIONS, OMITTED, detail)
    if new.failed < old.failed:
        found.invalid("status.failed", new.failed, "cannot decrease the failed counter")
    # Indexed jobs of as many pods as completions can be scaled down.
    scalable = spec.completion_mode == COMPLETION_INDEXED and spec.completions == spec.parallelism
    if new.succeeded < old.succeeded and not scalable:
        found.invalid("status.succeeded", new.succeeded, "cannot decrease the succeeded counter")
    if new.completion_time and old.completion_time not in (None, new.completion_time):
        found.invalid("status.completionTime", str(new.completion_time), IMMUTABLE)
    _check_start(found, change)
    met_before = has_condition(old, JOB_CONDITION_SUCCESS_CRITERIA_MET)
    if met_before and not change.success_met:
        detail = "cannot disable the SuccessCriteriaMet=True condition"
        found.invalid(_CONDITIONS, OMITTED, detail)
    if has_condition(old, JOB_CONDITION_COMPLETE) and not met_before and change.success_met:
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        found.invalid(_CONDITIONS, OMITTED, detail)


def _check_start(found: Findings, change: _Change) -> None:
    new, old = change.new.start_time, change.old.start_time
    resumes = has_condition(change.old, JOB_CONDITION_SUSPENDED) and has_condition(
        change.new, JOB_CONDITION_SUSPENDED, CONDITION_FALSE
    )
    if old is None or new == old or change.spec.suspend or resumes:
        return
    detail = "field is immutable for unsuspended job once set"
    found.invalid("status.startTime", None if new is None else str(new), detail)
