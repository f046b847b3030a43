"""What workloads may leave out."""

from __future__ import annotations

import pytest

from dray.api.apps import (
    DaemonSet,
    DaemonSetSpec,
    DaemonSetUpdateStrategy,
    Deployment,
    DeploymentSpec,
    DeploymentStrategy,
    ReplicaSet,
    RollingUpdateDaemonSet,
    RollingUpdateDeployment,
)
from dray.api.batch import (
    Job,
    JobSpec,
    PodFailurePolicy,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
)
from dray.api.core import PodTemplateSpec
from dray.api.defaults import default
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.api.workload_defaults import (
    BACKOFF_LIMIT_UNBOUNDED,
    default_daemon_set,
    default_deployment,
    default_job,
    default_replica_set,
)

NOW = Time.parse("2026-02-03T04:05:06Z")


def test_a_deployment_rolls_a_quarter_at_a_time() -> None:
    spec = default_deployment(Deployment()).spec
    assert (spec.replicas, spec.revision_history_limit, spec.progress_deadline_seconds) == (
        1,
        10,
        600,
    )
    assert spec.strategy == DeploymentStrategy(
        type="RollingUpdate",
        rolling_update=RollingUpdateDeployment(max_unavailable="25%", max_surge="25%"),
    )


def test_recreating_needs_no_numbers() -> None:
    made = Deployment(spec=DeploymentSpec(strategy=DeploymentStrategy(type="Recreate")))
    assert default_deployment(made).spec.strategy == DeploymentStrategy(type="Recreate")


def test_nought_is_not_absent() -> None:
    rolling = RollingUpdateDeployment(max_unavailable=0, max_surge=0)
    made = Deployment(
        spec=DeploymentSpec(
            replicas=0,
            progress_deadline_seconds=0,
            strategy=DeploymentStrategy(rolling_update=rolling),
        )
    )
    spec = default_deployment(made).spec
    assert (spec.replicas, spec.progress_deadline_seconds) == (0, 0)
    assert spec.strategy.rolling_update == rolling


def test_a_replica_set_has_one_pod() -> None:
    assert default_replica_set(ReplicaSet()).spec.replicas == 1


def test_a_daemon_set_takes_one_node_at_a_time() -> None:
    spec = default_daemon_set(DaemonSet()).spec
    assert spec.update_strategy == DaemonSetUpdateStrategy(
        type="RollingUpdate",
        rolling_update=RollingUpdateDaemonSet(max_unavailable=1, max_surge=0),
    )
    assert spec.revision_history_limit == 10


def test_on_delete_needs_no_numbers() -> None:
    made = DaemonSet(spec=DaemonSetSpec(update_strategy=DaemonSetUpdateStrategy(type="OnDelete")))
    assert default_daemon_set(made).spec.update_strategy.rolling_update is None


def test_a_job_runs_one_pod_once() -> None:
    spec = default_job(Job()).spec
    assert (spec.completions, spec.parallelism, spec.backoff_limit) == (1, 1, 6)
    assert (spec.completion_mode, spec.pod_replacement_policy) == (
        "NonIndexed",
        "TerminatingOrFailed",
    )
    assert (spec.suspend, spec.manual_selector) == (False, False)


def test_a_job_of_many_pods_ends_when_one_succeeds() -> None:
    spec = default_job(Job(spec=JobSpec(parallelism=3))).spec
    assert (spec.completions, spec.parallelism) == (None, 3)


def test_a_limit_for_each_index_replaces_that_of_the_job() -> None:
    spec = default_job(Job(spec=JobSpec(backoff_limit_per_index=1))).spec
    assert spec.backoff_limit == BACKOFF_LIMIT_UNBOUNDED


def test_a_failure_policy_waits_until_pods_have_failed() -> None:
    pattern = PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget")
    rule = PodFailurePolicyRule(action="Ignore", on_pod_conditions=(pattern,))
    policy = PodFailurePolicy(rules=(rule,))
    spec = default_job(Job(spec=JobSpec(pod_failure_policy=policy))).spec
    assert spec.pod_replacement_policy == "Failed"
    assert spec.pod_failure_policy is not None
    (completed,) = spec.pod_failure_policy.rules or ()
    assert [each.status for each in completed.on_pod_conditions] == ["True"]


def test_a_job_without_labels_takes_those_of_its_pods() -> None:
    template = PodTemplateSpec(metadata=ObjectMeta(labels={"app": "web"}))
    assert default_job(Job(spec=JobSpec(template=template))).metadata.labels == {"app": "web"}
    own = ObjectMeta(labels={"own": "1"})
    labelled = default_job(Job(metadata=own, spec=JobSpec(template=template)))
    assert labelled.metadata.labels == {"own": "1"}


@pytest.mark.parametrize("kind", [Deployment, ReplicaSet, DaemonSet, Job])
def test_a_template_is_filled_in_and_then_left_alone(kind: type) -> None:
    filled_in = default(kind(), now=NOW)
    assert filled_in.spec.template.spec.scheduler_name == "default-scheduler"
    # What only a pod gets waits for the pod.
    assert filled_in.spec.template.spec.enable_service_links is None
    assert default(filled_in, now=NOW) is filled_in
