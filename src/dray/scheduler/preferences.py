"""What pods would rather have, among the nodes that would do.

Four wishes give each node 0 to 100 points, weighed against each other as upstream does: taints that
advise against a node, preferred node affinity, spreading that is not required, and being near to or
far from other pods. Wishes are mutual: what placed pods would like to be near counts too. A wish
that tells no node from another gives nothing, and without any there is nothing to compute.

Points only compare nodes of one call, for they are relative to the best and the worst among them.
Not here: how full nodes are (`dray.scheduler.scoring`), and the spreading upstream wishes for pods
that say nothing, by the services and sets that select them. Upstream counterparts: the Score and
NormalizeScore of TaintToleration, NodeAffinity, PodTopologySpread and InterPodAffinity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log
from typing import Final

from dray.api.core import (
    SCHEDULE_ANYWAY,
    TAINT_EFFECT_PREFER_NO_SCHEDULE,
    Node,
    NodeSelector,
    NodeSelectorTerm,
)
from dray.api.node_matching import node_matches
from dray.errors import AllocationError
from dray.scheduler.counted import Counted, Counting
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.snapshot import Snapshot
from dray.scheduler.spread import Constraint, EligibleNodes, Tally, read_constraints
from dray.scheduler.tolerations import tolerated
from dray.scheduler.topology_counts import TopologyCounts, groups_of

__all__ = ["Preferences"]

POINTS_MAX: Final = 100

# How much each wish counts; upstream's defaults.
TAINTS_WEIGHT: Final = 3
NODE_AFFINITY_WEIGHT: Final = 2
SPREAD_WEIGHT: Final = 2
POD_AFFINITY_WEIGHT: Final = 2

_HOSTNAME: Final = "kubernetes.io/hostname"


class Preferences:
    """The wishes of pods, and of the pods that are there already, over one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._eligible = EligibleNodes()
        self._crowds: Counted[_Crowds] = Counted()
        self._leanings: Counted[_Leanings] = Counted()

    def points(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Mapping[str, int]:
        """What speaks for each of the nodes, by name; nothing, if nobody has a wish."""
        wishes = [
            (weight, points)
            for weight, points in (
                (TAINTS_WEIGHT, _taint_points(pod, nodes)),
                (NODE_AFFINITY_WEIGHT, _node_affinity_points(pod, nodes)),
                (SPREAD_WEIGHT, self._spread_points(pod, nodes)),
                (POD_AFFINITY_WEIGHT, self._pod_affinity_points(pod, nodes)),
            )
            if points is not None
        ]
        if not wishes:
            return {}
        totals = (
            sum(weight * points[index] for weight, points in wishes) for index in range(len(nodes))
        )
        return {node.name: total for node, total in zip(nodes, totals, strict=True)}

    def _spread_points(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int] | None:
        if not pod.pod.spec.topology_spread_constraints:
            return None
        constraints = read_constraints(pod, SCHEDULE_ANYWAY)
        if not constraints:
            return None
        shape = (pod.namespace, pod.placement_key, constraints)
        crowds = self._crowds.recall(shape, self._snapshot)
        if crowds is None:
            crowds = self._crowds.keep(shape, self._snapshot, self._count(pod, constraints))
        # A node without one of the labels has no place in the picture, and gets no points.
        placed = [node for node in nodes if all(each.key in node.labels for each in constraints)]
        totals = dict.fromkeys((node.name for node in placed), 0.0)
        for tally in crowds.tallies:
            constraint = tally.constraint
            values = {node.name: _place(node, constraint.key) for node in placed}
            # Where a label has many values, one pod more or less weighs more.
            weight = log(len(set(values.values())) + 2)
            for name, value in values.items():
                totals[name] += tally.count(value) * weight + constraint.skew_max - 1
        rounded = {name: floor(total + 0.5) for name, total in totals.items()}
        least, most = min(rounded.values(), default=0), max(rounded.values(), default=0)
        return [
            0
            if node.name not in rounded
            else POINTS_MAX * (most + least - rounded[node.name]) // most
            if most
            else POINTS_MAX
            for node in nodes
        ]

    def _count(self, pod: PodInfo, constraints: tuple[Constraint, ...]) -> _Crowds:
        snapshot = self._snapshot
        hosts = {name: name for name in snapshot.nodes}
        eligible = self._eligible.of(pod, constraints, snapshot)
        return _Crowds(
            [
                # On a host only its own pods matter, whatever says which nodes count.
                Tally.of(pod.namespace, each, hosts if each.key == _HOSTNAME else counted, snapshot)
                for each, counted in zip(constraints, eligible, strict=True)
            ]
        )

    def _pod_affinity_points(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int] | None:
        snapshot = self._snapshot
        if not pod.leanings and not len(snapshot.leanings):
            return None
        shape = (pod.namespace, frozenset(pod.labels.items()), pod.leanings)
        leanings = self._leanings.recall(shape, snapshot)
        if leanings is None:
            leanings = self._leanings.keep(shape, snapshot, _Leanings(pod, snapshot))
        if not leanings.counts:
            return None
        totals = [leanings.counts.total(node.labels) for node in nodes]
        least, most = min(totals, default=0), max(totals, default=0)
        if least == most:
            return None
        return [int(POINTS_MAX * ((total - least) / (most - least))) for total in totals]


class _Crowds(Counting):
    """The pods that constraints count, for each of them."""

    __slots__ = ("tallies",)

    def __init__(self, tallies: Sequence[Tally]) -> None:
        self.tallies = tallies

    def add_pod(self, info: PodInfo, node: NodeInfo) -> None:
        for tally in self.tallies:
            tally.add_pod(info, node)

    def remove_pod(self, info: PodInfo, node: NodeInfo) -> None:
        for tally in self.tallies:
            tally.remove_pod(info, node)


class _Leanings(Counting):
    """The weights of all leanings, of the pod for others and of others for the pod, by place."""

    __slots__ = ("_pod", "_snapshot", "counts")

    def __init__(self, pod: PodInfo, snapshot: Snapshot) -> None:
        self._pod = pod
        self._snapshot = snapshot
        self.counts = TopologyCounts()
        for term, weight in pod.leanings:
            for group in groups_of(term, snapshot):
                self.counts.count(term.topology_key, group.counts, snapshot.nodes, weight)
        for (term, weight), holders in snapshot.leanings.meaning(pod, snapshot.namespaces):
            self.counts.count(term.topology_key, holders, snapshot.nodes, weight)

    def add_pod(self, info: PodInfo, node: NodeInfo) -> None:
        self._change(info, node, 1)

    def remove_pod(self, info: PodInfo, node: NodeInfo) -> None:
        self._change(info, node, -1)

    def _change(self, info: PodInfo, node: NodeInfo, by: int) -> None:
        namespaces = self._snapshot.namespaces
        for term, weight in self._pod.leanings:
            if term.matches(info, namespaces):
                self.counts.on(node, by * weight, (term,))
        for term, weight in info.attractions():
            if term.matches(self._pod, namespaces):
                self.counts.on(node, by * weight, (term,))


def _place(node: NodeInfo, key: str) -> str:
    return node.name if key == _HOSTNAME else node.labels[key]


def _unwelcome_taints(pod: PodInfo, node: NodeInfo) -> int:
    """How many taints advise against a node and are not tolerated."""
    return sum(
        taint.effect == TAINT_EFFECT_PREFER_NO_SCHEDULE
        and not tolerated(taint, pod.pod.spec.tolerations)
        for taint in node.node.spec.taints
    )


def _preferred_weight(pod: PodInfo, node: NodeInfo) -> int:
    """The weights of the terms of preferred node affinity that match a node, together."""
    affinity = pod.pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return 0
    return sum(
        each.weight
        for each in affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
        if _matches(node.node, each.preference)
    )


def _taint_points(pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int] | None:
    if not any(node.node.spec.taints for node in nodes):
        return None
    counts = [_unwelcome_taints(pod, node) for node in nodes]
    most = max(counts)
    return [POINTS_MAX - POINTS_MAX * count // most for count in counts] if most else None


def _node_affinity_points(pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int] | None:
    if pod.pod.spec.affinity is None:
        return None
    totals = [_preferred_weight(pod, node) for node in nodes]
    most = max(totals, default=0)
    return [POINTS_MAX * total // most for total in totals] if most else None


def _matches(node: Node, term: NodeSelectorTerm) -> bool:
    try:
        return node_matches(node, None, None, NodeSelector(node_selector_terms=(term,)))
    except AllocationError:
        return False  # it cannot be read, and so is no wish
