"""A driver without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from dray.proto.dra_v1_pb2 import (
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import NodeWatchResourcesResponse


class InProcess:
    """Prepares nothing, once it may; unprepares when there is no failure to raise instead."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.answering = asyncio.Event()
        self.answering.set()

    async def prepare(self, request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        await self.answering.wait()
        return NodePrepareResourcesResponse()

    async def unprepare(
        self, request: NodeUnprepareResourcesRequest
    ) -> NodeUnprepareResourcesResponse:
        if self.failure is not None:
            raise self.failure
        return NodeUnprepareResourcesResponse()

    async def watch_health(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        yield NodeWatchResourcesResponse()
