"""Conditions of jobs."""

from __future__ import annotations

from datetime import timedelta

from dray.api.batch import JobStatus
from dray.controllers.jobs.conditions import (
    CONDITION_FALSE,
    ending_begun,
    final_condition,
    finished_condition,
    make_condition,
    with_condition,
)
from tests.unit.controllers.jobs.job_parts import NOW, make_job

LATER = NOW + timedelta(seconds=5)
TARGET = make_condition("FailureTarget", "DeadlineExceeded", "too long", NOW)
MET = make_condition("SuccessCriteriaMet", "SuccessPolicy", "enough", NOW)


def test_what_is_the_case_already_keeps_its_time() -> None:
    again = make_condition("FailureTarget", "DeadlineExceeded", "too long", LATER)
    assert with_condition((TARGET,), again) == (TARGET,)


def test_what_changed_takes_the_place_of_what_was() -> None:
    changed = make_condition("FailureTarget", "Other", "else", LATER)
    assert with_condition((TARGET, MET), changed) == (changed, MET)


def test_what_never_was_is_not_denied() -> None:
    denied = make_condition("Suspended", "JobResumed", "Job resumed", NOW, status=CONDITION_FALSE)
    assert with_condition((), denied) == ()
    suspended = make_condition("Suspended", "JobSuspended", "Job suspended", NOW)
    assert with_condition((suspended,), denied) == (denied,)


def test_an_ending_leads_to_its_end() -> None:
    failed = final_condition(TARGET, LATER)
    assert (failed.type, failed.reason, failed.message) == (
        "Failed",
        "DeadlineExceeded",
        "too long",
    )
    assert final_condition(MET, LATER).type == "Complete"
    assert finished_condition(make_job(JobStatus(conditions=(TARGET,)))) is None
    assert finished_condition(make_job(JobStatus(conditions=(TARGET, failed)))) == failed


def test_of_two_endings_success_stands() -> None:
    assert ending_begun((TARGET, MET)) == MET
    assert ending_begun((TARGET,)) == TARGET
    assert ending_begun(()) is None
