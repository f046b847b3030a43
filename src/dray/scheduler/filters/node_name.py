"""NodeName: a pod that names its node goes nowhere else."""

from __future__ import annotations

from typing import Final

from dray.scheduler.filters.filter import Attempt, Rejection, Test
from dray.scheduler.node_info import NodeInfo

__all__ = ["NodeName"]

_OTHER_NODE: Final = Rejection(
    "NodeName", ("node(s) didn't match the requested node name",), resolvable=False
)


class NodeName:
    """Upstream counterpart: the plugin of the same name."""

    name: Final = "NodeName"
    static: Final = True

    def prepare(self, attempt: Attempt) -> Test | None:
        wanted = attempt.pod.pod.spec.node_name
        if not wanted:
            return None

        def test(node: NodeInfo) -> Rejection | None:
            return None if node.name == wanted else _OTHER_NODE

        return test
