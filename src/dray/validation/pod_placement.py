"""Where a pod may run: node selection, affinity, tolerations, spreading.

Upstream counterparts: validateAffinity, ValidateTolerations and
validateTopologySpreadConstraints in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api import names
from dray.api._edit import edit, edit_items
from dray.api.core import (
    DO_NOT_SCHEDULE,
    NODE_INCLUSION_POLICY_HONOR,
    NODE_INCLUSION_POLICY_IGNORE,
    SCHEDULE_ANYWAY,
    TAINT_EFFECT_NO_EXECUTE,
    TAINT_EFFECT_NO_SCHEDULE,
    TAINT_EFFECT_PREFER_NO_SCHEDULE,
    TOLERATION_OPERATOR_EQUAL,
    TOLERATION_OPERATOR_EXISTS,
    TOLERATION_OPERATOR_GREATER_THAN,
    TOLERATION_OPERATOR_LESS_THAN,
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    Toleration,
    TopologySpreadConstraint,
)
from dray.errors import FieldError, quote
from dray.validation.findings import Findings
from dray.validation.label_keys import check_label_keys, check_label_keys_of_old
from dray.validation.meta import validate_label_selector
from dray.validation.node_selectors import check_node_selector
from dray.validation.pod_leniency import Leniency
from dray.validation.rules import check_dns_label, check_label_key

__all__ = ["check_affinity", "check_spread_constraints", "check_tolerations"]

NOT_POSITIVE: Final = "must be greater than zero"

_EFFECTS: Final = (
    TAINT_EFFECT_NO_SCHEDULE,
    TAINT_EFFECT_PREFER_NO_SCHEDULE,
    TAINT_EFFECT_NO_EXECUTE,
)
_SPREAD_ACTIONS: Final = (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)
_INCLUSION_POLICIES: Final = (NODE_INCLUSION_POLICY_HONOR, NODE_INCLUSION_POLICY_IGNORE)
_INT64_LIMIT: Final = 2**63


# Affinity --------------------------------------------------------------------------------------


def check_affinity(found: Findings, affinity: Affinity, path: str, leniency: Leniency) -> None:
    if affinity.node_affinity is not None:
        _check_node_affinity(found, affinity.node_affinity, f"{path}.nodeAffinity", leniency)
    if affinity.pod_affinity is not None:
        _check_pod_affinity(found, affinity.pod_affinity, f"{path}.podAffinity", leniency)
    if affinity.pod_anti_affinity is not None:
        _check_pod_affinity(found, affinity.pod_anti_affinity, f"{path}.podAntiAffinity", leniency)


def _check_node_affinity(
    found: Findings, affinity: NodeAffinity, path: str, leniency: Leniency
) -> None:
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        terms = required.node_selector_terms
        if terms and leniency.any_value_in_node_affinity:
            required = edit(required, node_selector_terms=edit_items(terms, _with_any_values))
        at = f"{path}.requiredDuringSchedulingIgnoredDuringExecution"
        check_node_selector(found, required, at)
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for index, preference in enumerate(preferred):
        at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        _check_weight(found, preference.weight, at)
        # A preference that no node can meet costs nothing, so its values are not looked at.
        term = _with_any_values(preference.preference)
        _check_node_selector_term(found, term, f"{at}.preference")


def _with_any_values(term: NodeSelectorTerm) -> NodeSelectorTerm:
    """The term with values that are certainly label values, as many as it has."""
    expressions = edit_items(
        term.match_expressions,
        lambda requirement: edit(requirement, values=("any",) * len(requirement.values)),
    )
    return edit(term, match_expressions=expressions)


def _check_node_selector_term(found: Findings, term: NodeSelectorTerm, path: str) -> None:
    inner = Findings()
    check_node_selector(inner, NodeSelector(node_selector_terms=(term,)), "")
    for error in inner.errors():
        at = path + error.field.removeprefix(".nodeSelectorTerms[0]")
        found.add(FieldError(error.type, at, error.value, error.detail))


def _check_weight(found: Findings, weight: int, path: str) -> None:
    if not 1 <= weight <= 100:
        found.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _check_pod_affinity(
    found: Findings, affinity: PodAffinity | PodAntiAffinity, path: str, leniency: Leniency
) -> None:
    required = affinity.required_during_scheduling_ignored_during_execution
    for index, term in enumerate(required):
        at = f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]"
        _check_pod_affinity_term(found, term, at, leniency)
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for index, preference in enumerate(preferred):
        at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        _check_weight(found, preference.weight, at)
        _check_pod_affinity_term(
            found, preference.pod_affinity_term, f"{at}.podAffinityTerm", leniency
        )


def _check_pod_affinity_term(
    found: Findings, term: PodAffinityTerm, path: str, leniency: Leniency
) -> None:
    for name, selector in (
        ("labelSelector", term.label_selector),
        ("namespaceSelector", term.namespace_selector),
    ):
        found.extend(
            validate_label_selector(
                selector, f"{path}.{name}", any_value=leniency.any_value_in_affinity
            )
        )
    for namespace in term.namespaces:
        check_dns_label(found, namespace, f"{path}.namespace")
    check_label_keys(
        found, term.match_label_keys, term.mismatch_label_keys, term.label_selector, path
    )
    if not term.topology_key:
        found.required(f"{path}.topologyKey", "can not be empty")
    check_label_key(found, term.topology_key, f"{path}.topologyKey")


# Tolerations -----------------------------------------------------------------------------------


def check_tolerations(
    found: Findings, tolerations: Sequence[Toleration], path: str, leniency: Leniency
) -> None:
    for index, toleration in enumerate(tolerations):
        _check_toleration(found, toleration, f"{path}[{index}]", leniency)


def _check_toleration(
    found: Findings, toleration: Toleration, path: str, leniency: Leniency
) -> None:
    operator, value, effect = toleration.operator, toleration.value, toleration.effect
    if toleration.key:
        check_label_key(found, toleration.key, f"{path}.key")
    elif operator != TOLERATION_OPERATOR_EXISTS:
        found.invalid(
            f"{path}.operator",
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all'
            ' keys"',
        )
    if toleration.toleration_seconds is not None and effect != TAINT_EFFECT_NO_EXECUTE:
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        found.invalid(f"{path}.effect", effect, detail)
    match operator:
        case "" | "Equal":
            messages = names.label_value(value)
            if messages:
                found.invalid(f"{path}.operator", value, ";".join(messages))
        case "Exists":
            if value:
                detail = "value must be empty when `operator` is 'Exists'"
                found.invalid(f"{path}.operator", value, detail)
        case "Lt" | "Gt" if leniency.comparing_tolerations:
            _check_number(found, value, f"{path}.value")
        case "Lt" | "Gt":
            found.not_supported(
                f"{path}.operator",
                operator,
                (
                    TOLERATION_OPERATOR_EQUAL,
                    TOLERATION_OPERATOR_EXISTS,
                    TOLERATION_OPERATOR_LESS_THAN,
                    TOLERATION_OPERATOR_GREATER_THAN,
                ),
            )
        case _:
            supported = (TOLERATION_OPERATOR_EQUAL, TOLERATION_OPERATOR_EXISTS)
            found.not_supported(f"{path}.operator", operator, supported)
    if effect and effect not in _EFFECTS:
        found.not_supported(f"{path}.effect", effect, _EFFECTS)


def _check_number(found: Findings, value: str, path: str) -> None:
    """A number to compare a taint's value with: what Go's parser of int64 says of it, twice."""
    digits = value.removeprefix("-")
    canonical = digits.isascii() and digits.isdigit() and not digits.startswith("0")
    if not value:
        found.invalid(path, value, "must be non-empty")
    elif not canonical and value != "0":
        found.invalid(path, value, "must be a valid decimal integer in canonical form")
    unsigned = value[1:] if value[:1] in ("+", "-") else value
    if not (unsigned.isascii() and unsigned.isdigit()):
        problem = "invalid syntax"
    elif len(unsigned.lstrip("0")) > 19 or not -_INT64_LIMIT <= int(value) < _INT64_LIMIT:
        problem = "value out of range"
    else:
        return
    found.invalid(path, value, f"strconv.ParseInt: parsing {quote(value)}: {problem}")


# Spreading -------------------------------------------------------------------------------------


def check_spread_constraints(
    found: Findings,
    constraints: Sequence[TopologySpreadConstraint],
    path: str,
    leniency: Leniency,
) -> None:
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        _check_spread_constraint(found, constraint, constraints[index + 1 :], at)
        if leniency.overlapping_match_label_keys:
            check_label_keys_of_old(
                found,
                constraint.match_label_keys,
                constraint.label_selector,
                f"{at}.matchLabelKeys",
            )
        else:
            check_label_keys(found, constraint.match_label_keys, (), constraint.label_selector, at)
        if not leniency.any_spread_selector:
            selector = constraint.label_selector
            found.extend(validate_label_selector(selector, f"{at}.labelSelector"))


def _check_spread_constraint(
    found: Findings,
    constraint: TopologySpreadConstraint,
    following: Sequence[TopologySpreadConstraint],
    path: str,
) -> None:
    key, action = constraint.topology_key, constraint.when_unsatisfiable
    if constraint.max_skew <= 0:
        found.invalid(f"{path}.maxSkew", constraint.max_skew, NOT_POSITIVE)
    if not key:
        found.required(f"{path}.topologyKey", "can not be empty")
    if action not in _SPREAD_ACTIONS:
        found.not_supported(f"{path}.whenUnsatisfiable", action, _SPREAD_ACTIONS)
    if any((key, action) == (other.topology_key, other.when_unsatisfiable) for other in following):
        found.duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
    if constraint.min_domains is not None:
        if constraint.min_domains <= 0:
            found.invalid(f"{path}.minDomains", constraint.min_domains, NOT_POSITIVE)
        if action != DO_NOT_SCHEDULE:
            found.invalid(
                f"{path}.minDomains",
                constraint.min_domains,
                f"can only use minDomains if whenUnsatisfiable={DO_NOT_SCHEDULE}, not {action}",
            )
    for name, policy in (
        ("nodeAffinityPolicy", constraint.node_affinity_policy),
        ("nodeTaintsPolicy", constraint.node_taints_policy),
    ):
        if policy is not None and policy not in _INCLUSION_POLICIES:
            found.not_supported(f"{path}.{name}", policy, _INCLUSION_POLICIES)
