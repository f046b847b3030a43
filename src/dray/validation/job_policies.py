"""What a job makes of failed pods, and when it counts as done early.

Upstream counterparts: validatePodFailurePolicy and validateSuccessPolicy in
pkg/apis/batch/validation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from dray.api.batch import (
    POD_FAILURE_POLICY_COUNT,
    POD_FAILURE_POLICY_FAIL_INDEX,
    POD_FAILURE_POLICY_FAIL_JOB,
    POD_FAILURE_POLICY_IGNORE,
    POD_FAILURE_POLICY_OPERATOR_IN,
    POD_FAILURE_POLICY_OPERATOR_NOT_IN,
    JobSpec,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
)
from dray.api.core import CONDITION_FALSE, CONDITION_TRUE, CONDITION_UNKNOWN
from dray.errors import OMITTED, ParseError, quote
from dray.validation.counts import check_not_negative
from dray.validation.findings import Findings
from dray.validation.job_indexes import count_indexes
from dray.validation.rules import byte_length, check_label_key, check_size

__all__ = ["check_failure_policy", "check_success_policy"]

FAILURE_RULES_MAX: Final = 20
EXIT_CODES_MAX: Final = 255
CONDITION_PATTERNS_MAX: Final = 20
SUCCESS_RULES_MAX: Final = 20
SUCCEEDED_INDEXES_BYTES_MAX: Final = 64 * 1024

_ACTIONS: Final = (
    POD_FAILURE_POLICY_COUNT,
    POD_FAILURE_POLICY_FAIL_INDEX,
    POD_FAILURE_POLICY_FAIL_JOB,
    POD_FAILURE_POLICY_IGNORE,
)
_OPERATORS: Final = (POD_FAILURE_POLICY_OPERATOR_IN, POD_FAILURE_POLICY_OPERATOR_NOT_IN)
_STATUSES: Final = (CONDITION_FALSE, CONDITION_TRUE, CONDITION_UNKNOWN)


# Failures --------------------------------------------------------------------------------------


def check_failure_policy(
    found: Findings, policy: PodFailurePolicy, spec: JobSpec, path: str
) -> None:
    rules = policy.rules or ()
    check_size(found, rules, FAILURE_RULES_MAX, f"{path}.rules")
    pods = spec.template.spec
    names = {container.name for container in (*(pods.containers or ()), *pods.init_containers)}
    for index, rule in enumerate(rules):
        _check_failure_rule(found, rule, spec, names, f"{path}.rules[{index}]")


def _check_failure_rule(
    found: Findings, rule: PodFailurePolicyRule, spec: JobSpec, names: Collection[str], path: str
) -> None:
    if rule.action == POD_FAILURE_POLICY_FAIL_INDEX:
        if spec.backoff_limit_per_index is None:
            detail = "requires the backoffLimitPerIndex to be set"
            found.invalid(f"{path}.action", rule.action, detail)
    else:
        _check_choice(found, rule.action, _ACTIONS, f"{path}.action")
    codes, conditions = rule.on_exit_codes, rule.on_pod_conditions
    if codes is not None:
        _check_exit_codes(found, codes, names, f"{path}.onExitCodes")
    check_size(found, conditions, CONDITION_PATTERNS_MAX, f"{path}.onPodConditions")
    for index, pattern in enumerate(conditions):
        _check_condition(found, pattern, f"{path}.onPodConditions[{index}]")
    if codes is not None and conditions:
        detail = "specifying both OnExitCodes and OnPodConditions is not supported"
        found.invalid(path, OMITTED, detail)
    if codes is None and not conditions:
        detail = "specifying one of OnExitCodes and OnPodConditions is required"
        found.invalid(path, OMITTED, detail)


def _check_exit_codes(
    found: Findings,
    codes: PodFailurePolicyOnExitCodesRequirement,
    names: Collection[str],
    path: str,
) -> None:
    _check_choice(found, codes.operator, _OPERATORS, f"{path}.operator")
    if codes.container_name is not None and codes.container_name not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        found.invalid(f"{path}.containerName", codes.container_name, detail)
    values = codes.values or ()
    if not values:
        found.invalid(f"{path}.values", None, "at least one value is required")
    else:
        check_size(found, values, EXIT_CODES_MAX, f"{path}.values")
    seen: set[int] = set()
    for index, value in enumerate(values):
        at = f"{path}.values[{index}]"
        if codes.operator == POD_FAILURE_POLICY_OPERATOR_IN and value == 0:
            found.invalid(at, value, "must not be 0 for the In operator")
        if value in seen:
            found.duplicate(at, value)
        seen.add(value)
    if list(values) != sorted(values):
        found.invalid(f"{path}.values", list(values), "must be ordered")


def _check_condition(
    found: Findings, pattern: PodFailurePolicyOnPodConditionsPattern, path: str
) -> None:
    check_label_key(found, pattern.type, f"{path}.type")
    _check_choice(found, pattern.status, _STATUSES, f"{path}.status")


def _check_choice(found: Findings, value: str, choices: Sequence[str], path: str) -> None:
    if not value:
        found.required(path, f"valid values: [{' '.join(map(quote, choices))}]")
    elif value not in choices:
        found.not_supported(path, value, choices)


# Success ---------------------------------------------------------------------------------------


def check_success_policy(
    found: Findings, policy: SuccessPolicy, completions: int, path: str
) -> None:
    rules = policy.rules or ()
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        found.required(f"{path}.rules", detail)
    check_size(found, rules, SUCCESS_RULES_MAX, f"{path}.rules")
    for index, rule in enumerate(rules):
        _check_success_rule(found, rule, completions, f"{path}.rules[{index}]")


def _check_success_rule(
    found: Findings, rule: SuccessPolicyRule, completions: int, path: str
) -> None:
    indexes, count = rule.succeeded_indexes, rule.succeeded_count
    if indexes is None and count is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        found.required(path, detail)
    listed = 0
    if indexes is not None:
        at = f"{path}.succeededIndexes"
        if byte_length(indexes) > SUCCEEDED_INDEXES_BYTES_MAX:
            found.too_long(at, SUCCEEDED_INDEXES_BYTES_MAX)
        try:
            listed = count_indexes(indexes, completions)
        except ParseError as error:
            found.invalid(at, indexes, f"error parsing succeededIndexes: {error.rule}")
    if count is None:
        return
    at = f"{path}.succeededCount"
    check_not_negative(found, count, at)
    rest = "must be less than or equal to"
    if count > completions:
        detail = f"{rest} {completions} (the number of specified completions)"
        found.invalid(at, count, detail)
    if indexes is not None and count > listed:
        where = "the number of indexes in the specified succeededIndexes field"
        found.invalid(at, count, f"{rest} {listed} ({where})")
