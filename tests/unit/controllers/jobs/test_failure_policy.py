"""What rules make of failures."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.batch import (
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
)
from dray.controllers.jobs.failure_policy import COUNTED, Verdict, judge
from tests.unit.controllers.jobs.job_parts import make_pod

FAILED = make_pod("a", "Failed", exit_code=42, condition="DisruptionTarget")


def codes(action: str, operator: str, *values: int, container: str | None = None) -> Any:
    wanted = PodFailurePolicyOnExitCodesRequirement(
        operator=operator, values=values, container_name=container
    )
    return PodFailurePolicyRule(action=action, on_exit_codes=wanted)


def condition(action: str, type_: str, status: str = "True") -> Any:
    pattern = PodFailurePolicyOnPodConditionsPattern(type=type_, status=status)
    return PodFailurePolicyRule(action=action, on_pod_conditions=(pattern,))


@pytest.mark.parametrize(
    ("rules", "verdict"),
    [
        pytest.param([], COUNTED, id="no-rules"),
        pytest.param([codes("Ignore", "In", 42)], Verdict("Ignore", counts=False), id="in"),
        pytest.param([codes("Ignore", "In", 1)], COUNTED, id="not-listed"),
        pytest.param([codes("Count", "NotIn", 1)], Verdict("Count"), id="not-in"),
        pytest.param([codes("Count", "NotIn", 42)], COUNTED, id="listed-but-not-in"),
        pytest.param([codes("Ignore", "In", 42, container="other")], COUNTED, id="other-container"),
        pytest.param(
            [codes("FailIndex", "In", 42, container="main")],
            Verdict("FailIndex"),
            id="this-container",
        ),
        pytest.param(
            [condition("Ignore", "DisruptionTarget")],
            Verdict("Ignore", counts=False),
            id="condition",
        ),
        pytest.param([condition("Ignore", "DisruptionTarget", "False")], COUNTED, id="its-status"),
        pytest.param(
            [condition("Ignore", "Other"), codes("Count", "In", 42), codes("Ignore", "In", 42)],
            Verdict("Count"),
            id="first-that-matches",
        ),
    ],
)
def test_the_first_rule_that_matches_decides(rules: list[Any], verdict: Verdict) -> None:
    assert judge(PodFailurePolicy(rules=tuple(rules)), FAILED) == verdict


def test_a_failure_of_the_job_says_what_matched() -> None:
    by_code = PodFailurePolicy(rules=(condition("Count", "X"), codes("FailJob", "In", 42)))
    assert judge(by_code, FAILED).job_failure == (
        "Container main for pod default/a failed with exit code 42 matching FailJob rule at index 1"
    )
    by_condition = PodFailurePolicy(rules=(condition("FailJob", "DisruptionTarget"),))
    assert judge(by_condition, FAILED).job_failure == (
        "Pod default/a has condition DisruptionTarget matching FailJob rule at index 0"
    )


def test_without_a_policy_every_failure_counts() -> None:
    assert judge(None, FAILED) == COUNTED


def test_a_container_that_ended_well_matches_no_exit_code() -> None:
    pod = make_pod("a", "Failed", exit_code=0)
    assert judge(PodFailurePolicy(rules=(codes("Ignore", "NotIn", 1),)), pod) == COUNTED
