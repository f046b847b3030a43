"""InterPodAffinity: pods that must be near others, far from others, or that others keep away.

Three counts per node label that is asked for, by its value: pods that match all the terms of the
pod's affinity at once, pods that match any term of its anti-affinity, and pods whose anti-affinity
means this pod. A pod that is the first of its kind may be anywhere if it matches its own terms,
for else such pods could never begin.

Other pods that leave can help against all but the first. Terminating pods count: they are still
there. Upstream counterpart: the plugin of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from dray.scheduler.counted import Counted
from dray.scheduler.filters.filter import Attempt, CountingTest, Rejection, Test
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import AffinityTerm, PodInfo
from dray.scheduler.snapshot import Snapshot
from dray.scheduler.term_index import HeldTerm
from dray.scheduler.topology_counts import TopologyCounts, groups_of

__all__ = ["InterPodAffinity"]

_NOT_NEAR: Final = Rejection(
    "InterPodAffinity", ("node(s) didn't match pod affinity rules",), resolvable=False
)
_NOT_FAR: Final = Rejection(
    "InterPodAffinity", ("node(s) didn't match pod anti-affinity rules",), resolvable=True
)
_KEPT_AWAY: Final = Rejection(
    "InterPodAffinity",
    ("node(s) didn't satisfy existing pods anti-affinity rules",),
    resolvable=True,
)


class InterPodAffinity:
    """Upstream counterpart: the plugin of the same name."""

    name: Final = "InterPodAffinity"
    static: Final = False

    def __init__(self) -> None:
        self._counted: Counted[_Test] = Counted()

    def prepare(self, attempt: Attempt) -> Test | None:
        pod, snapshot = attempt.pod, attempt.snapshot
        refusing = list(snapshot.anti_affinity.meaning(pod, snapshot.namespaces))
        if not (refusing or pod.affinity_terms or pod.anti_affinity_terms):
            return None
        labels = frozenset(pod.labels.items())
        shape = (pod.namespace, labels, pod.affinity_terms, pod.anti_affinity_terms)
        known = self._counted.recall(shape, snapshot)
        if known is not None:
            return known
        return self._counted.keep(shape, snapshot, _count(pod, snapshot, refusing))


def _count(pod: PodInfo, snapshot: Snapshot, refusing: Iterable[HeldTerm]) -> _Test:
    nodes = snapshot.nodes
    near, far, kept_away = TopologyCounts(), TopologyCounts(), TopologyCounts()
    if pod.affinity_terms:
        first, *others = pod.affinity_terms
        for group in groups_of(first, snapshot):
            if all(term.matches(group, snapshot.namespaces) for term in others):
                for term in pod.affinity_terms:
                    near.count(term.topology_key, group.counts, nodes)
    for term in pod.anti_affinity_terms:
        for group in groups_of(term, snapshot):
            far.count(term.topology_key, group.counts, nodes)
    for leaning, counts in refusing:
        kept_away.count(leaning.term.topology_key, counts, nodes)
    return _Test(pod, snapshot, near, far, kept_away)


class _Test(CountingTest):
    __slots__ = ("_far", "_kept_away", "_near", "_pod", "_snapshot")

    def __init__(
        self,
        pod: PodInfo,
        snapshot: Snapshot,
        near: TopologyCounts,
        far: TopologyCounts,
        kept_away: TopologyCounts,
    ) -> None:
        self._pod = pod
        self._snapshot = snapshot
        self._near = near
        self._far = far
        self._kept_away = kept_away

    def __call__(self, node: NodeInfo) -> Rejection | None:
        if self._pod.affinity_terms and not self._is_near(node.labels):
            return _NOT_NEAR
        if self._far and self._far.touch(node.labels):
            return _NOT_FAR
        if self._kept_away and self._kept_away.touch(node.labels):
            return _KEPT_AWAY
        return None

    def copy(self) -> CountingTest:
        near, far, kept_away = self._near.clone(), self._far.clone(), self._kept_away.clone()
        return _Test(self._pod, self._snapshot, near, far, kept_away)

    def add_pod(self, info: PodInfo, node: NodeInfo) -> None:
        self._change(info, node, 1)

    def remove_pod(self, info: PodInfo, node: NodeInfo) -> None:
        self._change(info, node, -1)

    def _change(self, info: PodInfo, node: NodeInfo, by: int) -> None:
        pod, namespaces = self._pod, self._snapshot.namespaces
        if pod.affinity_terms and _match_all(pod.affinity_terms, info, namespaces):
            self._near.on(node, by, pod.affinity_terms)
        self._far.on(
            node, by, (term for term in pod.anti_affinity_terms if term.matches(info, namespaces))
        )
        self._kept_away.on(
            node, by, (term for term in info.anti_affinity_terms if term.matches(pod, namespaces))
        )

    def _is_near(self, labels: Mapping[str, str]) -> bool:
        found = True
        for term in self._pod.affinity_terms:
            value = labels.get(term.topology_key)
            if value is None:
                return False  # also for the first of its kind
            found = found and value in self._near.get(term.topology_key, ())
        return found or (
            not self._near
            and _match_all(self._pod.affinity_terms, self._pod, self._snapshot.namespaces)
        )


def _match_all(
    terms: Iterable[AffinityTerm], pod: PodInfo, namespaces: Mapping[str, Mapping[str, str]]
) -> bool:
    return all(term.matches(pod, namespaces) for term in terms)
