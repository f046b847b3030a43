"""NodeUnschedulable: a cordoned node takes only pods that tolerate the taint that goes with it."""

from __future__ import annotations

from typing import Final

from dray.api.core import TAINT_EFFECT_NO_SCHEDULE, Taint
from dray.api.node_taints import TAINT_UNSCHEDULABLE
from dray.scheduler.filters.filter import Attempt, Rejection, Test
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.tolerations import tolerated

__all__ = ["NodeUnschedulable"]

_CORDONED: Final = Rejection("NodeUnschedulable", ("node(s) were unschedulable",), resolvable=False)
_TAINT: Final = Taint(key=TAINT_UNSCHEDULABLE, effect=TAINT_EFFECT_NO_SCHEDULE)


class NodeUnschedulable:
    """Upstream counterpart: the plugin of the same name."""

    name: Final = "NodeUnschedulable"
    static: Final = True

    def prepare(self, attempt: Attempt) -> Test | None:
        if tolerated(_TAINT, attempt.pod.pod.spec.tolerations):
            return None

        def test(node: NodeInfo) -> Rejection | None:
            return _CORDONED if node.node.spec.unschedulable else None

        return test
