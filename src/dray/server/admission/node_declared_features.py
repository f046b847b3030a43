"""NodeDeclaredFeatureValidator: devices that stand for resources of a node need a node that knows.

A device whose use counts against cpu or memory of its node would be miscounted by a node agent that
was not built for it, so every node a slice is for has to declare the feature. With the gate off
nothing is checked, for the field is gone by then. Not here: updates of pods that need features of
their node, because resizing is not served. Upstream counterpart:
plugin/pkg/admission/nodedeclaredfeatures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dray.api.core import Node, NodeSelector
from dray.api.features import FeatureGates
from dray.api.node_matching import node_matches
from dray.api.resource import Device, ResourceSlice
from dray.errors import AllocationError, BadRequest, quote
from dray.server.admission.refusals import forbidden
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.resources import Resource
from dray.server.state import State

__all__ = ["NODE_ALLOCATABLE_FEATURE", "NodeDeclaredFeatures"]

# The gate, and what nodes declare.
NODE_ALLOCATABLE_FEATURE: Final = "DRANodeAllocatableResources"


class NodeDeclaredFeatures(Plugin):
    """Keeps slices off nodes that would not understand them."""

    def __init__(self, state: State, gates: FeatureGates) -> None:
        self._state = state
        self._enabled = NODE_ALLOCATABLE_FEATURE in gates

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        return (
            self._enabled
            and (resource.group, resource.plural) == ("resource.k8s.io", "resourceslices")
            and not subresource
            and operation in (Operation.CREATE, Operation.UPDATE)
        )

    def validate(self, request: AdmissionRequest) -> None:
        found: ResourceSlice = request.object
        # Devices mostly share one place, so each place is looked at once.
        checked: set[int] = set()
        for device in found.spec.devices or ():
            if device.node_allocatable_resources:
                place: Device | ResourceSlice = (
                    device if found.spec.per_device_node_selection else found
                )
                if id(place) not in checked:
                    checked.add(id(place))
                    self._check(request, device, place)

    def _check(
        self, request: AdmissionRequest, device: Device, place: Device | ResourceSlice
    ) -> None:
        where = place.spec if isinstance(place, ResourceSlice) else place
        name = where.node_name
        if name:
            node = self._state.get(Node, name)
            if node is None:
                raise forbidden(
                    request, f"node {quote(name)} not found for device {quote(device.name)}"
                )
            _require(request, node)
        elif where.node_selector is None and not where.all_nodes:
            raise forbidden(
                request,
                f"device {quote(device.name)} in ResourceSlice has NodeAllocatableResources but "
                "does not map to any nodes",
            )
        else:
            # A selector comes before allNodes, which validation allows only instead of it.
            everywhere = where.node_selector is None
            for node in self._nodes(everywhere, where.node_selector):
                _require(request, node)

    def _nodes(self, everywhere: bool, selector: NodeSelector | None) -> Iterator[Node]:
        for node in self._state.list(Node):
            try:
                if node_matches(node, None, everywhere, selector):
                    yield node
            except AllocationError as error:
                raise BadRequest(f"failed to create node selector: {error}") from error


def _require(request: AdmissionRequest, node: Node) -> None:
    if NODE_ALLOCATABLE_FEATURE not in node.status.declared_features:
        name = quote(node.metadata.name)
        raise forbidden(request, f"node {name} does not support {NODE_ALLOCATABLE_FEATURE} feature")
