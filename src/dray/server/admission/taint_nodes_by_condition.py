"""TaintNodesByCondition: a new node takes no pods before somebody has seen it ready.

Whoever watches nodes takes the taint away again. Upstream counterpart: plugin/pkg/admission/
nodetaint.
"""

from __future__ import annotations

from typing import Any, Final

from dray.api.core import TAINT_EFFECT_NO_SCHEDULE, Node, Taint
from dray.api.node_taints import TAINT_NOT_READY
from dray.api.wire import replace
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.resources import Resource

__all__ = ["TaintNodesByCondition"]

_NOT_READY: Final = Taint(key=TAINT_NOT_READY, effect=TAINT_EFFECT_NO_SCHEDULE)


class TaintNodesByCondition(Plugin):
    """Adds the not-ready taint to nodes as they are created."""

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        asked = (resource.group, resource.plural, subresource)
        return operation is Operation.CREATE and asked == ("", "nodes", "")

    def admit(self, request: AdmissionRequest) -> Any:
        node: Node = request.object
        taints = node.spec.taints
        if any(
            (taint.key, taint.effect) == (_NOT_READY.key, _NOT_READY.effect) for taint in taints
        ):
            return node
        return replace(node, spec=replace(node.spec, taints=(*taints, _NOT_READY)))
