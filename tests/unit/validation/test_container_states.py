"""Which containers may leave their end."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStatus,
    PodStatus,
)
from dray.validation.container_states import check_state_transitions
from tests.unit.validation.builders import told
from tests.unit.validation.pod_builders import container, pod

RUNNING = ContainerState(running=ContainerStateRunning())


def ended(code: int) -> ContainerState:
    return ContainerState(terminated=ContainerStateTerminated(exit_code=code))


def rule(action: str, operator: str, *codes: int) -> ContainerRestartRule:
    return ContainerRestartRule(
        action=action,
        exit_codes=ContainerRestartRuleOnExitCodes(operator=operator, values=codes),
    )


def revived(
    code: int = 0,
    *,
    field: str = "container_statuses",
    name: str = "main",
    containers: tuple[Any, ...] = (),
    **spec: Any,
) -> list[str]:
    """What is told when a container that ended with this code runs again."""
    spec["containers"] = containers or (container(),)

    def reporting(state: ContainerState) -> PodStatus:
        fields: dict[str, Any] = {field: (ContainerStatus(name=name, state=state),)}
        return PodStatus(**fields)

    return told(
        check_state_transitions,
        pod(status=reporting(RUNNING), **spec),
        pod(status=reporting(ended(code)), **spec),
    )


DETAIL = "Forbidden: may not be transitioned to non-terminated state"


@pytest.mark.parametrize(
    ("policy", "code", "may"),
    [
        ("Always", 0, True),
        ("OnFailure", 1, True),
        ("OnFailure", 0, False),
        ("Never", 1, False),
    ],
)
def test_the_pods_policy_decides(policy: str, code: int, may: bool) -> None:
    expected = [] if may else [f"status.containerStatuses[0].state: {DETAIL}"]
    assert revived(code, restart_policy=policy) == expected


def test_a_containers_own_policy_comes_first() -> None:
    assert revived(restart_policy="Never", containers=(container(restart_policy="Always"),)) == []
    assert revived(containers=(container(restart_policy="Never"),)) != []


@pytest.mark.parametrize(
    ("rules", "code", "may"),
    [
        pytest.param((rule("Restart", "In", 3),), 3, True, id="listed"),
        pytest.param((rule("Restart", "In", 3),), 4, False, id="not-listed"),
        pytest.param((rule("Restart", "NotIn", 3),), 4, True, id="any-but"),
        pytest.param((ContainerRestartRule(action="Restart"),), 4, False, id="no-codes"),
        pytest.param((rule("RestartAllContainers", "In", 9),), 4, True, id="another-could"),
    ],
)
def test_a_rule_that_matches_comes_before_the_policy(
    rules: tuple[ContainerRestartRule, ...], code: int, may: bool
) -> None:
    ruled = container(restart_policy="Never", restart_policy_rules=rules)
    assert (revived(code, restart_policy="Never", containers=(ruled,)) == []) is may


def test_init_containers_follow_the_same_rules() -> None:
    sidecar = container("side", restart_policy="Always")
    options: dict[str, Any] = {"field": "init_container_statuses", "name": "side"}
    assert revived(restart_policy="Never", init_containers=(sidecar,), **options) == []
    plain = (container("side"),)
    assert revived(restart_policy="Never", init_containers=plain, **options) == [
        f"status.initContainerStatuses[0].state: {DETAIL}"
    ]


def test_a_debugger_ends_once() -> None:
    assert revived(field="ephemeral_container_statuses", name="debug") == [
        f"status.ephemeralContainerStatuses[0].state: {DETAIL}"
    ]


def test_a_container_nobody_knows_does_not_come_back() -> None:
    assert revived(name="stranger") != []


def test_an_end_may_be_told_again() -> None:
    status = PodStatus(container_statuses=(ContainerStatus(name="main", state=ended(1)),))
    never = pod(restart_policy="Never", status=status)
    assert told(check_state_transitions, never, never) == []
