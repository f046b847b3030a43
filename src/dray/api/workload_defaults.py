"""What deployments, replica sets, daemon sets and jobs may leave out, filled in as upstream does.

A template gets what templates and pods share; what only a pod gets (requests from limits, ports of
the host) waits until a pod is made of it. The selector of a job and the labels it picks are made
when the job is created (`dray.api.workload_strategy`). Upstream counterparts: defaults.go of
pkg/apis/apps/v1 and pkg/apis/batch/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api._edit import edit, edit_items
from dray.api.apps import (
    DAEMON_SET_ROLLING_UPDATE,
    DEPLOYMENT_ROLLING_UPDATE,
    DaemonSet,
    DaemonSetUpdateStrategy,
    Deployment,
    DeploymentStrategy,
    ReplicaSet,
    RollingUpdateDaemonSet,
    RollingUpdateDeployment,
)
from dray.api.batch import (
    COMPLETION_NON_INDEXED,
    POD_REPLACEMENT_FAILED,
    POD_REPLACEMENT_TERMINATING_OR_FAILED,
    Job,
    JobSpec,
    PodFailurePolicy,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
)
from dray.api.core import CONDITION_TRUE, PodTemplateSpec
from dray.api.pod_defaults import default_pod_spec

__all__ = ["default_daemon_set", "default_deployment", "default_job", "default_replica_set"]

REPLICAS_DEFAULT: Final = 1
REVISION_HISTORY_LIMIT_DEFAULT: Final = 10
PROGRESS_DEADLINE_SECONDS_DEFAULT: Final = 600
ROLLING_UPDATE_SHARE_DEFAULT: Final = "25%"
BACKOFF_LIMIT_DEFAULT: Final = 6

# With a limit for each index, the job as a whole has none to speak of.
BACKOFF_LIMIT_UNBOUNDED: Final = 2**31 - 1


def default_deployment(deployment: Deployment) -> Deployment:
    """The deployment with its defaults."""
    spec = deployment.spec
    spec = edit(
        spec,
        replicas=_or(spec.replicas, REPLICAS_DEFAULT),
        template=_template(spec.template),
        strategy=_deployment_strategy(spec.strategy),
        revision_history_limit=_or(spec.revision_history_limit, REVISION_HISTORY_LIMIT_DEFAULT),
        progress_deadline_seconds=_or(
            spec.progress_deadline_seconds, PROGRESS_DEADLINE_SECONDS_DEFAULT
        ),
    )
    return edit(deployment, spec=spec)


def default_replica_set(replica_set: ReplicaSet) -> ReplicaSet:
    """The replica set with its defaults."""
    spec = replica_set.spec
    spec = edit(
        spec, replicas=_or(spec.replicas, REPLICAS_DEFAULT), template=_template(spec.template)
    )
    return edit(replica_set, spec=spec)


def default_daemon_set(daemon_set: DaemonSet) -> DaemonSet:
    """The daemon set with its defaults."""
    spec = daemon_set.spec
    spec = edit(
        spec,
        template=_template(spec.template),
        update_strategy=_daemon_set_strategy(spec.update_strategy),
        revision_history_limit=_or(spec.revision_history_limit, REVISION_HISTORY_LIMIT_DEFAULT),
    )
    return edit(daemon_set, spec=spec)


def default_job(job: Job) -> Job:
    """The job with its defaults. Labels of its template become its own: one map, for both."""
    labels = job.metadata.labels or job.spec.template.metadata.labels
    return edit(job, metadata=edit(job.metadata, labels=labels), spec=_job_spec(job.spec))


def _job_spec(spec: JobSpec) -> JobSpec:
    completions = spec.completions
    if completions is None and spec.parallelism is None:
        completions = 1
    limited_by_index = spec.backoff_limit_per_index is not None
    replacement = (
        POD_REPLACEMENT_TERMINATING_OR_FAILED
        if spec.pod_failure_policy is None
        else POD_REPLACEMENT_FAILED
    )
    mode = spec.completion_mode
    policy = spec.pod_replacement_policy
    return edit(
        spec,
        completions=completions,
        parallelism=_or(spec.parallelism, 1),
        backoff_limit=_or(
            spec.backoff_limit,
            BACKOFF_LIMIT_UNBOUNDED if limited_by_index else BACKOFF_LIMIT_DEFAULT,
        ),
        completion_mode=COMPLETION_NON_INDEXED if mode is None else mode,
        suspend=bool(spec.suspend),
        pod_replacement_policy=replacement if policy is None else policy,
        pod_failure_policy=spec.pod_failure_policy and _failure_policy(spec.pod_failure_policy),
        manual_selector=bool(spec.manual_selector),
        template=_template(spec.template),
    )


def _failure_policy(policy: PodFailurePolicy) -> PodFailurePolicy:
    def pattern(
        pattern: PodFailurePolicyOnPodConditionsPattern,
    ) -> PodFailurePolicyOnPodConditionsPattern:
        return edit(pattern, status=pattern.status or CONDITION_TRUE)

    def rule(rule: PodFailurePolicyRule) -> PodFailurePolicyRule:
        return edit(rule, on_pod_conditions=edit_items(rule.on_pod_conditions, pattern))

    return edit(policy, rules=policy.rules and edit_items(policy.rules, rule))


def _template(template: PodTemplateSpec) -> PodTemplateSpec:
    return edit(template, spec=default_pod_spec(template.spec))


def _deployment_strategy(strategy: DeploymentStrategy) -> DeploymentStrategy:
    type_ = strategy.type or DEPLOYMENT_ROLLING_UPDATE
    rolling = strategy.rolling_update
    if type_ == DEPLOYMENT_ROLLING_UPDATE:
        rolling = rolling or RollingUpdateDeployment()
        share = ROLLING_UPDATE_SHARE_DEFAULT
        rolling = edit(
            rolling,
            max_unavailable=share if rolling.max_unavailable is None else rolling.max_unavailable,
            max_surge=share if rolling.max_surge is None else rolling.max_surge,
        )
    return edit(strategy, type=type_, rolling_update=rolling)


def _daemon_set_strategy(strategy: DaemonSetUpdateStrategy) -> DaemonSetUpdateStrategy:
    type_ = strategy.type or DAEMON_SET_ROLLING_UPDATE
    rolling = strategy.rolling_update
    if type_ == DAEMON_SET_ROLLING_UPDATE:
        rolling = rolling or RollingUpdateDaemonSet()
        rolling = edit(
            rolling,
            max_unavailable=1 if rolling.max_unavailable is None else rolling.max_unavailable,
            max_surge=0 if rolling.max_surge is None else rolling.max_surge,
        )
    return edit(strategy, type=type_, rolling_update=rolling)


def _or(value: int | None, default: int) -> int:
    return default if value is None else value
