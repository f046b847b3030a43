"""Whether a container that ended is started again.

A container's own rules come first (by exit code), then its own policy, then the pod's. Upstream
counterpart: ContainerShouldRestart in pkg/api/v1/pod/util.go (KEP-5307, KEP-5532).
"""

from __future__ import annotations

from dray.api.core import (
    CONTAINER_RESTART_POLICY_NEVER,
    CONTAINER_RESTART_POLICY_ON_FAILURE,
    RESTART_POLICY_NEVER,
    RESTART_POLICY_ON_FAILURE,
    RESTART_RULE_ACTION_RESTART,
    RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS,
    RESTART_RULE_OPERATOR_IN,
    RESTART_RULE_OPERATOR_NOT_IN,
    Container,
    PodSpec,
)

__all__ = ["could_restart_all", "restarts", "restarts_after_kill", "restarts_all"]


def restarts(container: Container, spec: PodSpec, exit_code: int) -> bool:
    """Whether a container that exited so runs again."""
    if _action(container, exit_code) in (
        RESTART_RULE_ACTION_RESTART,
        RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS,
    ):
        return True
    return _by_policy(container.restart_policy or spec.restart_policy, failed=exit_code != 0)


def restarts_all(container: Container, exit_code: int) -> bool:
    """Whether exiting so restarts every container of the pod."""
    return _action(container, exit_code) == RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS


def could_restart_all(spec: PodSpec) -> bool:
    """Whether any exit could restart every container of the pod."""
    return any(
        rule.action == RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS
        for container in (*spec.init_containers, *(spec.containers or ()))
        for rule in container.restart_policy_rules
    )


def restarts_after_kill(container: Container, spec: PodSpec) -> bool:
    """Whether a container that fails a probe runs again: rules need an exit code, and have none."""
    return (container.restart_policy or spec.restart_policy) != CONTAINER_RESTART_POLICY_NEVER


def _action(container: Container, exit_code: int) -> str | None:
    if container.restart_policy is None:
        return None
    for rule in container.restart_policy_rules:
        if rule.exit_codes is None:
            continue
        listed = exit_code in rule.exit_codes.values
        operator = rule.exit_codes.operator
        if (operator == RESTART_RULE_OPERATOR_IN and listed) or (
            operator == RESTART_RULE_OPERATOR_NOT_IN and not listed
        ):
            return rule.action
    return None


def _by_policy(policy: str, *, failed: bool) -> bool:
    if policy in (CONTAINER_RESTART_POLICY_ON_FAILURE, RESTART_POLICY_ON_FAILURE):
        return failed
    # Always, and whatever a newer API calls it: a container not to be restarted would say so.
    return policy not in (CONTAINER_RESTART_POLICY_NEVER, RESTART_POLICY_NEVER)
