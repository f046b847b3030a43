"""Which nodes: the selector that slices, allocations and node affinity share.

Upstream counterpart: NodeSelector in k8s.io/api/core/v1.
"""

from __future__ import annotations

from dray.api.wire import Struct, always

__all__ = ["NodeSelector", "NodeSelectorRequirement", "NodeSelectorTerm"]


class NodeSelectorRequirement(Struct):
    """One clause: In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str = always("")
    operator: str = always("")
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Struct):
    """All clauses of a term must hold; a term without any matches nothing."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Struct):
    """A node is selected if any term matches it."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = always(None)
