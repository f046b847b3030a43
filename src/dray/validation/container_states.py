"""Whether a container that has ended may start again.

A status that says so of a container which must not restart is a mistake of its node, and would
lead every controller astray. Upstream counterparts: ValidateContainerStateTransition and its kin
in pkg/apis/core/validation, ContainerShouldRestart in pkg/api/v1/pod.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.core import (
    CONTAINER_RESTART_POLICY_ALWAYS,
    CONTAINER_RESTART_POLICY_NEVER,
    CONTAINER_RESTART_POLICY_ON_FAILURE,
    RESTART_RULE_ACTION_RESTART,
    RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS,
    RESTART_RULE_OPERATOR_IN,
    RESTART_RULE_OPERATOR_NOT_IN,
    Container,
    ContainerRestartRule,
    ContainerStatus,
    Pod,
    PodSpec,
)
from dray.validation.findings import Findings

__all__ = ["check_state_transitions", "restarts_after"]

_DETAIL: Final = "may not be transitioned to non-terminated state"
_RESTARTING_ACTIONS: Final = (
    RESTART_RULE_ACTION_RESTART,
    RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS,
)


def check_state_transitions(found: Findings, new: Pod, old: Pod) -> None:
    """No container may leave its end unless something would restart it."""
    spec = old.spec
    if not _restarts_all(spec):
        for path, ours, theirs, containers in (
            (
                "status.containerStatuses",
                new.status.container_statuses,
                old.status.container_statuses,
                spec.containers or (),
            ),
            (
                "status.initContainerStatuses",
                new.status.init_container_statuses,
                old.status.init_container_statuses,
                spec.init_containers,
            ),
        ):
            _check_statuses(found, ours, theirs, containers, spec, path)
    for index, ended in enumerate(old.status.ephemeral_container_statuses):
        if ended.state.terminated is None:
            continue
        for status in new.status.ephemeral_container_statuses:
            if status.name == ended.name and status.state.terminated is None:
                found.forbidden(f"status.ephemeralContainerStatuses[{index}].state", _DETAIL)


def _check_statuses(
    found: Findings,
    new: Sequence[ContainerStatus],
    old: Sequence[ContainerStatus],
    containers: Sequence[Container],
    spec: PodSpec,
    path: str,
) -> None:
    by_name = {container.name: container for container in reversed(containers)}
    for index, ended in enumerate(old):
        terminated = ended.state.terminated
        if terminated is None or not any(
            status.name == ended.name and status.state.terminated is None for status in new
        ):
            continue
        container = by_name.get(ended.name)
        if container is None or not restarts_after(container, spec, terminated.exit_code):
            found.forbidden(f"{path}[{index}].state", _DETAIL)


def _restarts_all(spec: PodSpec) -> bool:
    """Whether the end of some container could restart all of them."""
    return any(
        rule.action == RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS
        for container in (*spec.init_containers, *(spec.containers or ()))
        for rule in container.restart_policy_rules
    )


def restarts_after(container: Container, spec: PodSpec, exit_code: int) -> bool:
    """Whether a container of the pod is started again after it ended with this code."""
    if container.restart_policy is not None:
        rule = _matching_rule(container, exit_code)
        if rule is not None and rule.action in _RESTARTING_ACTIONS:
            return True
        if container.restart_policy in _VERDICTS:
            return _restarts_by(container.restart_policy, exit_code)
    return _restarts_by(spec.restart_policy, exit_code)


_VERDICTS: Final = frozenset(
    {
        CONTAINER_RESTART_POLICY_ALWAYS,
        CONTAINER_RESTART_POLICY_NEVER,
        CONTAINER_RESTART_POLICY_ON_FAILURE,
    }
)


def _restarts_by(policy: str, exit_code: int) -> bool:
    """The policies of pods and of containers have the same words; an unknown one restarts."""
    if policy == CONTAINER_RESTART_POLICY_ON_FAILURE:
        return exit_code != 0
    return policy != CONTAINER_RESTART_POLICY_NEVER


def _matching_rule(container: Container, exit_code: int) -> ContainerRestartRule | None:
    for rule in container.restart_policy_rules:
        codes = rule.exit_codes
        if codes is None:
            continue
        listed = exit_code in codes.values
        if (codes.operator == RESTART_RULE_OPERATOR_IN and listed) or (
            codes.operator == RESTART_RULE_OPERATOR_NOT_IN and not listed
        ):
            return rule
    return None
