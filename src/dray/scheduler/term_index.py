"""Which terms of affinity the pods on nodes hold, and how many hold each.

Pods of one template hold equal terms, so that a pod that comes is compared with a few terms and not
with thousands of pods. Terms that name their namespaces are found by them; only those that select
namespaces are compared with every pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dray.scheduler.pod_info import Labelled, Leaning

__all__ = ["HeldTerm", "TermIndex"]


class HeldTerm(NamedTuple):
    """A term, and how many pods on each node hold it."""

    leaning: Leaning
    counts: dict[str, int]  # by node name; never zero


Held = dict[Leaning, HeldTerm]


class TermIndex:
    """All terms that pods on nodes hold."""

    def __init__(self) -> None:
        self._all: Held = {}
        self._by_namespace: dict[str, Held] = {}
        self._selecting: Held = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[HeldTerm]:
        return iter(self._all.values())

    def add(self, leaning: Leaning, node_name: str) -> None:
        held = self._all.get(leaning)
        if held is None:
            held = self._all[leaning] = HeldTerm(leaning, {})
            if leaning.term.namespace_selector.selectable:
                self._selecting[leaning] = held
            else:
                for namespace in leaning.term.namespaces:
                    self._by_namespace.setdefault(namespace, {})[leaning] = held
        held.counts[node_name] = held.counts.get(node_name, 0) + 1

    def remove(self, leaning: Leaning, node_name: str) -> None:
        """Take out a term that was added."""
        counts = self._all[leaning].counts
        counts[node_name] -= 1
        if counts[node_name]:
            return
        del counts[node_name]
        if counts:
            return
        del self._all[leaning]
        if leaning.term.namespace_selector.selectable:
            del self._selecting[leaning]
            return
        for namespace in leaning.term.namespaces:
            found = self._by_namespace[namespace]
            del found[leaning]
            if not found:
                del self._by_namespace[namespace]

    def meaning(
        self, pod: Labelled, namespaces: Mapping[str, Mapping[str, str]]
    ) -> Iterator[HeldTerm]:
        """The terms that mean a pod, given the labels of namespaces."""
        for held in self._by_namespace.get(pod.namespace, {}).values():
            if held.leaning.term.selector.matches(pod.labels):
                yield held
        for held in self._selecting.values():
            if held.leaning.term.matches(pod, namespaces):
                yield held
