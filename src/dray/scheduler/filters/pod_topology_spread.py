"""PodTopologySpread: pods alike may lie only so unevenly over the values of a node label.

One more pod may not exceed the smallest count of any value by more than the skew; what is counted
is in `dray.scheduler.spread`.

Two departures where upstream's arithmetic goes astray during preemption: a terminating pod that
leaves was never counted and so is not taken off (test_a_terminating_pod_that_leaves_frees_nothing),
and the smallest count is exact whichever pods move. Upstream counterpart: the plugin of the same
name.
"""

from __future__ import annotations

from typing import Final

from dray.api.core import DO_NOT_SCHEDULE
from dray.scheduler.counted import Counted
from dray.scheduler.filters.filter import Attempt, CountingTest, Rejection, Test
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.spread import EligibleNodes, Tally, read_constraints

__all__ = ["PodTopologySpread"]

_UNEVEN: Final = Rejection(
    "PodTopologySpread", ("node(s) didn't match pod topology spread constraints",), resolvable=True
)
_NO_LABEL: Final = Rejection(
    "PodTopologySpread",
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    resolvable=False,
)


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
        # How much the pod itself adds: nothing where the selector does not mean it.
        own = tuple(int(each.selector.matches(pod.labels)) for each in constraints)
        shape = (pod.namespace, pod.placement_key, constraints, own)
        known = self._counted.recall(shape, snapshot)
        if known is not None:
            return known
        eligible = self._eligible.of(pod, constraints, snapshot)
        tallies = [
            Tally.of(pod.namespace, each, nodes, snapshot)
            for each, nodes in zip(constraints, eligible, strict=True)
        ]
        return self._counted.keep(shape, snapshot, _Test(tallies, own))


class _Test(CountingTest):
    __slots__ = ("_own", "_tallies")

    def __init__(self, tallies: list[Tally], own: tuple[int, ...]) -> None:
        self._tallies = tallies
        self._own = own

    def __call__(self, node: NodeInfo) -> Rejection | None:
        labels = node.labels
        for tally, own in zip(self._tallies, self._own, strict=True):
            constraint = tally.constraint
            value = labels.get(constraint.key)
            if value is None:
                return _NO_LABEL
            if tally.count(value) + own - tally.smallest() > constraint.skew_max:
                return _UNEVEN
        return None

    def copy(self) -> CountingTest:
        return _Test([tally.copy() for tally in self._tallies], self._own)

    def add_pod(self, info: PodInfo, node: NodeInfo) -> None:
        for tally in self._tallies:
            tally.add_pod(info, node)

    def remove_pod(self, info: PodInfo, node: NodeInfo) -> None:
        for tally in self._tallies:
            tally.remove_pod(info, node)
