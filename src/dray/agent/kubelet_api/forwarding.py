"""Ports of a pod over one websocket: two channels for each, what it carries and what went wrong.

The n-th port of the request has channels 2n and 2n+1, and both begin with the port's number, the
low byte first. Upstream counterpart: cri-streaming's portforward, its websocket half.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import Runtime, Sink
from dray.errors import BadRequest, TransportError, quote
from dray.http.messages import WebSocket

__all__ = ["PROTOCOL", "parse_ports", "serve_ports"]

PROTOCOL: Final = "v4.channel.k8s.io"

# Channels are numbered by a byte, and each port has two.
PORTS_MAX: Final = 127


def parse_ports(query: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
    """The ports that are asked for. Raises BadRequest."""
    ports = []
    for text in query.get("port", ()):
        for part in text.split(","):
            if not part.isdecimal() or not 0 < int(part) <= 65535:
                raise BadRequest(f"invalid port {quote(part)}")
            ports.append(int(part))
    if not ports:
        raise BadRequest('query parameter "port" is required')
    if len(ports) > PORTS_MAX:
        raise BadRequest(f"no more than {PORTS_MAX} ports can be forwarded at once")
    return tuple(ports)


async def serve_ports(
    socket: WebSocket, runtime: Runtime, sandbox_id: str, ports: Sequence[int]
) -> None:
    """Forward until the client leaves."""
    for index, port in enumerate(ports):
        for channel in (2 * index, 2 * index + 1):
            await socket.send(bytes([channel]) + port.to_bytes(2, "little"))
    sinks: dict[int, Sink] = {}
    copying: list[asyncio.Task[None]] = []
    try:
        for index, port in enumerate(ports):
            try:
                pieces, sink = await runtime.connect(sandbox_id, port)
            except RuntimeFailed as failure:
                told = f"error forwarding port {port} to pod {sandbox_id}: {failure}"
                await socket.send(bytes([2 * index + 1]) + told.encode())
                continue
            sinks[2 * index] = sink
            copying.append(asyncio.ensure_future(_copy(socket, 2 * index, pieces)))
        while (message := await socket.receive()) is not None:
            sink_ = sinks.get(message[0]) if message else None
            if sink_ is not None:
                await sink_.write(message[1:])
    except TransportError:
        pass
    finally:
        for task in copying:
            task.cancel()
        await asyncio.gather(*copying, return_exceptions=True)
        for sink in sinks.values():
            await sink.close()


async def _copy(socket: WebSocket, channel: int, pieces: AsyncIterator[bytes]) -> None:
    async for piece in pieces:
        await socket.send(bytes([channel]) + piece)
