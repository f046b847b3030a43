"""What failed pods mean, and when a job is done early."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.batch import (
    JobSpec,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
)
from dray.validation.job_policies import (
    FAILURE_RULES_MAX,
    check_failure_policy,
    check_success_policy,
)
from tests.unit.validation.builders import told
from tests.unit.validation.workload_builders import template

PATH = "policy"
TARGETED = PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget", status="True")


def failing(*rules: PodFailurePolicyRule, **spec: Any) -> list[str]:
    made = JobSpec(template=template(), **spec)
    return told(check_failure_policy, PodFailurePolicy(rules=rules), made, PATH)


def on_codes(*values: int, operator: str = "In", **fields: Any) -> list[str]:
    codes = PodFailurePolicyOnExitCodesRequirement(operator=operator, values=values, **fields)
    return failing(PodFailurePolicyRule(action="FailJob", on_exit_codes=codes))


def succeeding(**rule: Any) -> list[str]:
    policy = SuccessPolicy(rules=(SuccessPolicyRule(**rule),))
    return told(check_success_policy, policy, 5, PATH)


def test_rules_over_codes_or_conditions_are_fine() -> None:
    assert on_codes(1, 42, container_name="main") == []
    assert failing(PodFailurePolicyRule(action="Ignore", on_pod_conditions=(TARGETED,))) == []


def test_a_rule_looks_at_one_thing() -> None:
    codes = PodFailurePolicyOnExitCodesRequirement(operator="In", values=(1,))
    both = PodFailurePolicyRule(action="Count", on_exit_codes=codes, on_pod_conditions=(TARGETED,))
    neither = PodFailurePolicyRule(action="Count")
    assert failing(both, neither) == [
        (
            "policy.rules[0]: Invalid value: "
            "specifying both OnExitCodes and OnPodConditions is not supported"
        ),
        (
            "policy.rules[1]: Invalid value: "
            "specifying one of OnExitCodes and OnPodConditions is required"
        ),
    ]


@pytest.mark.parametrize(
    ("action", "text"),
    [
        pytest.param(
            "", 'Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]', id="none"
        ),
        pytest.param(
            "Stop",
            'Unsupported value: "Stop": '
            'supported values: "Count", "FailIndex", "FailJob", "Ignore"',
            id="unknown",
        ),
        pytest.param(
            "FailIndex",
            'Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
            id="index-of-nothing",
        ),
    ],
)
def test_actions_that_mean_nothing(action: str, text: str) -> None:
    rule = PodFailurePolicyRule(action=action, on_pod_conditions=(TARGETED,))
    assert failing(rule) == [f"policy.rules[0].action: {text}"]


def test_an_index_may_fail_where_indexes_have_a_limit() -> None:
    rule = PodFailurePolicyRule(action="FailIndex", on_pod_conditions=(TARGETED,))
    assert failing(rule, backoff_limit_per_index=1) == []


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        pytest.param(on_codes(), "values: Invalid value: null: at least one value", id="none"),
        pytest.param(on_codes(0), "values[0]: Invalid value: 0: must not be 0", id="nought"),
        pytest.param(on_codes(1, 1), "values[1]: Duplicate value: 1", id="twice"),
        pytest.param(on_codes(2, 1), "values: Invalid value: [2,1]: must be ordered", id="order"),
        pytest.param(on_codes(*range(1, 257)), "values: Too many: 256", id="too-many"),
        pytest.param(on_codes(1, operator=""), "operator: Required value", id="no-operator"),
        pytest.param(
            on_codes(1, container_name="x"), 'containerName: Invalid value: "x"', id="nobody"
        ),
    ],
)
def test_codes_that_mean_nothing(errors: list[str], text: str) -> None:
    assert [error.startswith(f"policy.rules[0].onExitCodes.{text}") for error in errors] == [True]


def test_conditions_are_names_with_a_status() -> None:
    odd = PodFailurePolicyOnPodConditionsPattern(type="A!", status="Maybe")
    name, status = failing(PodFailurePolicyRule(action="Count", on_pod_conditions=(odd,)))
    assert name.startswith('policy.rules[0].onPodConditions[0].type: Invalid value: "A!"')
    assert status == (
        'policy.rules[0].onPodConditions[0].status: Unsupported value: "Maybe": '
        'supported values: "False", "True", "Unknown"'
    )


def test_a_policy_has_an_end() -> None:
    rule = PodFailurePolicyRule(action="Count", on_pod_conditions=(TARGETED,))
    assert failing(*(rule,) * FAILURE_RULES_MAX) == []
    assert failing(*(rule,) * (FAILURE_RULES_MAX + 1)) == [
        "policy.rules: Too many: 21: must have at most 20 items"
    ]


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        pytest.param(succeeding(), ": Required value: at least one of", id="nothing"),
        pytest.param(
            succeeding(succeeded_indexes="9"),
            '.succeededIndexes: Invalid value: "9": error parsing succeededIndexes: too large',
            id="beyond-the-job",
        ),
        pytest.param(
            succeeding(succeeded_count=6),
            ".succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of",
            id="more-than-all",
        ),
        pytest.param(
            succeeding(succeeded_count=3, succeeded_indexes="0-1"),
            ".succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of",
            id="more-than-listed",
        ),
        pytest.param(
            succeeding(succeeded_count=-1), ".succeededCount: Invalid value: -1", id="negative"
        ),
        pytest.param(
            succeeding(succeeded_indexes="0" * 70_000),
            ".succeededIndexes: Too long: may not be more than 65536 bytes",
            id="too-long",
        ),
    ],
)
def test_successes_that_never_come(errors: list[str], text: str) -> None:
    assert [error.startswith(f"policy.rules[0]{text}") for error in errors] == [True]


def test_a_success_policy_has_rules() -> None:
    assert told(check_success_policy, SuccessPolicy(), 5, PATH) == [
        (
            "policy.rules: Required value: "
            "at least one rules must be specified when the successPolicy is specified"
        )
    ]
