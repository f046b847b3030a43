"""How good a node is for a pod, among those where it can be.

`least_allocated` prefers nodes with much left, as upstream's default strategy does: the mean over
cpu and memory of what would remain free, 0 to 100. `score` is what the pod itself prefers of a node
by its labels, and what the node's taints advise against.

Upstream counterparts: the Score of NodeResourcesFit, NodeAffinity and TaintToleration.
"""

from __future__ import annotations

from typing import Final

from dray.api.core import (
    RESOURCE_CPU,
    RESOURCE_MEMORY,
    TAINT_EFFECT_PREFER_NO_SCHEDULE,
    Node,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
)
from dray.api.node_matching import node_matches
from dray.errors import AllocationError
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.tolerations import tolerated

__all__ = ["least_allocated", "score"]

_SCORE_MAX: Final = 100
_TAINT_WEIGHT: Final = 3
_AFFINITY_WEIGHT: Final = 2


def least_allocated(pod: PodInfo, node: NodeInfo) -> float:
    """How much of cpu and memory would be left with the pod there; 0 to 100."""
    allocatable = node.allocatable
    total = 0
    known = 0
    cpu = allocatable.get(RESOURCE_CPU, 0)
    if cpu:
        known += 1
        free = cpu - node.scored_cpu - pod.scored_cpu
        if free > 0:
            total += free * _SCORE_MAX // cpu
    memory = allocatable.get(RESOURCE_MEMORY, 0)
    if memory:
        known += 1
        free = memory - node.scored_memory - pod.scored_memory
        if free > 0:
            total += free * _SCORE_MAX // memory
    return total // known if known else 0


def score(pod: PodInfo, node: NodeInfo) -> float:
    """What speaks for the node apart from its size: above zero for, below zero against."""
    total = 0
    if node.node.spec.taints:
        total -= _TAINT_WEIGHT * _unwelcome_taints(pod.pod, node.node)
    if pod.pod.spec.affinity is not None:
        total += _AFFINITY_WEIGHT * _preferred_weight(pod.pod, node.node)
    return total


def _unwelcome_taints(pod: Pod, node: Node) -> int:
    """How many taints advise against the node and are not tolerated."""
    tolerations = [
        each
        for each in pod.spec.tolerations
        if each.effect in ("", TAINT_EFFECT_PREFER_NO_SCHEDULE)
    ]
    return sum(
        taint.effect == TAINT_EFFECT_PREFER_NO_SCHEDULE and not tolerated(taint, tolerations)
        for taint in node.spec.taints
    )


def _preferred_weight(pod: Pod, node: Node) -> int:
    """The weights of the preferred terms of node affinity that the node matches, together."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return 0
    return sum(
        each.weight
        for each in affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
        if each.weight and _matches(node, each.preference)
    )


def _matches(node: Node, term: NodeSelectorTerm) -> bool:
    try:
        return node_matches(node, None, None, NodeSelector(node_selector_terms=(term,)))
    except AllocationError:
        return False
