"""Whether a slice, or a device, is for a node.

Both say where they are in one of three ways: a node's name, all nodes, or a node selector. A
selector's terms are alternatives; one that cannot be read fails as a whole, even where another of
its terms would match, and ends the attempt. Selectors are read once and remembered, because a
cluster asks each of them about every node.

Upstream counterparts: NodeMatches of the structured allocator, and NodeSelector of
component-helpers' nodeaffinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dray.api.core import (
    NODE_SELECTOR_OPERATOR_IN,
    NODE_SELECTOR_OPERATOR_NOT_IN,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from dray.api.labels import Selector
from dray.errors import AllocationError, FieldError, FieldErrorType, ParseError, quote

__all__ = ["node_matches"]

# Clusters have a selector per rack, zone or fabric, repeated by the slices there: hundreds, rarely
# thousands. Each takes a few hundred bytes.
REMEMBERED_SELECTORS_MAX: Final = 4096

_FIELD_OPERATORS: Final = (NODE_SELECTOR_OPERATOR_IN, NODE_SELECTOR_OPERATOR_NOT_IN)
_NAME_FIELD: Final = "metadata.name"


def node_matches(
    node: Node, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None
) -> bool:
    """Whether what says so of itself is for the node; the first of the three that is set decides.

    AllocationError if a selector has to be asked and cannot be read.
    """
    if node_name:
        return node.metadata.name == node_name
    if all_nodes:
        return True
    if selector is None:
        return False
    try:
        terms = _remembered(selector)
    except TypeError:
        # It holds members that dray does not know, and so has no hash to be found by.
        terms = _read(selector)
    name, labels = node.metadata.name, node.metadata.labels
    return any(term.matches(name, labels) for term in terms)


@dataclass(frozen=True, slots=True)
class _FieldTest:
    key: str
    value: str
    equal: bool

    def matches(self, name: str) -> bool:
        # A field that is not there reads as empty.
        found = name if self.key == _NAME_FIELD else ""
        return (found == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class _Term:
    labels: Selector
    fields: tuple[_FieldTest, ...]

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if not self.labels.matches(labels):
            return False
        # Upstream asks nothing of the fields of a node that has none, not even a name.
        return not name or all(test.matches(name) for test in self.fields)


# Reading ---------------------------------------------------------------------------------------


def _read(selector: NodeSelector) -> tuple[_Term, ...]:
    terms: list[_Term] = []
    errors: list[str] = []
    for index, term in enumerate(selector.node_selector_terms or ()):
        # A term without requirements selects nothing, not everything.
        if term.match_expressions or term.match_fields:
            terms.append(_read_term(term, f"nodeSelectorTerms[{index}]", errors))
    if errors:
        raise AllocationError(f"failed to parse node selector {_show(selector)}: {_tell(errors)}")
    return tuple(terms)


_remembered: Final = lru_cache(maxsize=REMEMBERED_SELECTORS_MAX)(_read)


def _read_term(term: NodeSelectorTerm, path: str, errors: list[str]) -> _Term:
    labels = Selector.nothing()
    try:
        labels = Selector.from_node_requirements(
            ((each.key, each.operator, each.values) for each in term.match_expressions),
            path=f"{path}.matchExpressions",
        )
    except ParseError as error:
        errors.append(error.rule)
    fields = []
    for index, each in enumerate(term.match_fields):
        test = _read_field(each, f"{path}.matchFields[{index}]", errors)
        if test is not None:
            fields.append(test)
    return _Term(labels, tuple(fields))


def _read_field(
    requirement: NodeSelectorRequirement, path: str, errors: list[str]
) -> _FieldTest | None:
    operator, values = requirement.operator, requirement.values
    if operator not in _FIELD_OPERATORS:
        supported = ", ".join(map(quote, _FIELD_OPERATORS))
        error = FieldError(
            FieldErrorType.NOT_SUPPORTED,
            f"{path}.operator",
            operator,
            f"supported values: {supported}",
        )
    elif len(values) != 1:
        error = FieldError(
            FieldErrorType.INVALID, f"{path}.values", list(values) or None, "must have one element"
        )
    else:
        return _FieldTest(requirement.key, values[0], operator == NODE_SELECTOR_OPERATOR_IN)
    errors.append(str(error))
    return None


def _tell(errors: list[str]) -> str:
    """One error as it is, several as a list."""
    if len(errors) == 1:
        return errors[0]
    # The errors of a term's expressions come as a list already, and lists are not nested. A single
    # error begins with its path, never with a bracket.
    flat = (error[1:-1] if error.startswith("[") else error for error in errors)
    return f"[{', '.join(flat)}]"


# Showing: the form in which Go's generated types print -----------------------------------------


def _show(selector: NodeSelector) -> str:
    terms = "".join(
        f"NodeSelectorTerm{{MatchExpressions:{_show_all(term.match_expressions)},"
        f"MatchFields:{_show_all(term.match_fields)},}},"
        for term in selector.node_selector_terms or ()
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{terms}}},}}"


def _show_all(requirements: tuple[NodeSelectorRequirement, ...]) -> str:
    shown = "".join(
        f"NodeSelectorRequirement{{Key:{each.key},Operator:{each.operator},"
        f"Values:[{' '.join(each.values)}],}},"
        for each in requirements
    )
    return f"[]NodeSelectorRequirement{{{shown}}}"
