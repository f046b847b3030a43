"""NodeName: a pod that names its node goes nowhere else."""

from __future__ import annotations

from typing import Final

from dray.scheduler.filters.filter import Attempt, NamingFilter, Rejection, Test
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.pod_info import PodInfo

__all__ = ["NodeName"]

_OTHER_NODE: Final = Rejection(
    "NodeName", ("node(s) didn't match the requested node name",), resolvable=False
)


class NodeName(NamingFilter):
    """Upstream counterpart: the plugin of the same name."""

    name: Final = "NodeName"
    static: Final = True

    def only(self, pod: PodInfo) -> frozenset[str] | None:
        name = pod.pod.spec.node_name
        return frozenset({name}) if name else None

    def prepare(self, attempt: Attempt) -> Test | None:
        wanted = attempt.pod.pod.spec.node_name
        if not wanted:
            return None

        def test(node: NodeInfo) -> Rejection | None:
            return None if node.name == wanted else _OTHER_NODE

        return test
