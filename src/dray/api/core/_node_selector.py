"""Which nodes: the selector that slices, allocations and node affinity share.

Upstream counterpart: NodeSelector in k8s.io/api/core/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.wire import Struct, always

__all__ = [
    "NODE_SELECTOR_OPERATOR_DOES_NOT_EXIST",
    "NODE_SELECTOR_OPERATOR_EXISTS",
    "NODE_SELECTOR_OPERATOR_GREATER_THAN",
    "NODE_SELECTOR_OPERATOR_IN",
    "NODE_SELECTOR_OPERATOR_LESS_THAN",
    "NODE_SELECTOR_OPERATOR_NOT_IN",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
]

NODE_SELECTOR_OPERATOR_IN: Final = "In"
NODE_SELECTOR_OPERATOR_NOT_IN: Final = "NotIn"
NODE_SELECTOR_OPERATOR_EXISTS: Final = "Exists"
NODE_SELECTOR_OPERATOR_DOES_NOT_EXIST: Final = "DoesNotExist"
NODE_SELECTOR_OPERATOR_GREATER_THAN: Final = "Gt"
NODE_SELECTOR_OPERATOR_LESS_THAN: Final = "Lt"


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
