"""What a job's policy makes of a failed pod. Upstream's: pod_failure_policy.go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from dray.api.batch import (
    POD_FAILURE_POLICY_FAIL_JOB,
    POD_FAILURE_POLICY_IGNORE,
    POD_FAILURE_POLICY_OPERATOR_IN,
    POD_FAILURE_POLICY_OPERATOR_NOT_IN,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
)
from dray.api.core import ContainerStatus, Pod, PodCondition

__all__ = ["COUNTED", "Verdict", "judge"]


class Verdict(NamedTuple):
    """What a failure means: the action of the rule that matched, and why the job fails if so."""

    action: str = ""
    counts: bool = True
    job_failure: str | None = None


COUNTED: Final = Verdict()
"""Of a failure that no rule is about."""


def judge(policy: PodFailurePolicy | None, pod: Pod) -> Verdict:
    """The verdict of the first rule that matches."""
    for index, rule in enumerate((policy.rules if policy else None) or ()):
        matched = ""
        if rule.on_exit_codes is not None:
            container = _failed_container(pod, rule.on_exit_codes)
            if container is not None and container.state.terminated is not None:
                code = container.state.terminated.exit_code
                matched = f"Container {container.name} for pod {_named(pod)} failed with exit "
                matched += f"code {code}"
        else:
            condition = _condition(pod, rule.on_pod_conditions)
            if condition is not None:
                matched = f"Pod {_named(pod)} has condition {condition.type}"
        if not matched:
            continue
        if rule.action == POD_FAILURE_POLICY_FAIL_JOB:
            message = f"{matched} matching {rule.action} rule at index {index}"
            return Verdict(rule.action, job_failure=message)
        return Verdict(rule.action, counts=rule.action != POD_FAILURE_POLICY_IGNORE)
    return COUNTED


def _named(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _failed_container(
    pod: Pod, wanted: PodFailurePolicyOnExitCodesRequirement
) -> ContainerStatus | None:
    status = pod.status
    return _matching(status.container_statuses, wanted) or _matching(
        status.init_container_statuses, wanted
    )


def _matching(
    statuses: Iterable[ContainerStatus], wanted: PodFailurePolicyOnExitCodesRequirement
) -> ContainerStatus | None:
    for status in statuses:
        ended = status.state.terminated
        if ended is None or ended.exit_code == 0:
            continue
        if wanted.container_name is not None and wanted.container_name != status.name:
            continue
        listed = ended.exit_code in (wanted.values or ())
        if (wanted.operator, listed) in _MATCHES:
            return status
    return None


_MATCHES: Final = frozenset(
    {(POD_FAILURE_POLICY_OPERATOR_IN, True), (POD_FAILURE_POLICY_OPERATOR_NOT_IN, False)}
)


def _condition(
    pod: Pod, patterns: Sequence[PodFailurePolicyOnPodConditionsPattern]
) -> PodCondition | None:
    wanted = {(pattern.type, pattern.status) for pattern in patterns}
    for condition in pod.status.conditions:
        if (condition.type, condition.status) in wanted:
            return condition
    return None
