"""How full a node would be with a pod on it.

`least_allocated` prefers nodes with much left: the mean over cpu and memory of what would remain.
`balanced_allocation` prefers nodes on which the pod brings the use of cpu and that of memory closer
together, so that neither is left over in vain. Both give 0 to 100 points; upstream adds them up. A
pod that says nothing of cpu or memory counts a little for the first and nothing for the second.

Upstream counterparts: the Score of NodeResourcesFit with its default strategy, and of
NodeResourcesBalancedAllocation. What pods themselves prefer is in `dray.scheduler.preferences`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api.core import RESOURCE_CPU, RESOURCE_MEMORY
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo

__all__ = ["balanced_allocation", "least_allocated"]

POINTS_MAX: Final = 100


def least_allocated(pod: PodInfo, node: NodeInfo) -> int:
    """How much of cpu and memory would be left with the pod there."""
    cpu = node.allocatable.get(RESOURCE_CPU, 0)
    memory = node.allocatable.get(RESOURCE_MEMORY, 0)
    if cpu and memory:
        return (
            _left(cpu, node.scored_cpu + pod.scored_cpu)
            + _left(memory, node.scored_memory + pod.scored_memory)
        ) // 2
    if cpu:
        return _left(cpu, node.scored_cpu + pod.scored_cpu)
    return _left(memory, node.scored_memory + pod.scored_memory) if memory else 0


def _left(offered: int, used: int) -> int:
    return (offered - used) * POINTS_MAX // offered if used < offered else 0


def balanced_allocation(pod: PodInfo, node: NodeInfo) -> int:
    """Whether the pod would use up what the others leave over: 75 if it makes no difference."""
    requests = pod.requests
    cpu, memory = requests.get(RESOURCE_CPU, 0), requests.get(RESOURCE_MEMORY, 0)
    if not cpu and not memory:
        return 0  # it has no say, and all nodes are equal to it
    used = node.requested
    used_cpu, used_memory = used.get(RESOURCE_CPU, 0), used.get(RESOURCE_MEMORY, 0)
    after = _balance(used_cpu + cpu, used_memory + memory, node.allocatable)
    before = _balance(used_cpu, used_memory, node.allocatable)
    # Go cuts towards zero; the sum is never below zero.
    return POINTS_MAX // 2 + (POINTS_MAX // 2 + after - before) // 2


def _balance(cpu: int, memory: int, offered: Mapping[str, int]) -> int:
    """From 50, when one is used up and the other untouched, to 100, when both are used alike."""
    offered_cpu, offered_memory = offered.get(RESOURCE_CPU, 0), offered.get(RESOURCE_MEMORY, 0)
    if not offered_cpu or not offered_memory:
        return POINTS_MAX
    distance = abs(min(cpu / offered_cpu, 1.0) - min(memory / offered_memory, 1.0))
    return int((1 - distance / 2) * POINTS_MAX)
