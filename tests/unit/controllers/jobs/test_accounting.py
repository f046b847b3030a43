"""What is counted when. That crashes do not matter is told in test_controller."""

from __future__ import annotations

from dray.api.batch import (
    JobStatus,
    PodFailurePolicy,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    UncountedTerminatedPods,
)
from dray.api.wire import Time, replace
from dray.controllers.jobs.accounting import UNCOUNTED_PODS_MAX, Account, count_released, draw_up
from dray.controllers.jobs.backoff import NO_FAILURES
from dray.controllers.jobs.conditions import make_condition
from dray.controllers.jobs.look import look_at
from tests.unit.controllers.jobs.job_parts import NOW, make_job, make_pod

PODS = [
    make_pod("s", "Succeeded"),
    make_pod("f", "Failed"),
    make_pod("r", "Running"),
    make_pod("x", "Failed", tracked=False),
]
FAILURE = make_condition("FailureTarget", "DeadlineExceeded", "too long", NOW)
SUCCESS = make_condition("SuccessCriteriaMet", "SuccessPolicy", "enough", NOW)


def listed(account: Account) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pods = account.status.uncounted_terminated_pods
    assert pods is not None
    return pods.succeeded, pods.failed


def released(account: Account) -> list[str]:
    return [pod.metadata.name for pod in account.released]


def test_what_ended_is_listed_and_let_go() -> None:
    account = draw_up(look_at(make_job(), PODS, NO_FAILURES, NOW), JobStatus(), None)
    assert listed(account) == (("s",), ("f",))
    assert released(account) == ["s", "f"]
    assert account.is_complete


def test_what_was_listed_is_not_listed_again() -> None:
    status = JobStatus(
        uncounted_terminated_pods=UncountedTerminatedPods(succeeded=("s",), failed=("gone",))
    )
    look = look_at(make_job(status), PODS, NO_FAILURES, NOW)
    account = draw_up(look, status, None)
    assert listed(account) == (("s",), ("f",))
    assert account.status.failed == 1  # the one that lost its finalizer


def test_a_failing_job_counts_what_still_runs_as_failed_and_a_succeeding_one_not() -> None:
    look = look_at(make_job(), PODS, NO_FAILURES, NOW)
    failing, succeeding = (draw_up(look, JobStatus(), each) for each in (FAILURE, SUCCESS))
    assert listed(failing) == (("s",), ("f", "r"))
    assert listed(succeeding) == (("s",), ("f",))
    assert released(failing) == released(succeeding) == ["s", "f", "r"]


def test_a_job_that_is_being_deleted_lets_go_of_everything() -> None:
    job = make_job()
    job = replace(job, metadata=replace(job.metadata, deletion_timestamp=Time(NOW)))
    account = draw_up(look_at(job, PODS, NO_FAILURES, NOW), JobStatus(), None)
    assert released(account) == ["s", "f", "r"]
    assert listed(account) == (("s",), ("f",))


def test_the_last_failed_pod_of_an_index_is_kept_for_its_count() -> None:
    job = make_job(completion_mode="Indexed", backoff_limit_per_index=3)
    pods = [
        make_pod("old", "Failed", index=0, failures=0, ago=60),
        make_pod("new", "Failed", index=0, failures=1),
    ]
    account = draw_up(look_at(job, pods, NO_FAILURES, NOW), JobStatus(), None)
    assert released(account) == ["old"]
    assert account.status.failed_indexes == ""


def test_an_indexed_job_counts_successes_by_index() -> None:
    job = make_job(completion_mode="Indexed", completions=4)
    pods = [make_pod(f"s{index}", "Succeeded", index=index) for index in (3, 1, 9)]
    account = draw_up(look_at(job, pods, NO_FAILURES, NOW), JobStatus(), None)
    assert (account.status.completed_indexes, account.status.succeeded) == ("1,3", 2)
    assert listed(account) == ((), ())
    assert released(account) == ["s1", "s3", "s9"]


def test_only_so_many_are_counted_at_a_time() -> None:
    pods = [make_pod(f"s{number}", "Succeeded") for number in range(UNCOUNTED_PODS_MAX + 9)]
    account = draw_up(look_at(make_job(), pods, NO_FAILURES, NOW), JobStatus(), None)
    assert len(account.released) == UNCOUNTED_PODS_MAX
    assert not account.is_complete


def test_what_lost_its_finalizer_is_counted() -> None:
    pods = UncountedTerminatedPods(succeeded=("a", "b"), failed=("c", "d", "e"))
    status = count_released(
        JobStatus(succeeded=1, failed=1, uncounted_terminated_pods=pods), {"b", "c"}
    )
    assert (status.succeeded, status.failed) == (2, 3)
    assert status.uncounted_terminated_pods == UncountedTerminatedPods(
        succeeded=("b",), failed=("c",)
    )


def test_rules_that_failures_met_are_counted_with_what_is_listed() -> None:
    pattern = PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget", status="True")
    rule = PodFailurePolicyRule(action="Ignore", on_pod_conditions=(pattern,))
    job = make_job(pod_failure_policy=PodFailurePolicy(rules=(rule,)))
    pods = [make_pod("a", "Failed", condition="DisruptionTarget"), make_pod("b", "Failed")]
    account = draw_up(look_at(job, pods, NO_FAILURES, NOW), JobStatus(), None)
    assert account.actions == {"Ignore": 1}
    assert listed(account) == ((), ("b",))
    assert released(account) == ["a", "b"]
