"""Whether a pod can be on a node, devices aside: all filters together, in upstream's order.

A pod may name the only nodes it can be on; all others are refused for that, before any filter is
asked. What filters that look at the node alone say is remembered per placement key and
`NodeInfo.place`: pods of one template and nodes that did not change cost one look into a dict. The
rest is asked anew each time. The first filter that refuses is the answer.

What might be: `NodeInfo.copy()` gives a node to play with, `NodeCheck.copy()` a check that may be
told of the same moves; `check.on(node)` then answers for the cluster as it would be. Upstream
counterparts: RunPreFilterPlugins, RunFilterPlugins, and the PreFilterExtensions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

from dray.scheduler.filters.filter import (
    Attempt,
    CountingTest,
    Filter,
    NamingFilter,
    Rejection,
    Test,
)
from dray.scheduler.filters.inter_pod_affinity import InterPodAffinity
from dray.scheduler.filters.node_affinity import NodeAffinity
from dray.scheduler.filters.node_name import NodeName
from dray.scheduler.filters.node_ports import NodePorts
from dray.scheduler.filters.node_resources_fit import NodeResourcesFit
from dray.scheduler.filters.node_unschedulable import NodeUnschedulable
from dray.scheduler.filters.pod_topology_spread import PodTopologySpread
from dray.scheduler.filters.taint_toleration import TaintToleration
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo
from dray.scheduler.snapshot import Snapshot

__all__ = ["Feasibility", "Filter", "NodeCheck", "Rejection", "default_filters"]

# Pods waiting at one time are of few shapes. One remembered for 5,000 nodes takes half a megabyte.
REMEMBERED_SHAPES_MAX: Final = 64

# A node that changes leaves its old verdict behind. Twice as many as there are nodes are kept, and
# a few for small clusters, before all are asked anew.
_SPARE_VERDICTS: Final = 64

_CONFLICT: Final = "pod affinity terms conflict"
_NOT_ASKED: Final = Rejection("", (), False)


def default_filters() -> tuple[Filter, ...]:
    """All filters, in upstream's order."""
    return (
        NodeUnschedulable(),
        NodeName(),
        TaintToleration(),
        NodeAffinity(),
        NodePorts(),
        NodeResourcesFit(),
        PodTopologySpread(),
        InterPodAffinity(),
    )


Verdicts = dict[int, Rejection | None]


class Feasibility:
    """The filters over one snapshot, and what they said so far."""

    def __init__(self, snapshot: Snapshot, filters: Sequence[Filter] | None = None) -> None:
        self._snapshot = snapshot
        filters = default_filters() if filters is None else filters
        # Node-only filters come first upstream too, so that parting them keeps the order.
        self._static = tuple(each for each in filters if each.static)
        self._dynamic = tuple(each for each in filters if not each.static)
        self._shapes: OrderedDict[Hashable, Verdicts] = OrderedDict()

    def check(self, pod: PodInfo, *, ignored_resources: frozenset[str] = frozenset()) -> NodeCheck:
        """Prepare to ask about nodes, for one attempt: it is outdated by the next change."""
        attempt = Attempt(pod, self._snapshot, ignored_resources)
        tests = [test for each in self._dynamic if (test := each.prepare(attempt)) is not None]
        return NodeCheck(attempt, self._verdicts(pod.placement_key), self._static, tests)

    def _verdicts(self, shape: Hashable) -> Verdicts:
        verdicts = self._shapes.get(shape)
        if verdicts is None:
            verdicts = self._shapes[shape] = {}
            if len(self._shapes) > REMEMBERED_SHAPES_MAX:
                self._shapes.popitem(last=False)
            return verdicts
        self._shapes.move_to_end(shape)
        if len(verdicts) > 2 * len(self._snapshot.nodes) + _SPARE_VERDICTS:
            verdicts.clear()
        return verdicts


class NodeCheck:
    """One pod, ready to be asked about nodes."""

    __slots__ = ("_attempt", "_named", "_static", "_static_tests", "_tests", "_verdicts")

    def __init__(
        self,
        attempt: Attempt,
        verdicts: Verdicts,
        static: Sequence[Filter],
        tests: Sequence[Test],
    ) -> None:
        self._attempt = attempt
        self._verdicts = verdicts
        self._static = static
        self._static_tests: list[Test] | None = None
        self._named: _Named | None = None
        self._tests = tests

    def on(self, node: NodeInfo) -> Rejection | None:
        """Why the pod cannot be on the node; None if it can."""
        verdict = self._verdicts.get(node.place, _NOT_ASKED)
        if verdict is _NOT_ASKED:
            verdict = self._verdicts[node.place] = self._judge(node)
        if verdict is not None:
            return verdict
        for test in self._tests:
            verdict = test(node)
            if verdict is not None:
                return verdict
        return None

    def needed(self) -> dict[str, int]:
        """What is asked of every node: the pod's requests without those devices may stand for."""
        ignored = self._attempt.ignored_resources
        requests = self._attempt.pod.requests
        return {name: amount for name, amount in requests.items() if name not in ignored}

    def candidates(self) -> frozenset[str] | None:
        """The names of the only nodes worth asking about; None: all are."""
        return self._naming().names

    def refusal(self) -> Rejection | None:
        """Why the pod can be nowhere, whatever nodes there are."""
        named = self._naming()
        return named.others if named.names is not None and not named.names else None

    # What might be -----------------------------------------------------------------------------

    def copy(self) -> NodeCheck:
        """A check that can be told of pods that come and go in thought."""
        if not any(isinstance(test, CountingTest) for test in self._tests):
            return self
        tests = [test.copy() if isinstance(test, CountingTest) else test for test in self._tests]
        return NodeCheck(self._attempt, self._verdicts, self._static, tests)

    def add_pod(self, info: PodInfo, node: NodeInfo) -> None:
        """As if the pod were on the node too. For copies; the node is told by itself."""
        for test in self._tests:
            if isinstance(test, CountingTest):
                test.add_pod(info, node)

    def remove_pod(self, info: PodInfo, node: NodeInfo) -> None:
        """As if the pod were not on the node. For copies; the node is told by itself."""
        for test in self._tests:
            if isinstance(test, CountingTest):
                test.remove_pod(info, node)

    def _naming(self) -> _Named:
        if self._named is None:
            self._named = _name(self._attempt.pod, self._static)
        return self._named

    def _judge(self, node: NodeInfo) -> Rejection | None:
        named = self._naming()
        if named.names is not None and node.name not in named.names:
            return named.others
        if self._static_tests is None:
            prepared = (each.prepare(self._attempt) for each in self._static)
            self._static_tests = [test for test in prepared if test is not None]
        for test in self._static_tests:
            rejection = test(node)
            if rejection is not None:
                return rejection
        return None


class _Named(NamedTuple):
    """The nodes a pod names, if it does, and why it can be on no other."""

    names: frozenset[str] | None
    others: Rejection | None


def _name(pod: PodInfo, filters: Sequence[Filter]) -> _Named:
    names: frozenset[str] | None = None
    plugins: list[str] = []
    for each in filters:
        only = each.only(pod) if isinstance(each, NamingFilter) else None
        if only is None:
            continue
        if not only:
            return _Named(only, Rejection(each.name, (_CONFLICT,), resolvable=False))
        plugins.append(each.name)
        names = only if names is None else names & only
    if names is None:
        return _Named(None, None)
    reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"
    if not names:
        reason += " simultaneously"
    return _Named(names, Rejection(plugins[0], (reason,), resolvable=False))
