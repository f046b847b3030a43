"""Whether a container that ended is started again."""

from __future__ import annotations

import pytest

from dray.agent.pods.restart_policy import (
    could_restart_all,
    restarts,
    restarts_after_kill,
    restarts_all,
)
from dray.api.core import (
    Container,
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    PodSpec,
)


def rule(action: str, operator: str, *codes: int) -> ContainerRestartRule:
    exit_codes = ContainerRestartRuleOnExitCodes(operator=operator, values=codes)
    return ContainerRestartRule(action=action, exit_codes=exit_codes)


@pytest.mark.parametrize(
    ("pod", "own", "code", "expected"),
    [
        ("Always", None, 0, True),
        ("OnFailure", None, 0, False),
        ("OnFailure", None, 1, True),
        ("Never", None, 1, False),
        ("", None, 0, True),
        ("Never", "Always", 0, True),
        ("Always", "Never", 1, False),
        ("Always", "OnFailure", 0, False),
    ],
)
def test_a_containers_own_policy_goes_before_the_pods(
    pod: str, own: str | None, code: int, expected: bool
) -> None:
    container = Container(name="main", restart_policy=own)
    assert restarts(container, PodSpec(restart_policy=pod), code) is expected


@pytest.mark.parametrize(
    ("rules", "code", "expected"),
    [
        ((rule("Restart", "In", 42, 43),), 43, True),
        ((rule("Restart", "In", 42),), 1, False),
        ((rule("Restart", "NotIn", 1),), 2, True),
        ((rule("Restart", "NotIn", 1),), 1, False),
        ((rule("Unheard", "In", 1), rule("Restart", "In", 1)), 1, False),
    ],
)
def test_the_first_rule_that_matches_decides(
    rules: tuple[ContainerRestartRule, ...], code: int, expected: bool
) -> None:
    container = Container(name="main", restart_policy="Never", restart_policy_rules=rules)
    assert restarts(container, PodSpec(restart_policy="Never"), code) is expected


def test_a_rule_may_restart_all_containers() -> None:
    rules = (rule("RestartAllContainers", "In", 88),)
    container = Container(name="main", restart_policy="Never", restart_policy_rules=rules)
    assert restarts_all(container, 88)
    assert restarts(container, PodSpec(restart_policy="Never"), 88)
    assert not restarts_all(container, 1)
    assert could_restart_all(PodSpec(containers=(container,)))
    assert not could_restart_all(PodSpec(containers=(Container(name="main"),)))


def test_rules_have_no_say_when_a_container_is_killed() -> None:
    rules = (rule("Restart", "NotIn", 0),)
    container = Container(name="main", restart_policy="Never", restart_policy_rules=rules)
    assert not restarts_after_kill(container, PodSpec(restart_policy="Always"))
    assert restarts_after_kill(Container(name="main"), PodSpec(restart_policy="OnFailure"))
