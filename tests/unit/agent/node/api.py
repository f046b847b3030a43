"""A node's way to the API, which a test can cut."""

from __future__ import annotations

from dray.client import Call, Client, Reply, StreamedReply, Transport
from dray.errors import TransportError
from dray.testing.cluster import Cluster


class Line:
    """Requests pass while it is up, and are written down."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.up = True
        self.requests: list[str] = []

    async def request(self, call: Call) -> Reply:
        if not self.up:
            raise TransportError("no route to host")
        self.requests.append(f"{call.method} {call.path}")
        return await self._transport.request(call)

    async def stream(self, call: Call) -> StreamedReply:
        raise TransportError("nodes watch nothing here")

    async def close(self) -> None:
        await self._transport.close()


def node_line(cluster: Cluster, node: str) -> tuple[Line, Client]:
    """A client with the rights of a node, and the line it uses."""
    line = Line(cluster.transport(f"system:node:{node}", groups=["system:nodes"]))
    return line, Client(line, clock=cluster.clock)
