"""What a job's status may say."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.batch import JobCondition, JobStatus, UncountedTerminatedPods
from dray.api.wire import Time
from dray.validation.job_status import has_condition
from tests.unit.validation.workload_builders import job, status_updated, with_status

EARLY, LATE = Time.parse("2024-01-01T00:00:00Z"), Time.parse("2024-01-02T00:00:00Z")
INDEXED: dict[str, Any] = {
    "completion_mode": "Indexed",
    "completions": 5,
    "backoff_limit_per_index": 1,
}


def conditions(*types: str) -> tuple[JobCondition, ...]:
    return tuple(JobCondition(type=type_, status="True") for type_ in types)


COMPLETE: dict[str, Any] = {
    "start_time": EARLY,
    "completion_time": LATE,
    "conditions": conditions("SuccessCriteriaMet", "Complete"),
}
FAILED: dict[str, Any] = {
    "start_time": EARLY,
    "conditions": conditions("FailureTarget", "Failed"),
}


def written(new: dict[str, Any], old: dict[str, Any] | None = None, **spec: Any) -> list[str]:
    made = job(**spec)
    return status_updated(with_status(made, **new), with_status(made, **(old or {})))


@pytest.mark.parametrize("status", [{"active": 2, "ready": 1}, COMPLETE, FAILED])
def test_what_a_controller_reports(status: dict[str, Any]) -> None:
    assert written(status) == []
    assert written(status, status) == []


@pytest.mark.parametrize(
    ("status", "texts"),
    [
        pytest.param(
            {**COMPLETE, "conditions": conditions("Complete")},
            [
                (
                    "status.conditions: Invalid value: cannot set Complete=True condition without "
                    "the SuccessCriteriaMet=true condition"
                )
            ],
            id="done-for-no-reason",
        ),
        pytest.param(
            {**FAILED, "conditions": conditions("Failed")},
            [
                (
                    "status.conditions: Invalid value: cannot set Failed=True condition without "
                    "the FailureTarget=true condition"
                )
            ],
            id="failed-for-no-reason",
        ),
        pytest.param(
            {"conditions": conditions("SuccessCriteriaMet", "FailureTarget")},
            [
                (
                    "status.conditions: Invalid value: "
                    "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"
                )
            ],
            id="both-ways",
        ),
        pytest.param(
            {**COMPLETE, "completion_time": None},
            ["status.completionTime: Required value: completionTime is required for Complete jobs"],
            id="done-at-no-time",
        ),
        pytest.param(
            {"completion_time": LATE},
            [
                (
                    'status.completionTime: Invalid value: "2024-01-02T00:00:00Z": '
                    "cannot set completionTime when there is no Complete=True condition"
                )
            ],
            id="time-of-nothing",
        ),
        pytest.param(
            {**COMPLETE, "start_time": LATE, "completion_time": EARLY},
            [
                (
                    'status.completionTime: Invalid value: "2024-01-01T00:00:00Z": '
                    "must be equal to or after `startTime`"
                )
            ],
            id="done-before-it-began",
        ),
        pytest.param(
            {**COMPLETE, "active": 1, "terminating": 1},
            [
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
                "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
            ],
            id="done-but-running",
        ),
        pytest.param(
            {**COMPLETE, "uncounted_terminated_pods": UncountedTerminatedPods(failed=("a",))},
            [
                (
                    "status.uncountedTerminatedPods: Invalid value: "
                    '{"Succeeded":null,"Failed":["a"]}: must be empty for finished job'
                )
            ],
            id="done-but-not-counted",
        ),
        pytest.param(
            {"ready": 2, "active": 1},
            ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
            id="ready-but-not-there",
        ),
        pytest.param(
            {"completed_indexes": "0"},
            [
                (
                    'status.completedIndexes: Invalid value: "0": '
                    "cannot set non-empty completedIndexes when non-indexed completion mode"
                )
            ],
            id="indexes-of-nothing",
        ),
    ],
)
def test_what_a_status_may_not_say(status: dict[str, Any], texts: list[str]) -> None:
    assert written(status) == texts


def test_every_pod_is_counted_once() -> None:
    pods = UncountedTerminatedPods(succeeded=("a", "a"), failed=("a", ""))
    assert written({"uncounted_terminated_pods": pods}) == [
        'status.uncountedTerminatedPods.succeeded[1]: Duplicate value: "a"',
        'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
        'status.uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty',
    ]


def test_no_index_both_fails_and_completes() -> None:
    assert written({"completed_indexes": "0-2", "failed_indexes": "2"}, **INDEXED) == [
        (
            'status.failedIndexes: Invalid value: "2": '
            "failedIndexes and completedIndexes overlap at index: 2"
        )
    ]


def test_lists_of_indexes_can_be_read() -> None:
    assert written({"completed_indexes": "9"}, **INDEXED) == [
        (
            'status.completedIndexes: Invalid value: "9": '
            'error parsing completedIndexes: too large index: "9"'
        )
    ]


@pytest.mark.parametrize(
    ("new", "old", "text"),
    [
        pytest.param(
            {}, {"failed": 1}, "failed: Invalid value: 0: cannot decrease the failed", id="failed"
        ),
        pytest.param(
            {}, {"succeeded": 1}, "succeeded: Invalid value: 0: cannot decrease", id="succeeded"
        ),
        pytest.param(
            {"start_time": LATE},
            {"start_time": EARLY},
            'startTime: Invalid value: "2024-01-02T00:00:00Z": field is immutable for unsuspended',
            id="start",
        ),
        pytest.param(
            {**COMPLETE, "completion_time": EARLY},
            COMPLETE,
            'completionTime: Invalid value: "2024-01-01T00:00:00Z": field is immutable',
            id="end",
        ),
        pytest.param(
            {"start_time": EARLY},
            {"start_time": EARLY, "conditions": conditions("SuccessCriteriaMet")},
            "conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
            id="criteria",
        ),
        pytest.param(
            {"start_time": EARLY},
            FAILED | {"conditions": conditions("FailureTarget")},
            "conditions: Invalid value: cannot disable the terminal FailureTarget=True condition",
            id="terminal",
        ),
    ],
)
def test_what_cannot_be_taken_back(new: dict[str, Any], old: dict[str, Any], text: str) -> None:
    (error,) = written(new, old)
    assert error.startswith(f"status.{text}")


def test_an_odd_status_does_not_get_anybody_stuck() -> None:
    odd: dict[str, Any] = {"completed_indexes": "9", "ready": 5, "completion_time": LATE}
    assert written({**odd, "failed": 1}, odd) == []


def test_a_resumed_job_starts_anew() -> None:
    suspended: dict[str, Any] = {"start_time": EARLY, "conditions": conditions("Suspended")}
    resumed = JobCondition(type="Suspended", status="False")
    assert written({"start_time": LATE, "conditions": (resumed,)}, suspended) == []


def test_a_job_as_wide_as_long_may_be_scaled_down() -> None:
    scalable: dict[str, Any] = {**INDEXED, "parallelism": 5}
    assert written({"succeeded": 1}, {"succeeded": 2}, **scalable) == []


def test_a_condition_is_there_with_its_status() -> None:
    status = JobStatus(conditions=conditions("Complete"))
    assert has_condition(status, "Complete")
    assert not has_condition(status, "Complete", "False")
    assert not has_condition(status, "Failed")
