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
from dray.scheduler.filters.inter_pod_affinity import TopologyCounts, groups_of
from dray.scheduler.filters.pod_topology_spread import (
    EligibleNodes,
    count_pods,
    read_constraints,
)
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.snapshot import Snapshot
from dray.scheduler.tolerations import tolerated

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
        # A node without one of the labels has no place in the picture, and gets no points.
        placed = [node for node in nodes if all(each.key in node.labels for each in constraints)]
        eligible = self._eligible.of(pod, constraints, self._snapshot)
        crowds = dict.fromkeys((node.name for node in placed), 0.0)
        for constraint, counted in zip(constraints, eligible, strict=True):
            if constraint.key == _HOSTNAME:
                # On a host only its own pods matter, whatever says which nodes count.
                values = {node.name: node.name for node in placed}
                counts = count_pods(pod.namespace, constraint, values, self._snapshot)
            else:
                values = {node.name: node.labels[constraint.key] for node in placed}
                counts = count_pods(pod.namespace, constraint, counted, self._snapshot)
            # Where a label has many values, one pod more or less weighs more.
            weight = log(len(set(values.values())) + 2)
            for name, value in values.items():
                crowds[name] += counts.get(value, 0) * weight + constraint.skew_max - 1
        rounded = {name: floor(crowd + 0.5) for name, crowd in crowds.items()}
        least, most = min(rounded.values(), default=0), max(rounded.values(), default=0)
        return [
            0
            if node.name not in rounded
            else POINTS_MAX * (most + least - rounded[node.name]) // most
            if most
            else POINTS_MAX
            for node in nodes
        ]

    def _pod_affinity_points(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int] | None:
        snapshot = self._snapshot
        if not pod.leanings and not len(snapshot.leanings):
            return None
        counts = TopologyCounts()
        for term, weight in pod.leanings:
            for group in groups_of(term, snapshot):
                counts.count(term.topology_key, group.counts, snapshot.nodes, weight)
        for (term, weight), holders in snapshot.leanings.meaning(pod, snapshot.namespaces):
            counts.count(term.topology_key, holders, snapshot.nodes, weight)
        if not counts:
            return None
        totals = [counts.total(node.labels) for node in nodes]
        least, most = min(totals, default=0), max(totals, default=0)
        if least == most:
            return None
        return [int(POINTS_MAX * ((total - least) / (most - least))) for total in totals]


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
