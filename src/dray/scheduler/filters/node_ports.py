"""NodePorts: two pods cannot take the same port of one node."""

from __future__ import annotations

from typing import Final

from dray.scheduler.filters.filter import Attempt, Rejection, Test
from dray.scheduler.node_info import NodeInfo

__all__ = ["NodePorts"]

_TAKEN: Final = Rejection(
    "NodePorts", ("node(s) didn't have free ports for the requested pod ports",), resolvable=True
)


class NodePorts:
    """Upstream counterpart: the plugin of the same name."""

    name: Final = "NodePorts"
    static: Final = False

    def prepare(self, attempt: Attempt) -> Test | None:
        ports = attempt.pod.host_ports
        if not ports:
            return None

        def test(node: NodeInfo) -> Rejection | None:
            return None if node.has_free(ports) else _TAKEN

        return test
