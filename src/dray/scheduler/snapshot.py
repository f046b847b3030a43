"""The cluster as the scheduler sees it: nodes, the pods on them, the labels of namespaces.

Kept step by step: one pod costs the same whatever else there is, and a node that changes keeps its
pods. Pods may be told of before their node and may outlive it; they wait until it comes. Whoever
tells sees to it that pods that ended are taken out: they use nothing any more.

Invariant: a pod counts on at most one node, and a term of anti-affinity is counted for exactly the
pods that hold it. The index by labels is made the first time somebody asks and kept from then on,
because most clusters never ask. The latest moves of pods are kept, for those who count pods and
want to catch up. Upstream counterparts: the scheduler's cache and its snapshot.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice
from typing import Final, NamedTuple

from dray.api.core import Namespace, Node
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_index import PodIndex
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.term_index import TermIndex

__all__ = ["Move", "Snapshot"]

# Whoever counts pods and missed more than this counts them all anew, which takes about as long.
MOVES_MAX: Final = 1000

# Shared by all snapshots, so that what is remembered of one is never taken for another.
_versions: Final = count(1)


class Move(NamedTuple):
    """A pod that came to a node, or left it."""

    info: PodInfo
    node_name: str
    came: bool


class Snapshot:
    """What is, as far as it was told; nothing here looks anything up elsewhere."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}  # in the order in which they came
        self.namespaces: dict[str, Mapping[str, str]] = {}  # their labels
        # What pods on nodes ask of others: whom to keep away, and whom they would like to be near.
        self.anti_affinity = TermIndex()
        self.leanings = TermIndex()
        # New whenever a node or namespace comes, goes, or changes in the eyes of filters.
        self.layout_version = next(_versions)
        self._pods: dict[str, tuple[PodInfo, str]] = {}
        self._waiting: dict[str, dict[str, PodInfo]] = {}  # by the node that is not there
        self._index: PodIndex | None = None
        self._moves: deque[Move] = deque(maxlen=MOVES_MAX)
        self._moves_count = 0

    # Nodes and namespaces ----------------------------------------------------------------------

    def apply_node(self, node: Node) -> None:
        """Add a node, or take what became of it."""
        name = node.metadata.name
        known = self.nodes.get(name)
        if known is not None:
            place = known.place
            known.apply(node)
            if known.place != place:
                self.layout_version = next(_versions)
            return
        self.nodes[name] = NodeInfo(node)
        self.layout_version = next(_versions)
        for info in self._waiting.pop(name, {}).values():
            self._settle(info, name)

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods wait, for it may come back before they are gone."""
        node = self.nodes.get(name)
        if node is None:
            return
        pods = dict(node.pods)
        for info in pods.values():
            self._unsettle(info, name)
        del self.nodes[name]
        self.layout_version = next(_versions)
        if pods:
            self._waiting[name] = pods

    def apply_namespace(self, namespace: Namespace) -> None:
        name, labels = namespace.metadata.name, namespace.metadata.labels
        if self.namespaces.get(name) != labels:
            self.namespaces[name] = labels
            self.layout_version = next(_versions)

    def remove_namespace(self, name: str) -> None:
        if self.namespaces.pop(name, None) is not None:
            self.layout_version = next(_versions)

    # Pods --------------------------------------------------------------------------------------

    def add_pod(self, info: PodInfo, node_name: str) -> None:
        """Count a pod on a node; what was known of it before counts no more."""
        if info.uid in self._pods:
            self.remove_pod(info.uid)
        self._pods[info.uid] = (info, node_name)
        if node_name in self.nodes:
            self._settle(info, node_name)
        else:
            self._waiting.setdefault(node_name, {})[info.uid] = info

    def remove_pod(self, uid: str) -> None:
        """Forget a pod, if it is known."""
        found = self._pods.pop(uid, None)
        if found is None:
            return
        info, node_name = found
        if node_name in self.nodes:
            self._unsettle(info, node_name)
            return
        waiting = self._waiting[node_name]
        del waiting[uid]
        if not waiting:
            del self._waiting[node_name]

    def has_pod(self, uid: str) -> bool:
        return uid in self._pods

    def pod(self, uid: str) -> PodInfo | None:
        found = self._pods.get(uid)
        return found and found[0]

    def node_of(self, uid: str) -> str | None:
        """The name of the node a pod was assigned to, whether or not the node is there."""
        found = self._pods.get(uid)
        return found and found[1]

    def pods(self) -> Iterator[PodInfo]:
        """All pods that were assigned."""
        return (info for info, _ in self._pods.values())

    @property
    def moves_count(self) -> int:
        """How many pods have come to nodes or left them so far, together."""
        return self._moves_count

    def moves_since(self, count: int) -> Iterable[Move] | None:
        """What happened after so many moves, oldest first; None if that is too long ago."""
        missed = self._moves_count - count
        if missed > len(self._moves):
            return None
        return islice(self._moves, len(self._moves) - missed, None)

    @property
    def index(self) -> PodIndex:
        """How many pods of which labels are on which nodes."""
        if self._index is None:
            self._index = PodIndex()
            for node in self.nodes.values():
                for info in node.pods.values():
                    self._index.add(info, node.name)
        return self._index

    def _settle(self, info: PodInfo, node_name: str) -> None:
        self.nodes[node_name].add_pod(info)
        self._moves.append(Move(info, node_name, True))
        self._moves_count += 1
        if self._index is not None:
            self._index.add(info, node_name)
        if info.pod.spec.affinity is not None:
            for leaning in info.repulsions():
                self.anti_affinity.add(leaning, node_name)
            for leaning in info.attractions():
                self.leanings.add(leaning, node_name)

    def _unsettle(self, info: PodInfo, node_name: str) -> None:
        self.nodes[node_name].remove_pod(info)
        self._moves.append(Move(info, node_name, False))
        self._moves_count += 1
        if self._index is not None:
            self._index.remove(info, node_name)
        if info.pod.spec.affinity is not None:
            for leaning in info.repulsions():
                self.anti_affinity.remove(leaning, node_name)
            for leaning in info.attractions():
                self.leanings.remove(leaning, node_name)
