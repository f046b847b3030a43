"""Ways to a driver and to the API that can be cut.

In the place of sockets, where a scenario is not about sockets: what goes wrong is the same to
whoever is on this side of it, and it goes wrong at an instant of the fake clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from dray.agent.plugins.plugin import PluginService
from dray.client import Call, Reply, StreamedReply, Transport
from dray.errors import TransportError
from dray.proto.dra_v1_pb2 import (
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import NodeWatchResourcesResponse

__all__ = ["Link", "Wire"]

T = TypeVar("T")

_RESET = "rpc error: code = Unavailable desc = connection reset"


class Wire:
    """Between an agent and a driver. Cut, nobody answers; hung, somebody listens and that is all.

    Satisfies PluginService.
    """

    def __init__(self, service: PluginService) -> None:
        self.service = service
        self.calls: list[tuple[str, tuple[str, ...]]] = []  # the method, and names of claims
        self._whole = asyncio.Event()
        self._whole.set()
        self._cut = asyncio.Event()
        self.hung = False

    def cut(self) -> None:
        """Nobody is at the other end any more; whoever waits for an answer hears of it."""
        self._whole.clear()
        self._cut.set()

    def mend(self) -> None:
        """Somebody is."""
        self._cut = asyncio.Event()
        self._whole.set()
        self.hung = False

    async def prepare(self, request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        if request.claims:
            self.calls.append(("prepare", tuple(claim.name for claim in request.claims)))
        return await self._unless_cut(self.service.prepare(request))

    async def unprepare(
        self, request: NodeUnprepareResourcesRequest
    ) -> NodeUnprepareResourcesResponse:
        self.calls.append(("unprepare", tuple(claim.name for claim in request.claims)))
        return await self._unless_cut(self.service.unprepare(request))

    async def watch_health(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        self.calls.append(("watch_health", ()))
        reports = self.service.watch_health()
        while True:
            try:
                report = await self._unless_cut(_next(reports))
            except StopAsyncIteration:
                return
            yield report

    async def _unless_cut(self, awaitable: Coroutine[Any, Any, T]) -> T:
        if not self._whole.is_set() or self.hung:
            awaitable.close()
        if not self._whole.is_set():
            raise TransportError("rpc error: code = Unavailable desc = nobody listens")
        cut = self._cut
        if self.hung:
            await cut.wait()
            raise TransportError(_RESET)
        answer = asyncio.ensure_future(awaitable)
        cutting = asyncio.ensure_future(cut.wait())
        try:
            await asyncio.wait((answer, cutting), return_when=asyncio.FIRST_COMPLETED)
            if self.hung:
                await cut.wait()
            if cut.is_set():
                raise TransportError(_RESET)
            return answer.result()
        finally:
            cutting.cancel()
            if not answer.done():
                answer.cancel()
                await asyncio.wait((answer,))
            if not answer.cancelled():
                answer.exception()  # nobody else may want to know


async def _next(reports: AsyncIterator[T]) -> T:
    return await anext(reports)


class Link:
    """A way to the API server that can be down. Satisfies Transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._streams: list[_Stream] = []
        self._down = False

    def go_down(self) -> None:
        """Nothing arrives any more, and what was under way is lost."""
        self._down = True
        for stream in self._streams:
            stream.cut()
        self._streams.clear()

    def come_back(self) -> None:
        self._down = False

    async def request(self, call: Call) -> Reply:
        self._check(call)
        return await self._transport.request(call)

    async def stream(self, call: Call) -> StreamedReply:
        self._check(call)
        stream = _Stream(await self._transport.stream(call))
        self._streams.append(stream)
        return stream

    async def close(self) -> None:
        await self._transport.close()

    def _check(self, call: Call) -> None:
        if self._down:
            raise TransportError(f"{call}: connection refused")


class _Stream:
    def __init__(self, reply: StreamedReply) -> None:
        self._reply = reply
        self._cut = asyncio.Event()
        self.status = reply.status
        self.headers = reply.headers

    def cut(self) -> None:
        self._cut.set()

    async def read(self) -> bytes:
        reading = asyncio.ensure_future(self._reply.read())
        cut = asyncio.ensure_future(self._cut.wait())
        try:
            await asyncio.wait((reading, cut), return_when=asyncio.FIRST_COMPLETED)
            if cut.done():
                raise TransportError("connection reset")
            return reading.result()
        finally:
            cut.cancel()
            if not reading.done():
                reading.cancel()
                await asyncio.wait((reading,))

    def close(self) -> None:
        self._reply.close()
