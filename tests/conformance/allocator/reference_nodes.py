"""Whether a node is selected: by its name, because all are, or by a node selector.

Upstream counterparts: NodeMatches in pools_experimental.go of the experimental allocator, and
component-helpers' nodeaffinity.
"""

from __future__ import annotations

from collections.abc import Sequence

from dray.api.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dray.api.labels import Selector
from dray.errors import FieldError, FieldErrorType, ParseError

__all__ = ["SelectorError", "node_matches"]


class SelectorError(Exception):
    """A node selector that cannot be read."""


def node_matches(node: Node, name: str, all_nodes: bool, selector: NodeSelector | None) -> bool:
    if name:
        return node.metadata.name == name
    if all_nodes:
        return True
    if selector is None:
        return False
    terms = list(enumerate(selector.node_selector_terms or ()))
    # A term without requirements selects nothing.
    terms = [(i, term) for i, term in terms if term.match_expressions or term.match_fields]
    problems = [problem for i, term in terms for problem in _problems(term, i)]
    if problems:
        raise SelectorError(
            f"failed to parse node selector {_selector_text(selector)}: {_listed(problems)}"
        )
    return any(_term_matches(term, node) for _, term in terms)


def _selector_text(selector: NodeSelector) -> str:
    """How upstream prints a node selector."""
    terms = "".join(
        f"NodeSelectorTerm{{MatchExpressions:{_requirements_text(term.match_expressions)},"
        f"MatchFields:{_requirements_text(term.match_fields)},}},"
        for term in selector.node_selector_terms or ()
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{terms}}},}}"


def _requirements_text(requirements: Sequence[NodeSelectorRequirement]) -> str:
    texts = "".join(
        f"NodeSelectorRequirement{{Key:{each.key},Operator:{each.operator},"
        f"Values:[{' '.join(each.values)}],}},"
        for each in requirements
    )
    return f"[]NodeSelectorRequirement{{{texts}}}"


def _term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    labels = Selector.from_node_requirements(
        (each.key, each.operator, each.values) for each in term.match_expressions
    )
    if not labels.matches(node.metadata.labels or {}):
        return False
    name = node.metadata.name
    if not name:
        # A node without a name has no fields to hold anything against.
        return True
    for each in term.match_fields:
        value = name if each.key == "metadata.name" else ""
        if (value == each.values[0]) != (each.operator == "In"):
            return False
    return True


def _problems(term: NodeSelectorTerm, index: int) -> list[str]:
    path = f"nodeSelectorTerms[{index}]"
    problems = []
    for i, each in enumerate(term.match_expressions):
        try:
            Selector.from_node_requirements([(each.key, each.operator, each.values)], path="@")
        except ParseError as error:
            # Asked one by one, each says that it is the first.
            problems.append(error.rule.replace("@[0].", f"{path}.matchExpressions[{i}]."))
    for i, each in enumerate(term.match_fields):
        field = f"{path}.matchFields[{i}]"
        if each.operator not in ("In", "NotIn"):
            supported = 'supported values: "In", "NotIn"'
            problems.append(
                str(
                    FieldError(
                        FieldErrorType.NOT_SUPPORTED, f"{field}.operator", each.operator, supported
                    )
                )
            )
        elif len(each.values) != 1:
            values = list(each.values) or None
            problems.append(
                str(
                    FieldError(
                        FieldErrorType.INVALID, f"{field}.values", values, "must have one element"
                    )
                )
            )
    return problems


def _listed(problems: Sequence[str]) -> str:
    """All problems, in brackets unless there is one; some are lists already."""
    if len(problems) == 1:
        return problems[0]
    texts = [text[1:-1] if text.startswith("[") else text for text in problems]
    return f"[{', '.join(texts)}]"
