"""How pods alike lie over the values of a node label: what constraints count.

A constraint counts the pods of the namespace that it selects, by the value of its label, over the
nodes that are eligible: that have the labels of all constraints and, as the constraint says, match
the pod's node affinity and have no taints it does not tolerate. Terminating pods do not count, and
neither does anything for a selector that selects every pod, as upstream.

Upstream counterparts: common.go of the plugin PodTopologySpread, and what it counts first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, NamedTuple

from dray.api.core import (
    NODE_INCLUSION_POLICY_HONOR,
    NODE_INCLUSION_POLICY_IGNORE,
    TopologySpreadConstraint,
)
from dray.api.labels import Selector
from dray.scheduler.counted import Counting
from dray.scheduler.filters.node_affinity import RequiredNodes
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo, read_selector
from dray.scheduler.snapshot import Snapshot
from dray.scheduler.tolerations import untolerated

__all__ = ["Constraint", "Eligible", "EligibleNodes", "Tally", "read_constraints"]

# Shapes of pods with constraints that are tried in turn. One takes a dict over all nodes.
REMEMBERED_SHAPES_MAX: Final = 16

# The value of the constraint's label, by the name of each node that counts.
Eligible = Mapping[str, str]


class Constraint(NamedTuple):
    """One constraint as it is for one pod."""

    key: str
    skew_max: int
    domains_min: int
    selector: Selector
    affinity_counts: bool
    taints_count: bool

    @property
    def scope(self) -> Hashable:
        """All that decides which nodes are eligible, beside the pod."""
        return self.key, self.affinity_counts, self.taints_count


class Tally(Counting):
    """How many pods there are for each value of one constraint's label."""

    __slots__ = ("_counts", "_eligible", "_namespace", "_smallest", "constraint")

    def __init__(
        self, namespace: str, constraint: Constraint, eligible: Eligible, counts: dict[str, int]
    ) -> None:
        self.constraint = constraint
        self._namespace = namespace
        self._eligible = eligible
        self._counts = counts
        self._smallest: int | None = None

    @staticmethod
    def of(namespace: str, constraint: Constraint, eligible: Eligible, snapshot: Snapshot) -> Tally:
        counts = dict.fromkeys(eligible.values(), 0)
        if constraint.selector.requirements:
            for group in snapshot.index.select(namespace, constraint.selector):
                if not group.terminating:
                    for name, number in group.counts.items():
                        value = eligible.get(name)
                        if value is not None:
                            counts[value] += number
        return Tally(namespace, constraint, eligible, counts)

    def copy(self) -> Tally:
        return Tally(self._namespace, self.constraint, self._eligible, self._counts.copy())

    def count(self, value: str) -> int:
        return self._counts.get(value, 0)

    def smallest(self) -> int:
        """The least of the counts; zero, if there are fewer values than the constraint asks for."""
        if self._smallest is None:
            enough = len(self._counts) >= self.constraint.domains_min
            self._smallest = min(self._counts.values(), default=0) if enough else 0
        return self._smallest

    def add_pod(self, info: PodInfo, node: NodeInfo) -> None:
        self._change(info, node, 1)

    def remove_pod(self, info: PodInfo, node: NodeInfo) -> None:
        self._change(info, node, -1)

    def _change(self, info: PodInfo, node: NodeInfo, by: int) -> None:
        if info.terminating or info.namespace != self._namespace:
            return
        value = self._eligible.get(node.name)
        selector = self.constraint.selector
        if value is not None and selector.requirements and selector.matches(info.labels):
            self._counts[value] += by
            self._smallest = None


class EligibleNodes:
    """The nodes over which constraints count, remembered until a node changes: pods change none."""

    def __init__(self) -> None:
        self._remembered: OrderedDict[Hashable, tuple[int, tuple[Eligible, ...]]] = OrderedDict()

    def of(
        self, pod: PodInfo, constraints: tuple[Constraint, ...], snapshot: Snapshot
    ) -> tuple[Eligible, ...]:
        """For each constraint the nodes that count."""
        key = (pod.placement_key, tuple(each.scope for each in constraints))
        known = self._remembered.get(key)
        if known is not None and known[0] == snapshot.layout_version:
            self._remembered.move_to_end(key)
            return known[1]
        found = _eligible_nodes(pod, constraints, snapshot.nodes.values())
        self._remembered[key] = (snapshot.layout_version, found)
        self._remembered.move_to_end(key)
        if len(self._remembered) > REMEMBERED_SHAPES_MAX:
            self._remembered.popitem(last=False)
        return found


def read_constraints(pod: PodInfo, action: str) -> tuple[Constraint, ...]:
    """The constraints of a pod that ask for this when they cannot be met."""
    return tuple(
        _read(each, pod.labels)
        for each in pod.pod.spec.topology_spread_constraints
        if each.when_unsatisfiable == action
    )


def _read(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Constraint:
    selector = read_selector(constraint.label_selector)
    own = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    # A selector that selects nothing is narrowed by nothing.
    if own and selector.selectable:
        narrowed = Selector.from_labels(own)
        selector = Selector((*narrowed.requirements, *selector.requirements))
    affinity = constraint.node_affinity_policy or NODE_INCLUSION_POLICY_HONOR
    taints = constraint.node_taints_policy or NODE_INCLUSION_POLICY_IGNORE
    return Constraint(
        constraint.topology_key,
        constraint.max_skew,
        1 if constraint.min_domains is None else constraint.min_domains,
        selector,
        affinity_counts=affinity == NODE_INCLUSION_POLICY_HONOR,
        taints_count=taints == NODE_INCLUSION_POLICY_HONOR,
    )


def _eligible_nodes(
    pod: PodInfo, constraints: tuple[Constraint, ...], nodes: Iterable[NodeInfo]
) -> tuple[Eligible, ...]:
    found: tuple[dict[str, str], ...] = tuple({} for _ in constraints)
    required = RequiredNodes(pod.pod)
    any_affinity = any(each.affinity_counts for each in constraints) and not required.trivial
    any_taints = any(each.taints_count for each in constraints)
    tolerations = pod.pod.spec.tolerations
    for node in nodes:
        labels = node.labels
        if not all(each.key in labels for each in constraints):
            continue
        unmatched = any_affinity and not required.match(node.node)
        tainted = any_taints and untolerated(node.node.spec.taints, tolerations) is not None
        for constraint, values in zip(constraints, found, strict=True):
            if not (unmatched and constraint.affinity_counts) and not (
                tainted and constraint.taints_count
            ):
                values[node.name] = labels[constraint.key]
    return found
