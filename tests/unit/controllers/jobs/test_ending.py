"""Why jobs end; what endings lead to is told in test_controller."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dray.api.batch import Job, JobStatus, SuccessPolicy, SuccessPolicyRule
from dray.api.core import Pod
from dray.api.wire import Time
from dray.controllers.jobs.backoff import NO_FAILURES
from dray.controllers.jobs.conditions import make_condition
from dray.controllers.jobs.ending import completed, find_ending, seconds_to_deadline
from dray.controllers.jobs.look import look_at
from tests.unit.controllers.jobs.job_parts import NOW, make_job, make_pod

STARTED = JobStatus(start_time=Time(NOW - timedelta(seconds=60)))
FAILED = make_pod("f", "Failed", index=0)
DONE = make_pod("s", "Succeeded", index=1)
ONE_IS_ENOUGH = SuccessPolicy(rules=(SuccessPolicyRule(succeeded_count=1),))
INDEXED: dict[str, Any] = {"completion_mode": "Indexed", "completions": 3}
TARGET = make_condition("FailureTarget", "DeadlineExceeded", "too long", NOW)


@pytest.mark.parametrize(
    ("job", "pods", "reason"),
    [
        pytest.param(make_job(), [FAILED], "", id="goes-on"),
        pytest.param(make_job(backoff_limit=0), [FAILED], "BackoffLimitExceeded", id="failures"),
        pytest.param(make_job(STARTED, active_deadline_seconds=61), [], "", id="in-time"),
        pytest.param(
            make_job(STARTED, active_deadline_seconds=60), [], "DeadlineExceeded", id="too-late"
        ),
        pytest.param(
            make_job(STARTED, active_deadline_seconds=60, suspend=True), [], "", id="suspended"
        ),
        pytest.param(
            make_job(backoff_limit_per_index=0, **INDEXED), [FAILED, DONE], "", id="an-index-failed"
        ),
        pytest.param(
            make_job(backoff_limit_per_index=0, max_failed_indexes=0, **INDEXED),
            [FAILED, DONE],
            "MaxFailedIndexesExceeded",
            id="too-many-indexes",
        ),
        pytest.param(
            make_job(backoff_limit_per_index=0, **INDEXED | {"completions": 2}),
            [FAILED, DONE],
            "FailedIndexes",
            id="nothing-left-to-do",
        ),
        pytest.param(
            make_job(success_policy=ONE_IS_ENOUGH, **INDEXED), [DONE], "SuccessPolicy", id="enough"
        ),
        pytest.param(
            make_job(success_policy=ONE_IS_ENOUGH, backoff_limit=0, **INDEXED),
            [FAILED, DONE],
            "BackoffLimitExceeded",
            id="failure-before-success",
        ),
        pytest.param(
            make_job(JobStatus(conditions=(TARGET,)), success_policy=ONE_IS_ENOUGH, **INDEXED),
            [DONE],
            "DeadlineExceeded",
            id="what-was-decided-stands",
        ),
    ],
)
def test_a_job_ends_for_the_first_reason_there_is(job: Job, pods: list[Pod], reason: str) -> None:
    ending = find_ending(look_at(job, pods, NO_FAILURES, NOW))
    assert (ending.reason if ending else "") == reason


@pytest.mark.parametrize(
    ("spec", "pods_count", "active_count", "done"),
    [
        ({"completions": 2}, 2, 0, True),
        ({"completions": 2}, 1, 0, False),
        ({"completions": 2}, 2, 1, False),
        ({"completions": 0}, 0, 0, True),
        ({"completions": None}, 1, 0, True),
        ({"completions": None}, 0, 0, False),
    ],
)
def test_a_job_is_done_when_enough_succeeded_and_nothing_runs(
    spec: dict[str, Any], pods_count: int, active_count: int, done: bool
) -> None:
    pods = [make_pod(f"s{number}", "Succeeded") for number in range(pods_count)]
    look = look_at(make_job(**spec), pods, NO_FAILURES, NOW)
    assert (completed(look, active_count) is not None) is done


def test_the_deadline_is_counted_from_the_start() -> None:
    job = make_job(STARTED, active_deadline_seconds=100)
    assert seconds_to_deadline(look_at(job, [], NO_FAILURES, NOW)) == 40
