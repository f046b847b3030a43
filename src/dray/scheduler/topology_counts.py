"""What is where, as far as a node label tells places apart: counts by its key and value.

Terms of affinity say what they mean by one place with the key of a node label. What is counted by
node thus becomes counts by the values that the nodes have for it; a node without the label is in no
place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_index import PodGroup
from dray.scheduler.pod_info import AffinityTerm
from dray.scheduler.snapshot import Snapshot

__all__ = ["TopologyCounts", "groups_of"]


class TopologyCounts(dict[str, dict[str, int]]):
    """How many there are, by the key of a node label and then by its value."""

    def count(
        self, key: str, counts: Mapping[str, int], nodes: Mapping[str, NodeInfo], weight: int = 1
    ) -> None:
        """Add what is counted by node; weights of both signs may add up to zeros that are kept."""
        values = self.get(key, {})
        for name, number in counts.items():
            value = nodes[name].labels.get(key)
            if value is not None:
                values[value] = values.get(value, 0) + weight * number
        if values:
            self[key] = values

    def change(self, key: str, value: str, by: int) -> None:
        """Add to one number; what comes to nothing is forgotten."""
        values = self.setdefault(key, {})
        number = values.get(value, 0) + by
        if number:
            values[value] = number
            return
        values.pop(value, None)
        if not values:
            del self[key]

    def on(self, node: NodeInfo, by: int, terms: Iterable[AffinityTerm]) -> None:
        """Count something on one node, once for each term."""
        for term in terms:
            value = node.labels.get(term.topology_key)
            if value is not None:
                self.change(term.topology_key, value, by)

    def touch(self, labels: Mapping[str, str]) -> bool:
        """Whether anything was counted where a node with these labels is."""
        return any(labels.get(key) in values for key, values in self.items())

    def total(self, labels: Mapping[str, str]) -> int:
        """All that was counted where a node with these labels is."""
        return sum(values.get(labels.get(key, ""), 0) for key, values in self.items())

    def clone(self) -> TopologyCounts:
        return TopologyCounts({key: values.copy() for key, values in self.items()})


def groups_of(term: AffinityTerm, snapshot: Snapshot) -> Iterator[PodGroup]:
    """The pods a term means."""
    index = snapshot.index
    if not term.namespace_selector.selectable:
        for namespace in sorted(term.namespaces):
            yield from index.select(namespace, term.selector)
        return
    for namespace in index.namespaces():
        if term.reaches(namespace, snapshot.namespaces):
            yield from index.select(namespace, term.selector)
