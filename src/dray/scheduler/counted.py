"""Counts of pods, brought up to date instead of counted anew.

Counting takes as long as the cluster is large; between two pods of one template only a few pods
moved. Whoever counted is told of these. When nodes or namespaces changed, or too many pods moved,
there is nothing to bring up to date.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.snapshot import Snapshot

__all__ = ["Counted", "Counting"]

# Shapes of pods that are tried in turn. Each may hold a number for every node.
REMEMBERED_COUNTS_MAX: Final = 32


class Counting(ABC):
    """What has counted pods and can be told of pods that come and go, in fact or in thought."""

    __slots__ = ()

    @abstractmethod
    def add_pod(self, info: PodInfo, node: NodeInfo) -> None: ...

    @abstractmethod
    def remove_pod(self, info: PodInfo, node: NodeInfo) -> None: ...


C = TypeVar("C", bound=Counting)


class Counted(Generic[C]):
    """The latest counts of one kind, by the shape of pods they are for.

    A shape is all that a count depends on, beside the snapshot. Whoever recalls a count shares it
    with whoever did before: it is as outdated by a change as if it had been counted then.
    """

    def __init__(self) -> None:
        self._remembered: OrderedDict[Hashable, tuple[C, int, int]] = OrderedDict()

    def recall(self, shape: Hashable, snapshot: Snapshot) -> C | None:
        """What would be counted now; None if it has to be."""
        known = self._remembered.get(shape)
        if known is None:
            return None
        counting, layout_version, moves_count = known
        if layout_version != snapshot.layout_version:
            return None
        moves = snapshot.moves_since(moves_count)
        if moves is None:
            return None
        for info, node_name, came in moves:
            node = snapshot.nodes[node_name]
            if came:
                counting.add_pod(info, node)
            else:
                counting.remove_pod(info, node)
        return self.keep(shape, snapshot, counting)

    def keep(self, shape: Hashable, snapshot: Snapshot, counting: C) -> C:
        """Remember what is up to date."""
        now = (counting, snapshot.layout_version, snapshot.moves_count)
        self._remembered[shape] = now
        self._remembered.move_to_end(shape)
        if len(self._remembered) > REMEMBERED_COUNTS_MAX:
            self._remembered.popitem(last=False)
        return counting
