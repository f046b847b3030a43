"""How many pods of which labels are on which nodes.

Pods of one template mostly carry the same labels, so that questions about them are asked of a few
groups and not of thousands of pods. Terminating pods are groups of their own: spreading looks past
them and affinity does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dray.api.labels import Selector
from dray.scheduler.pod_info import PodInfo

__all__ = ["PodGroup", "PodIndex"]


class PodGroup:
    """Pods of one namespace with the same labels: how many there are on each node."""

    __slots__ = ("counts", "labels", "namespace", "terminating")

    def __init__(self, info: PodInfo) -> None:
        self.namespace = info.namespace
        self.labels: Mapping[str, str] = info.labels
        self.terminating = info.terminating
        self.counts: dict[str, int] = {}  # by node name; never zero


Key = tuple[frozenset[tuple[str, str]], bool]


class PodIndex:
    """All pods on nodes, by namespace and labels."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[Key, PodGroup]] = {}

    def add(self, info: PodInfo, node_name: str) -> None:
        groups = self._groups.setdefault(info.namespace, {})
        key = _key(info)
        group = groups.get(key)
        if group is None:
            group = groups[key] = PodGroup(info)
        group.counts[node_name] = group.counts.get(node_name, 0) + 1

    def remove(self, info: PodInfo, node_name: str) -> None:
        """Take out a pod that was added with the same info."""
        groups = self._groups[info.namespace]
        key = _key(info)
        counts = groups[key].counts
        counts[node_name] -= 1
        if not counts[node_name]:
            del counts[node_name]
            if not counts:
                del groups[key]
                if not groups:
                    del self._groups[info.namespace]

    def namespaces(self) -> Iterable[str]:
        """The namespaces that have pods."""
        return self._groups

    def select(self, namespace: str, selector: Selector) -> Iterator[PodGroup]:
        """The groups of a namespace that the selector means."""
        for group in self._groups.get(namespace, {}).values():
            if selector.matches(group.labels):
                yield group


def _key(info: PodInfo) -> Key:
    return frozenset(info.labels.items()), info.terminating
