"""Which pods are too many, and which are missing."""

from __future__ import annotations

import pytest

from dray.api.core import Pod
from dray.controllers.jobs.backoff import NO_FAILURES, Backoff
from dray.controllers.jobs.look import look_at
from dray.controllers.jobs.parallelism import Plan, plan_pods
from dray.controllers.jobs.pods import NO_INDEX
from dray.controllers.pod_control import BURST_PODS_MAX
from tests.unit.controllers.jobs.job_parts import NOW, make_job, make_pod


def names(plan: Plan) -> list[str]:
    return sorted(pod.metadata.name for pod in plan.surplus)


@pytest.mark.parametrize(
    ("parallelism", "completions", "succeeded", "active", "missing"),
    [
        pytest.param(3, 10, 0, 1, 2, id="up-to-the-parallelism"),
        pytest.param(3, 10, 9, 0, 1, id="no-more-than-needed"),
        pytest.param(3, None, 0, 1, 2, id="without-a-number"),
        pytest.param(3, None, 1, 1, 0, id="one-has-succeeded"),
        pytest.param(0, 10, 0, 0, 0, id="none-wanted"),
        pytest.param(10**4, 10**4, 0, 0, BURST_PODS_MAX, id="not-all-at-once"),
    ],
)
def test_as_many_are_made_as_may_run_and_are_needed(
    parallelism: int, completions: int | None, succeeded: int, active: int, missing: int
) -> None:
    pods = [make_pod(f"s{number}", "Succeeded") for number in range(succeeded)]
    pods += [make_pod(f"r{number}") for number in range(active)]
    job = make_job(parallelism=parallelism, completions=completions)
    plan = plan_pods(look_at(job, pods, NO_FAILURES, NOW))
    assert plan == Plan(missing=[NO_INDEX] * missing) if missing else plan == Plan()


def test_what_is_too_many_goes_before_anything_is_made() -> None:
    pods = [make_pod("a", "Running", ready=True), make_pod("b"), make_pod("c")]
    plan = plan_pods(look_at(make_job(parallelism=1, completions=5), pods, NO_FAILURES, NOW))
    assert names(plan) == ["b", "c"]
    assert plan.missing == ()


def test_pods_that_do_what_others_do_or_nobody_asked_for_go() -> None:
    job = make_job(parallelism=3, completions=3, completion_mode="Indexed")
    pods = [
        make_pod("a", "Running", index=0, ready=True),
        make_pod("b", index=0),
        make_pod("c", index=7),
        make_pod("d"),
        make_pod("e", index=1),
    ]
    assert names(plan_pods(look_at(job, pods, NO_FAILURES, NOW))) == ["b", "c", "d"]


def test_a_suspended_job_has_none() -> None:
    pods = [make_pod("a"), make_pod("b", "Running")]
    plan = plan_pods(look_at(make_job(suspend=True, completions=9), pods, NO_FAILURES, NOW))
    assert names(plan) == ["a", "b"]


def test_after_failures_nothing_is_made_for_a_while() -> None:
    look = look_at(make_job(), [make_pod("f", "Failed", ago=4)], NO_FAILURES, NOW)
    assert plan_pods(look) == Plan(wait_seconds=6)
    look = look_at(make_job(), [], Backoff(1, NOW), NOW)
    assert plan_pods(look) == Plan(wait_seconds=10)


def test_indexes_that_fail_by_themselves_wait_by_themselves() -> None:
    job = make_job(
        parallelism=4, completions=4, completion_mode="Indexed", backoff_limit_per_index=9
    )
    pods: list[Pod] = [
        make_pod("a", "Failed", index=0, failures=0, ago=4),
        make_pod("b", "Failed", index=1, failures=1, ago=4),
        make_pod("c", "Failed", index=2, failures=0, ago=40),
    ]
    plan = plan_pods(look_at(job, pods, NO_FAILURES, NOW))
    assert plan == Plan(missing=[2, 3], wait_seconds=6)


@pytest.mark.parametrize(("policy", "missing"), [("Failed", 0), ("TerminatingOrFailed", 1)])
def test_a_pod_that_is_stopping_keeps_its_place_if_only_failures_are_replaced(
    policy: str, missing: int
) -> None:
    job = make_job(pod_replacement_policy=policy)
    pods = [make_pod("a", "Running", going=True, tracked=False)]
    assert len(plan_pods(look_at(job, pods, NO_FAILURES, NOW)).missing) == missing
