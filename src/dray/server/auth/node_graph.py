"""Which objects the pods of a node refer to.

A pod is only ever bound to one node, and refers only to objects of its own namespace. So the graph
is one index per namespace, from an object and a node to the pods in between.

A question that the index answers with yes is checked against the one pod in between, read anew:
that is what running nodes keep asking. A question it answers with no is asked again once the index
is up to date. A graph that is told of every change looks at just those pods; one that is not reads
the namespace's pods again if any pod changed since, and skips those that are the objects known.

Upstream counterpart: plugin/pkg/auth/authorizer/node graph.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from dray.api.core import Pod
from dray.server.auth.pod_references import Reference, ReferencedKind, references_of
from dray.server.state import State

__all__ = ["NodeGraph"]

# A namespace whose pods change this often between two questions is read whole just as fast.
CHANGES_MAX: Final = 4096

_Edge: TypeAlias = tuple[ReferencedKind, str, str]  # the object's kind and name, the node


@dataclass(frozen=True, slots=True)
class _Known:
    pod: Pod
    node: str
    references: frozenset[Reference]


class NodeGraph:
    """Answers whether a pod of a node refers to an object, by the pods in a state."""

    def __init__(self, state: State, *, told: bool = False) -> None:
        """`told` promises that `note` is called for every pod that comes, changes or goes."""
        self._state = state
        self._told = told
        self._namespaces: dict[str, _Namespace] = {}

    def note(self, namespace: str, pod: str) -> None:
        """Hear that a pod is not what it was."""
        known = self._namespaces.get(namespace)
        # Pods of a namespace nobody asked about are read when somebody does.
        if known is not None:
            known.changed.add(pod)
            if len(known.changed) > CHANGES_MAX:
                del self._namespaces[namespace]

    def reaches(self, node: str, kind: ReferencedKind, namespace: str, name: str) -> bool:
        """Whether any pod bound to the node, in the object's namespace, refers to the object."""
        if not namespace:
            return False  # nothing a pod refers to is in none
        known = self._namespaces.get(namespace)
        if known is None:
            known = _Namespace(namespace)
        found = known.holds((kind, name, node), self._state, told=self._told)
        # Bounded by the namespaces that have pods: questions about others leave nothing behind.
        if known.pods:
            self._namespaces[namespace] = known
        else:
            self._namespaces.pop(namespace, None)
        return found


class _Namespace:
    def __init__(self, name: str) -> None:
        self.name = name
        self.pods: dict[str, _Known] = {}
        self.changed: set[str] = set()
        self._between: dict[_Edge, dict[str, None]] = {}
        self._revision: int | None = None

    def holds(self, edge: _Edge, state: State, *, told: bool) -> bool:
        for pod_name in list(self._between.get(edge, ())):
            self._learn(pod_name, state.get(Pod, pod_name, self.name))
            if edge in self._between:
                return True
        if told and self._revision is not None:
            while self.changed:
                pod_name = self.changed.pop()
                self._learn(pod_name, state.get(Pod, pod_name, self.name))
        else:
            self._read(state)
        return edge in self._between

    def _read(self, state: State) -> None:
        revision = state.revision(Pod)
        if revision == self._revision:
            return
        current = {pod.metadata.name: pod for pod in state.list(Pod, self.name)}
        for gone in [name for name in self.pods if name not in current]:
            self._learn(gone, None)
        for pod_name, pod in current.items():
            self._learn(pod_name, pod)
        self._revision = revision
        self.changed.clear()

    def _learn(self, name: str, pod: Pod | None) -> None:
        """Put a pod, as it is now, in place of what was known of it."""
        old = self.pods.get(name)
        if old is not None and old.pod is pod:
            return
        if old is not None:
            del self.pods[name]
            for kind, referred in old.references:
                between = self._between[kind, referred, old.node]
                between.pop(name)
                if not between:
                    del self._between[kind, referred, old.node]
        if pod is None or not pod.spec.node_name:
            return
        new = _Known(pod, pod.spec.node_name, references_of(pod))
        self.pods[name] = new
        for kind, referred in new.references:
            self._between.setdefault((kind, referred, new.node), {})[name] = None
