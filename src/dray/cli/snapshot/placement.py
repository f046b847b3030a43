"""Which nodes may run a pod, devices aside: the filters of a scheduler that come before them.

Looked at are what a pod says of nodes (nodeName, nodeSelector, required affinity) and what nodes
say of pods (cordoned, tainted); not their room for cpu and memory, nor other pods. Each node gets
the first reason that speaks against it. Reasons do not name the node, so that equal ones can be
counted. Where a node's labels are not known, they do not speak against it.

Upstream counterparts: the scheduler's plugins nodename, nodeunschedulable, tainttoleration and
nodeaffinity, and component-helpers' nodeaffinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from dray.api.core import (
    TAINT_EFFECT_NO_EXECUTE,
    TAINT_EFFECT_NO_SCHEDULE,
    TOLERATION_OPERATOR_GREATER_THAN,
    TOLERATION_OPERATOR_LESS_THAN,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Taint,
    Toleration,
)
from dray.api.labels import Operator, Requirement, Selector
from dray.api.node_taints import TAINT_UNSCHEDULABLE, tolerates
from dray.errors import ParseError, shorten

__all__ = ["Against", "NodeTerms", "Place", "PodPlacement"]

_NAME_FIELD: Final = "metadata.name"
_UNSCHEDULABLE: Final = Taint(key=TAINT_UNSCHEDULABLE, effect=TAINT_EFFECT_NO_SCHEDULE)
_HARD_EFFECTS: Final = frozenset({TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_NO_EXECUTE})
# They tolerate nothing while their feature is off, which it is unless asked for.
_COMPARISONS: Final = frozenset({TOLERATION_OPERATOR_LESS_THAN, TOLERATION_OPERATOR_GREATER_THAN})
_FIELD_OPERATORS: Final = {"In": Operator.EQUALS, "NotIn": Operator.NOT_EQUALS}

SELECTOR_CHARACTERS_MAX: Final = 200


class Against(Enum):
    """What speaks against a node."""

    NODE_NAME = "NodeName"
    UNSCHEDULABLE = "Unschedulable"
    TAINT = "Taint"
    NODE_SELECTOR = "NodeSelector"
    NODE_AFFINITY = "NodeAffinity"
    ALLOCATED_CLAIM = "AllocatedClaim"
    EXTENDED_RESOURCE = "ExtendedResource"


@dataclass(frozen=True, slots=True)
class Place:
    """Whether a node may run the pod, and what speaks against it if not."""

    node: str
    against: Against | None = None
    reason: str = ""

    @property
    def ok(self) -> bool:
        return self.against is None


@dataclass(frozen=True, slots=True)
class _Term:
    labels: Selector
    fields: tuple[Requirement, ...]

    def matches(self, node: Node, *, labels_known: bool) -> bool:
        named = {_NAME_FIELD: node.metadata.name}
        if not all(requirement.matches(named) for requirement in self.fields):
            return False
        return not labels_known or self.labels.matches(node.metadata.labels)

    def __str__(self) -> str:
        parts = [str(self.labels)] if self.labels.requirements else []
        return ",".join([*parts, *map(str, self.fields)])


@dataclass(frozen=True, slots=True)
class NodeTerms:
    """A node selector, read once for many nodes. A term that cannot be read selects no node."""

    terms: tuple[_Term, ...]
    errors: tuple[str, ...] = ()

    @classmethod
    def of(cls, selector: NodeSelector) -> NodeTerms:
        terms: list[_Term] = []
        errors: list[str] = []
        for index, term in enumerate(selector.node_selector_terms or ()):
            # A term without any clause selects nothing.
            if not term.match_expressions and not term.match_fields:
                continue
            try:
                terms.append(_read_term(term, f"nodeSelectorTerms[{index}]"))
            except ParseError as error:
                errors.append(error.rule)
        return cls(tuple(terms), tuple(errors))

    def selects(self, node: Node, *, labels_known: bool = True) -> bool:
        return any(term.matches(node, labels_known=labels_known) for term in self.terms)

    def __str__(self) -> str:
        text = " or ".join(map(str, self.terms))
        return shorten(text, characters_max=SELECTOR_CHARACTERS_MAX) or "nothing"


class PodPlacement:
    """What one pod wants of nodes, read once and asked about many."""

    def __init__(self, pod: Pod, *, labels_known: bool = True) -> None:
        spec = pod.spec
        self._node_name = spec.node_name
        self._tolerations = spec.tolerations
        self._labels_known = labels_known
        self._selector = [
            (key, value, f"does not match nodeSelector {_shown(key, value)}")
            for key, value in spec.node_selector.items()
        ]
        affinity = spec.affinity.node_affinity if spec.affinity else None
        required = (
            affinity.required_during_scheduling_ignored_during_execution if affinity else None
        )
        self._affinity = NodeTerms.of(required) if required else None

    @property
    def reads_labels(self) -> bool:
        """Whether nodes whose labels are not known can only be guessed about."""
        terms = self._affinity.terms if self._affinity else ()
        return bool(self._selector) or any(term.labels.requirements for term in terms)

    @property
    def errors(self) -> tuple[str, ...]:
        """What of the required node affinity cannot be read."""
        return self._affinity.errors if self._affinity else ()

    def place(self, node: Node) -> Place:
        """Whether this node may run the pod."""
        name = node.metadata.name
        for against, reason in (
            (Against.NODE_NAME, self._named_elsewhere(name)),
            (Against.UNSCHEDULABLE, self._cordoned(node)),
            (Against.TAINT, self._tainted(node)),
            (Against.NODE_SELECTOR, self._unselected(node)),
            (Against.NODE_AFFINITY, self._unattractive(node)),
        ):
            if reason:
                return Place(name, against, reason)
        return Place(name)

    def _named_elsewhere(self, name: str) -> str:
        if not self._node_name or self._node_name == name:
            return ""
        return f"is not the pod's spec.nodeName {shorten(self._node_name)}"

    def _cordoned(self, node: Node) -> str:
        if not node.spec.unschedulable or _tolerated(_UNSCHEDULABLE, self._tolerations):
            return ""
        return "is unschedulable (cordoned)"

    def untolerated(self, node: Node) -> tuple[Taint, ...]:
        """The taints of the node that keep the pod off."""
        return tuple(
            taint
            for taint in node.spec.taints
            if taint.effect in _HARD_EFFECTS and not _tolerated(taint, self._tolerations)
        )

    def unmatched(self, node: Node) -> tuple[str, ...]:
        """The keys of the pod's nodeSelector that the node has with another value, or not."""
        labels = node.metadata.labels
        return tuple(key for key, value, _ in self._selector if labels.get(key) != value)

    def _tainted(self, node: Node) -> str:
        taints = self.untolerated(node)
        return f"untolerated taint {shorten(str(taints[0]))}" if taints else ""

    def _unselected(self, node: Node) -> str:
        unmatched = self.unmatched(node) if self._labels_known else ()
        return next((reason for key, _, reason in self._selector if key in unmatched), "")

    def _unattractive(self, node: Node) -> str:
        affinity = self._affinity
        if affinity is None or affinity.selects(node, labels_known=self._labels_known):
            return ""
        return f"does not match the required node affinity: {affinity}"


def _shown(key: str, value: str) -> str:
    return shorten(f"{key}={value}", characters_max=SELECTOR_CHARACTERS_MAX)


def _read_term(term: NodeSelectorTerm, path: str) -> _Term:
    labels = Selector.from_node_requirements(
        ((one.key, one.operator, one.values) for one in term.match_expressions),
        path=f"{path}.matchExpressions",
    )
    fields = tuple(
        _read_field(one, f"{path}.matchFields[{index}]")
        for index, one in enumerate(term.match_fields)
    )
    return _Term(labels, fields)


def _read_field(requirement: NodeSelectorRequirement, path: str) -> Requirement:
    """A condition on a field of the node itself; there is but one such field, its name."""
    operator = _FIELD_OPERATORS.get(requirement.operator)
    if operator is None:
        raise ParseError(path, f"{path}.operator: fields take In and NotIn only")
    if len(requirement.values) != 1:
        raise ParseError(path, f"{path}.values: must have one element")
    return Requirement(requirement.key, operator, requirement.values)


def _tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    return any(
        toleration.operator not in _COMPARISONS and tolerates(toleration, taint)
        for toleration in tolerations
    )
