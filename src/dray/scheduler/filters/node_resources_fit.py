"""NodeResourcesFit: what pods ask for together never exceeds what the node has to offer.

Every resource that is short is a reason of its own. Where a node could not offer enough even
without any pods, fewer pods would not help either. A resource that devices stand for is not asked
of a node that offers none of it: the devices are.
"""

from __future__ import annotations

from typing import Final

from dray.api.core import RESOURCE_CPU, RESOURCE_EPHEMERAL_STORAGE, RESOURCE_MEMORY
from dray.scheduler.filters.filter import Attempt, Rejection, Test
from dray.scheduler.node_info import NodeInfo

__all__ = ["NodeResourcesFit"]

_TOO_MANY_PODS: Final = "Too many pods"

# The order of reasons; everything else follows, by name.
_FIRST: Final = (RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_EPHEMERAL_STORAGE)


class NodeResourcesFit:
    """Upstream counterpart: the plugin of the same name."""

    name: Final = "NodeResourcesFit"
    static: Final = False

    def prepare(self, attempt: Attempt) -> Test:
        asked = tuple(attempt.pod.requests.items())
        ignored = attempt.ignored_resources

        def test(node: NodeInfo) -> Rejection | None:
            if len(node.pods) >= node.pods_max:
                return _explain(node, asked, ignored)
            allocatable, requested = node.allocatable, node.requested
            for name, amount in asked:
                if amount > allocatable.get(name, 0) - requested.get(name, 0):
                    return _explain(node, asked, ignored)
            return None

        return test


def _explain(
    node: NodeInfo, asked: tuple[tuple[str, int], ...], ignored: frozenset[str]
) -> Rejection | None:
    reasons = [_TOO_MANY_PODS] if len(node.pods) >= node.pods_max else []
    resolvable = True
    for name, amount in sorted(asked, key=_rank):
        offered = node.allocatable.get(name, 0)
        if amount <= offered - node.requested.get(name, 0) or (name in ignored and offered <= 0):
            continue
        reasons.append(f"Insufficient {name}")
        resolvable = resolvable and amount <= offered
    return Rejection(NodeResourcesFit.name, tuple(reasons), resolvable) if reasons else None


def _rank(entry: tuple[str, int]) -> tuple[int, str]:
    name, _ = entry
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST)), name
