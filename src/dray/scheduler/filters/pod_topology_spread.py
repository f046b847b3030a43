"""PodTopologySpread: pods alike may lie only so unevenly over the values of a node label.

A constraint counts the pods of the namespace that it selects, by the value of its label, over the
nodes that are eligible: that have the labels of all constraints and, as the constraint says, match
the pod's node affinity and have no taints it does not tolerate. One more pod may not exceed the
smallest of these counts by more than the skew; with fewer values than asked for, the smallest is
zero. Terminating pods do not count.

Two departures where upstream's arithmetic goes astray during preemption: a terminating pod that
leaves was never counted and so is not taken off (test_a_terminating_pod_that_leaves_frees_nothing),
and the smallest count is exact whichever pods move. Not here: constraints by default, which only
score. Upstream counterpart: the plugin of the same name.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, NamedTuple

from dray.api.core import (
    DO_NOT_SCHEDULE,
    NODE_INCLUSION_POLICY_HONOR,
    NODE_INCLUSION_POLICY_IGNORE,
    TopologySpreadConstraint,
)
from dray.api.labels import Selector
from dray.scheduler.counted import Counted
from dray.scheduler.filters.filter import Attempt, CountingTest, Rejection, Test
from dray.scheduler.filters.node_affinity import RequiredNodes
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo, read_selector
from dray.scheduler.snapshot import Snapshot
from dray.scheduler.tolerations import untolerated

__all__ = ["Constraint", "EligibleNodes", "PodTopologySpread", "Tally", "read_constraints"]

_UNEVEN: Final = Rejection(
    "PodTopologySpread", ("node(s) didn't match pod topology spread constraints",), resolvable=True
)
_NO_LABEL: Final = Rejection(
    "PodTopologySpread",
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    resolvable=False,
)

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


class PodTopologySpread:
    """Upstream counterpart: the plugin of the same name."""

    name: Final = "PodTopologySpread"
    static: Final = False

    def __init__(self) -> None:
        self._eligible = EligibleNodes()
        self._counted: Counted[_Test] = Counted()

    def prepare(self, attempt: Attempt) -> Test | None:
        pod, snapshot = attempt.pod, attempt.snapshot
        if not pod.pod.spec.topology_spread_constraints:
            return None
        constraints = read_constraints(pod, DO_NOT_SCHEDULE)
        if not constraints:
            return None
        own = tuple(int(each.selector.matches(pod.labels)) for each in constraints)
        shape = (pod.namespace, pod.placement_key, constraints, own)
        known = self._counted.recall(shape, snapshot)
        if known is not None:
            return known
        tallies = [
            Tally(each, nodes, count_pods(pod.namespace, each, nodes, snapshot), own=one)
            for each, nodes, one in zip(
                constraints, self._eligible.of(pod, constraints, snapshot), own, strict=True
            )
        ]
        return self._counted.keep(shape, snapshot, _Test(pod.namespace, tallies))


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


def count_pods(
    namespace: str, constraint: Constraint, eligible: Eligible, snapshot: Snapshot
) -> dict[str, int]:
    """How many pods there are for each value of the label, zeros included."""
    counts = dict.fromkeys(eligible.values(), 0)
    # As upstream: a selector that selects every pod counts none.
    if not constraint.selector.requirements:
        return counts
    for group in snapshot.index.select(namespace, constraint.selector):
        if group.terminating:
            continue
        for name, number in group.counts.items():
            value = eligible.get(name)
            if value is not None:
                counts[value] += number
    return counts


class Tally:
    """One constraint, and how it stands."""

    __slots__ = ("_counts", "_minimum", "_own", "constraint", "eligible")

    def __init__(
        self,
        constraint: Constraint,
        eligible: Eligible,
        counts: dict[str, int],
        *,
        own: int,
        minimum: int | None = None,
    ) -> None:
        self.constraint = constraint
        self.eligible = eligible
        self._counts = counts
        self._own = own  # how much the pod itself adds: nothing, if the selector does not mean it
        self._minimum = minimum

    def copy(self) -> Tally:
        counts = self._counts.copy()
        return Tally(self.constraint, self.eligible, counts, own=self._own, minimum=self._minimum)

    def accepts(self, value: str) -> bool:
        """Whether one more pod where the label has this value keeps within the skew."""
        minimum = self._minimum
        if minimum is None:
            minimum = self._minimum = self._smallest()
        return self._counts.get(value, 0) + self._own - minimum <= self.constraint.skew_max

    def change(self, info: PodInfo, node: NodeInfo, by: int) -> None:
        value = self.eligible.get(node.name)
        selector = self.constraint.selector
        if value is None or not selector.requirements or not selector.matches(info.labels):
            return
        self._counts[value] += by
        self._minimum = None

    def _smallest(self) -> int:
        if len(self._counts) < self.constraint.domains_min:
            return 0
        return min(self._counts.values(), default=0)


class _Test(CountingTest):
    __slots__ = ("_namespace", "_tallies")

    def __init__(self, namespace: str, tallies: list[Tally]) -> None:
        self._namespace = namespace
        self._tallies = tallies

    def __call__(self, node: NodeInfo) -> Rejection | None:
        labels = node.labels
        for tally in self._tallies:
            value = labels.get(tally.constraint.key)
            if value is None:
                return _NO_LABEL
            if not tally.accepts(value):
                return _UNEVEN
        return None

    def copy(self) -> CountingTest:
        return _Test(self._namespace, [tally.copy() for tally in self._tallies])

    def add_pod(self, info: PodInfo, node: NodeInfo) -> None:
        self._change(info, node, 1)

    def remove_pod(self, info: PodInfo, node: NodeInfo) -> None:
        self._change(info, node, -1)

    def _change(self, info: PodInfo, node: NodeInfo, by: int) -> None:
        if info.namespace == self._namespace and not info.terminating:
            for tally in self._tallies:
                tally.change(info, node, by)
