"""Nodes that answer from memory, and pods on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from dray.api.core import Node
from dray.errors import APIError
from dray.http.messages import WebSocket
from dray.server.kubelet import NodePath
from tests.unit.server.harness import PODS, Api, pod


class FakePieces:
    """What a node says, unless it fails in the middle."""

    def __init__(self, *pieces: bytes, error: APIError | None = None) -> None:
        self._pieces = pieces
        self._error = error
        self.closed = False

    async def _say(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._error is not None:
            raise self._error

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._say()

    def close(self) -> None:
        self.closed = True


class FakeNodes:
    """Remembers what nodes were asked for."""

    def __init__(
        self, pieces: FakePieces | None = None, *, refusal: APIError | None = None
    ) -> None:
        """`refusal` is what nodes have against being read."""
        self._refusal = refusal
        self.pieces = pieces or FakePieces()
        self.asked: list[tuple[str, str]] = []
        self.protocols: list[str] = []
        self.joined: list[WebSocket] = []

    async def read(self, node: Node, path: NodePath) -> FakePieces:
        self.asked.append((node.metadata.name, path.target))
        if self._refusal is not None:
            raise self._refusal
        return self.pieces

    async def session(
        self, node: Node, path: NodePath, protocols: Sequence[str]
    ) -> tuple[str, Callable[[WebSocket], object]]:
        self.asked.append((node.metadata.name, path.target))
        self.protocols = list(protocols)

        async def join(client: WebSocket) -> None:
            self.joined.append(client)

        return protocols[0] if protocols else "", join


async def placed_pod(
    api: Api, *containers: str, node: str = "n", runtime: str = "", **spec: object
) -> None:
    """A pod on a node that is there."""
    if node:
        info = {"nodeInfo": {"containerRuntimeVersion": runtime}}
        await api.made("/api/v1/nodes", {"metadata": {"name": node}, "status": info})
    wanted = pod("p", node=node, **spec)
    names = containers or ("a",)
    wanted["spec"]["containers"] = [{"name": name, "image": "i:1"} for name in names]
    await api.made(PODS, wanted)
