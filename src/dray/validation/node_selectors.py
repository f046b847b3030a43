"""Node selectors, as slices, allocations and pods use them.

Upstream counterpart: ValidateNodeSelector in pkg/apis/core/validation.
"""

from __future__ import annotations

from dray.api.core._node_selector import NodeSelector, NodeSelectorRequirement
from dray.validation.findings import Findings
from dray.validation.rules import check_label_key, check_label_value, check_node_name

__all__ = ["check_node_selector"]


def check_node_selector(found: Findings, selector: NodeSelector, path: str) -> None:
    terms = selector.node_selector_terms
    path = f"{path}.nodeSelectorTerms"
    if not terms:
        found.required(path, "must have at least one node selector term")
        return
    for index, term in enumerate(terms):
        for place, requirement in enumerate(term.match_expressions):
            where = f"{path}[{index}].matchExpressions[{place}]"
            _check_match_expression(found, requirement, where)
        for place, requirement in enumerate(term.match_fields):
            _check_match_field(found, requirement, f"{path}[{index}].matchFields[{place}]")


def _check_match_expression(
    found: Findings, requirement: NodeSelectorRequirement, path: str
) -> None:
    count = len(requirement.values)
    match requirement.operator:
        case "In" | "NotIn":
            if not count:
                detail = "must be specified when `operator` is 'In' or 'NotIn'"
                found.required(f"{path}.values", detail)
        case "Exists" | "DoesNotExist":
            if count:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.forbidden(f"{path}.values", detail)
        case "Gt" | "Lt":
            if count != 1:
                detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                found.required(f"{path}.values", detail)
        case operator:
            found.invalid(f"{path}.operator", operator, "not a valid selector operator")
    check_label_key(found, requirement.key, f"{path}.key")
    for index, value in enumerate(requirement.values):
        check_label_value(found, value, f"{path}.values[{index}]")


def _check_match_field(found: Findings, requirement: NodeSelectorRequirement, path: str) -> None:
    if requirement.operator not in ("In", "NotIn"):
        found.invalid(f"{path}.operator", requirement.operator, "not a valid selector operator")
    elif len(requirement.values) != 1:
        found.required(
            f"{path}.values",
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )
    if requirement.key != "metadata.name":
        found.invalid(f"{path}.key", requirement.key, "not a valid field selector key")
        return
    for index, value in enumerate(requirement.values):
        check_node_name(found, value, f"{path}.values[{index}]")
