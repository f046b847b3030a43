"""What one look sees."""

from __future__ import annotations

from dray.api.batch import (
    JobStatus,
    PodFailurePolicy,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    UncountedTerminatedPods,
)
from dray.controllers.jobs.backoff import NO_FAILURES, Backoff
from dray.controllers.jobs.indexes import Indexes
from dray.controllers.jobs.look import look_at
from tests.unit.controllers.jobs.job_parts import NOW, make_job, make_pod


def test_pods_are_counted_with_what_the_status_has_and_not_twice() -> None:
    listed = UncountedTerminatedPods(succeeded=("s1",), failed=("f1",))
    job = make_job(JobStatus(succeeded=5, failed=2, uncounted_terminated_pods=listed))
    pods = [
        make_pod("s1", "Succeeded"),
        make_pod("s2", "Succeeded"),
        make_pod("s3", "Succeeded", tracked=False),
        make_pod("f1", "Failed"),
        make_pod("f2", "Failed"),
        make_pod("run", "Running", ready=True),
        make_pod("stop", "Running", going=True, tracked=False),
    ]
    look = look_at(job, pods, NO_FAILURES, NOW)
    assert (look.succeeded_count, look.failed_count) == (7, 4)
    assert [pod.metadata.name for pod in look.active] == ["run"]
    assert [pod.metadata.name for pod in look.terminating] == ["stop"]
    assert look.ready_count == 1


def test_failures_that_a_policy_ignores_do_not_count_but_are_waited_for() -> None:
    pattern = PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget", status="True")
    rule = PodFailurePolicyRule(action="Ignore", on_pod_conditions=(pattern,))
    job = make_job(pod_failure_policy=PodFailurePolicy(rules=(rule,)))
    look = look_at(job, [make_pod("f", "Failed", condition="DisruptionTarget")], NO_FAILURES, NOW)
    assert look.failed_count == 0
    assert look.backoff == Backoff(1, NOW)


def test_an_indexed_job_counts_indexes_not_pods() -> None:
    job = make_job(
        JobStatus(completed_indexes="0,1", succeeded=2),
        completions=5,
        completion_mode="Indexed",
    )
    pods = [
        make_pod("a", "Succeeded", index=1),
        make_pod("b", "Succeeded", index=3),
        make_pod("c", "Succeeded", index=9),
        make_pod("d", "Running", index=4),
    ]
    look = look_at(job, pods, NO_FAILURES, NOW)
    assert look.succeeded_indexes == Indexes.of([0, 1, 3])
    assert look.succeeded_count == 3
    assert look.failed_indexes is None
    assert look.busy_indexes().missing(5, 9) == [2]


def test_an_index_fails_when_its_limit_is_used_up() -> None:
    job = make_job(completions=4, completion_mode="Indexed", backoff_limit_per_index=2)
    pods = [
        make_pod("a", "Failed", index=0, failures=2),
        make_pod("b", "Failed", index=1, failures=1),
        make_pod("c", "Failed", index=1, failures=0, ago=30),
        make_pod("d", "Failed", index=2, failures=0),
        make_pod("e", "Running", index=2, failures=1),
    ]
    look = look_at(job, pods, NO_FAILURES, NOW)
    assert look.failed_indexes == Indexes.of([0])
    assert {index: pod.metadata.name for index, pod in look.kept.items()} == {1: "b"}
    assert look.busy_indexes().missing(4, 9) == [1, 3]


def test_an_index_whose_pod_is_stopping_may_have_to_wait() -> None:
    pods = [make_pod("a", "Running", index=0, going=True)]
    for policy, missing in (("Failed", []), ("TerminatingOrFailed", [0])):
        job = make_job(completion_mode="Indexed", pod_replacement_policy=policy)
        assert look_at(job, pods, NO_FAILURES, NOW).busy_indexes().missing(1, 9) == missing
