"""Drivers and claims as health sees them, in the hands of a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from dray.agent.claims.claim_info import ClaimInfo, ClaimName, PreparedDevice
from dray.agent.plugins.plugin import Change, Plugin, PluginChange
from dray.proto.dra_v1_pb2 import (
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import (
    DeviceHealth,
    DeviceIdentifier,
    HealthStatus,
    NodeWatchResourcesResponse,
)

_Item = NodeWatchResourcesResponse | BaseException | None

DRIVER = "gpu.example.com"
POOL = "node-1"


async def settle() -> None:
    """Let everything run that can run without time passing."""
    for _ in range(50):
        await asyncio.sleep(0)


def report(
    *devices: str, health: str = "HEALTHY", message: str = "", timeout_seconds: int = 0
) -> NodeWatchResourcesResponse:
    return NodeWatchResourcesResponse(
        devices=[
            DeviceHealth(
                device=DeviceIdentifier(pool_name=POOL, device_name=device),
                health=HealthStatus.Value(health),
                message=message,
                health_check_timeout_seconds=timeout_seconds,
            )
            for device in devices
        ]
    )


class FakeStream:
    """One open stream: what the test puts in comes out."""

    def __init__(self) -> None:
        self._items: asyncio.Queue[NodeWatchResourcesResponse | BaseException | None] = (
            asyncio.Queue()
        )
        self.closed = False

    async def send(self, response: NodeWatchResourcesResponse) -> None:
        self._items.put_nowait(response)
        await settle()

    async def end(self, error: Exception | None = None) -> None:
        self._items.put_nowait(error)
        await settle()

    async def read(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        try:
            while (item := await self._items.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self.closed = True


class FakeService:
    """A driver that only reports health."""

    def __init__(self) -> None:
        self.streams: list[FakeStream] = []
        self.refusal: Exception | None = None

    async def prepare(self, request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        raise AssertionError

    async def unprepare(
        self, request: NodeUnprepareResourcesRequest
    ) -> NodeUnprepareResourcesResponse:
        raise AssertionError

    def watch_health(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        stream = FakeStream()
        self.streams.append(stream)
        if self.refusal is not None:
            raise self.refusal
        return stream.read()


@dataclass(eq=False)
class FakePlugin:
    driver: str = DRIVER
    instance: str = "1"
    connected: bool = True
    offers_health: bool = True
    service: FakeService = field(default_factory=FakeService)

    @property
    def stream(self) -> FakeStream:
        return self.service.streams[-1]


class FakePlugins:
    """The plugins of a node."""

    def __init__(self, *plugins: FakePlugin) -> None:
        self.plugins = list(plugins)
        self._listeners: list[Callable[[PluginChange], None]] = []

    def find(self, driver: str) -> Plugin | None:
        return next(reversed(self.instances(driver)), None)

    def instances(self, driver: str) -> Sequence[Plugin]:
        return [plugin for plugin in self.plugins if plugin.driver == driver]

    def drivers(self) -> Sequence[str]:
        return sorted({plugin.driver for plugin in self.plugins})

    def listen(self, listener: Callable[[PluginChange], None]) -> None:
        self._listeners.append(listener)

    async def tell(self, plugin: FakePlugin, change: Change) -> None:
        for listener in self._listeners:
            listener(PluginChange(plugin, change))
        await settle()

    async def register(self, plugin: FakePlugin) -> None:
        self.plugins.append(plugin)
        await self.tell(plugin, Change.REGISTERED)

    async def deregister(self, plugin: FakePlugin) -> None:
        self.plugins.remove(plugin)
        await self.tell(plugin, Change.DEREGISTERED)

    async def connect(self, plugin: FakePlugin) -> None:
        plugin.connected = True
        await self.tell(plugin, Change.CONNECTED)

    async def disconnect(self, plugin: FakePlugin) -> None:
        plugin.connected = False
        await self.tell(plugin, Change.DISCONNECTED)


def prepared(
    device: str, *requests: str, cdi: str | None = None, pool: str = POOL, share_id: str = ""
) -> PreparedDevice:
    return PreparedDevice(
        pool,
        device,
        requests,
        (f"example.com/gpu={device}" if cdi is None else cdi,) if cdi != "" else (),
        share_id or None,
    )


class FakeClaims:
    """Claims that are prepared on the node."""

    def __init__(self) -> None:
        self.infos: dict[tuple[str, str], ClaimInfo] = {}

    def put(self, name: str, *devices: PreparedDevice, pods: Sequence[str] = ("pod-1",)) -> None:
        self.infos["default", name] = ClaimInfo(
            ClaimName("default", name, f"uid-of-{name}"), frozenset(pods), {DRIVER: devices}
        )

    def info(self, namespace: str, name: str) -> ClaimInfo | None:
        return self.infos.get((namespace, name))

    def claims_of(self, pod_uid: str) -> Sequence[ClaimInfo]:
        return [info for info in self.infos.values() if pod_uid in info.pods]

    def pods_using(self, driver: str, pool: str, device: str) -> frozenset[str]:
        return frozenset().union(
            *(
                info.pods
                for info in self.infos.values()
                for found in info.drivers.get(driver, ())
                if (found.pool, found.device) == (pool, device)
            )
        )
