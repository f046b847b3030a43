"""TaintToleration: a node's taints keep away the pods that do not tolerate them."""

from __future__ import annotations

from typing import Final

from dray.scheduler.filters.filter import Attempt, Rejection, Test
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.tolerations import untolerated

__all__ = ["TaintToleration"]

_TAINTED: Final = Rejection(
    "TaintToleration", ("node(s) had untolerated taint(s)",), resolvable=False
)


class TaintToleration:
    """Upstream counterpart: the plugin of the same name."""

    name: Final = "TaintToleration"
    static: Final = True

    def prepare(self, attempt: Attempt) -> Test | None:
        tolerations = attempt.pod.pod.spec.tolerations

        def test(node: NodeInfo) -> Rejection | None:
            return _TAINTED if untolerated(node.node.spec.taints, tolerations) else None

        return test
