"""PodTopologyLabels: a pod carries the zone and region of its node, where its containers see them.

On a binding they are put on the Binding, whose labels the server copies to the pod; on a pod that
is created on a node, on the pod itself. What the node says overrides what was there. Upstream
counterpart: plugin/pkg/admission/podtopologylabels.
"""

from __future__ import annotations

from typing import Any, Final

from dray.api.core import Binding, Node, Pod
from dray.api.wire import replace
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.resources import Resource
from dray.server.state import State

__all__ = ["TOPOLOGY_LABELS", "PodTopologyLabels"]

TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(Plugin):
    """Copies topology labels from nodes to what is bound to them."""

    def __init__(self, state: State) -> None:
        self._state = state

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        return (
            operation is Operation.CREATE
            and (resource.group, resource.plural) == ("", "pods")
            and subresource in ("", "binding")
        )

    def admit(self, request: AdmissionRequest) -> Any:
        found: Pod | Binding = request.object
        if isinstance(found, Binding):
            node_name = found.target.name if found.target.kind == "Node" else ""
        else:
            node_name = found.spec.node_name
        # A pod may name a node that is not there: nothing to copy, and nothing wrong.
        node = self._state.get(Node, node_name) if node_name else None
        if node is None:
            return found
        labels = node.metadata.labels
        copied = {label: labels[label] for label in TOPOLOGY_LABELS if label in labels}
        if not copied:
            return found
        metadata = replace(found.metadata, labels={**found.metadata.labels, **copied})
        return replace(found, metadata=metadata)
