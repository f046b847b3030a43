"""NodeAffinity: the nodes a pod must be on, by their labels or names.

A pod whose every alternative names nodes, as those of daemon sets do, has few candidates.
Alternatives that each name nodes in contradiction leave none at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dray.api.core import NODE_SELECTOR_OPERATOR_IN, Node, NodeSelector, NodeSelectorTerm, Pod
from dray.api.labels import Selector
from dray.api.node_matching import node_matches
from dray.errors import AllocationError
from dray.scheduler.filters.filter import Attempt, NamingFilter, Rejection, Test
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo

__all__ = ["NodeAffinity", "RequiredNodes"]

_NO_MATCH: Final = Rejection(
    "NodeAffinity", ("node(s) didn't match Pod's node affinity/selector",), resolvable=False
)
_NAME_FIELD: Final = "metadata.name"


class RequiredNodes:
    """The nodes a pod must be on: all of its nodeSelector, and any term of its node affinity."""

    def __init__(self, pod: Pod) -> None:
        spec = pod.spec
        self._labels = Selector.from_labels(spec.node_selector)
        nodes = spec.affinity.node_affinity if spec.affinity is not None else None
        # None asks for nothing; no terms at all match nothing.
        self._terms: tuple[NodeSelectorTerm, ...] | None = None
        if nodes is not None and nodes.required_during_scheduling_ignored_during_execution:
            required = nodes.required_during_scheduling_ignored_during_execution
            self._terms = required.node_selector_terms or ()
        # One by one: a term that cannot be read spoils no other.
        self._selectors = tuple(
            NodeSelector(node_selector_terms=(term,)) for term in self._terms or ()
        )

    @property
    def trivial(self) -> bool:
        return not self._labels.requirements and self._terms is None

    def match(self, node: Node) -> bool:
        if not self._labels.matches(node.metadata.labels):
            return False
        return self._terms is None or any(_matches(node, each) for each in self._selectors)

    def names(self) -> frozenset[str] | None:
        """The only nodes that can match, where every term names some; else None."""
        found: set[str] = set()
        for term in self._terms or ():
            named = _named(term)
            if named is None:
                return None
            found |= named
        return frozenset(found) if self._terms else None


class NodeAffinity(NamingFilter):
    """Upstream counterpart: the plugin of the same name, without affinity added by settings."""

    name: Final = "NodeAffinity"
    static: Final = True

    def only(self, pod: PodInfo) -> frozenset[str] | None:
        return None if pod.pod.spec.affinity is None else RequiredNodes(pod.pod).names()

    def prepare(self, attempt: Attempt) -> Test | None:
        required = RequiredNodes(attempt.pod.pod)
        if required.trivial:
            return None

        def test(node: NodeInfo) -> Rejection | None:
            return None if required.match(node.node) else _NO_MATCH

        return test


def _matches(node: Node, selector: NodeSelector) -> bool:
    try:
        return node_matches(node, None, None, selector)
    except AllocationError:
        return False  # it cannot be read, and so matches nothing


def _named(term: NodeSelectorTerm) -> set[str] | None:
    found: set[str] | None = None
    for requirement in term.match_fields:
        if requirement.key == _NAME_FIELD and requirement.operator == NODE_SELECTOR_OPERATOR_IN:
            found = _both(found, requirement.values)
    return found


def _both(found: set[str] | None, names: Iterable[str]) -> set[str]:
    return set(names) if found is None else found.intersection(names)
