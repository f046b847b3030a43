"""Drivers for tests: real gRPC servers on unix sockets, which behave as badly as a test wants.

Handlers deal in bytes, so that an answer can be anything. Run as a program it is a driver that can
be killed: `python drivers.py NAME ROOT`.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import grpc

from dray.agent.plugins.manager import PluginManager
from dray.agent.plugins.plugin import Change, PluginChange
from dray.clock import Clock, SystemClock
from dray.entropy import SeededEntropy
from dray.proto.dra_v1_pb2 import (
    NodePrepareResourceResponse,
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourceResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import DeviceHealth, DeviceIdentifier, NodeWatchResourcesResponse
from dray.proto.registration_v1_pb2 import PluginInfo, RegistrationStatus

DRIVER = "gpu.example.com"

# Servers of the scenario that runs, so that a failing one leaves none behind.
_serving: set[grpc.aio.Server] = set()

Context = grpc.aio.ServicerContext[bytes, bytes]


@contextmanager
def short_directory() -> Iterator[Path]:
    """A directory whose path leaves room for the name of a socket."""
    path = tempfile.mkdtemp(prefix="dray", dir="/tmp")
    try:
        yield Path(path)
    finally:
        shutil.rmtree(path)


def tick(root: Path) -> None:
    """Let the clock of the file system, which has a tick of milliseconds, go on."""
    watch = root / ".watch"
    watch.touch()
    before = watch.stat().st_ctime_ns
    while watch.stat().st_ctime_ns == before:
        watch.chmod(0o600)
    watch.unlink()


class TestDriver:
    """One process of a driver, as far as sockets go."""

    __test__ = False

    def __init__(
        self,
        root: Path,
        name: str = DRIVER,
        *,
        uid: str = "",
        services: tuple[str, ...] = ("v1.DRAPlugin", "v1.DRAResourceHealth"),
        type: str = "DRAPlugin",  # noqa: A002 - the word of the wire
        endpoint: str | None = None,
        info: bytes | None = None,
    ) -> None:
        self.name = name
        suffix = f"-{uid}" if uid else ""
        self.registration_path = root / "registry" / f"{name}{suffix}-reg.sock"
        self.service_path = root / f"dra{suffix}.sock"
        self.info = (
            info
            or PluginInfo(
                type=type,
                name=name,
                endpoint=str(self.service_path) if endpoint is None else endpoint,
                supported_versions=services,
            ).SerializeToString()
        )
        self.statuses: asyncio.Queue[RegistrationStatus] = asyncio.Queue()
        # While it is clear, nobody is told who this is.
        self.informing = asyncio.Event()
        self.informing.set()
        self.info_failures = 0
        self.notify_failures = 0
        self.calls: list[str] = []
        self.called = asyncio.Event()
        # While it is clear, calls to prepare do not come back.
        self.answering = asyncio.Event()
        self.answering.set()
        self.prepare: Callable[[bytes, Context], Awaitable[bytes]] = self._prepare
        self.health: Callable[[bytes, Context], AsyncIterator[bytes]] = self._health
        self._servers: list[grpc.aio.Server] = []

    async def start(self) -> None:
        """Serve: the service first, then what leads the agent to it."""
        self.registration_path.parent.mkdir(exist_ok=True)
        await self.start_service()
        await self._serve(self.registration_path, self._registration_handlers())

    async def start_service(self) -> None:
        await self._serve(self.service_path, self._service_handlers())

    async def stop(self) -> None:
        """Leave in good order: the sockets are removed."""
        for server in reversed(self._servers):
            await _stop(server)
        self._servers.clear()

    async def stop_service(self) -> None:
        await _stop(self._servers.pop(0))

    async def _serve(self, path: Path, handlers: list[grpc.GenericRpcHandler]) -> None:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers(handlers)
        server.add_insecure_port(f"unix:{path}")
        await server.start()
        self._servers.append(server)
        _serving.add(server)

    def _registration_handlers(self) -> list[grpc.GenericRpcHandler]:
        unary = grpc.unary_unary_rpc_method_handler
        return [
            grpc.method_handlers_generic_handler(
                "pluginregistration.Registration",
                {
                    "GetInfo": unary(self._get_info),
                    "NotifyRegistrationStatus": unary(self._notify),
                },
            )
        ]

    def _service_handlers(self) -> list[grpc.GenericRpcHandler]:
        async def prepare(request: bytes, context: Context) -> bytes:
            self.calls.append("prepare")
            self.called.set()
            await self.answering.wait()
            return await self.prepare(request, context)

        async def health(request: bytes, context: Context) -> AsyncIterator[bytes]:
            async for report in self.health(request, context):
                yield report

        unary = grpc.unary_unary_rpc_method_handler
        return [
            grpc.method_handlers_generic_handler(
                f"k8s.io.kubelet.pkg.apis.dra.{version}.DRAPlugin",
                {
                    "NodePrepareResources": unary(prepare),
                    "NodeUnprepareResources": unary(self._unprepare),
                },
            )
            for version in ("v1", "v1beta1")
        ] + [
            grpc.method_handlers_generic_handler(
                f"{version}.DRAResourceHealth",
                {"NodeWatchResources": grpc.unary_stream_rpc_method_handler(health)},
            )
            for version in ("v1", "v1alpha1")
        ]

    async def _get_info(self, request: bytes, context: Context) -> bytes:
        await self.informing.wait()
        if self.info_failures:
            self.info_failures -= 1
            await context.abort(grpc.StatusCode.INTERNAL, "not yet")
        return self.info

    async def _notify(self, request: bytes, context: Context) -> bytes:
        if self.notify_failures:
            self.notify_failures -= 1
            await context.abort(grpc.StatusCode.INTERNAL, "did not listen")
        self.statuses.put_nowait(RegistrationStatus.FromString(request))
        return b""

    async def _prepare(self, request: bytes, context: Context) -> bytes:
        claims = NodePrepareResourcesRequest.FromString(request).claims
        answer = NodePrepareResourcesResponse(
            claims={claim.uid: NodePrepareResourceResponse() for claim in claims}
        )
        return answer.SerializeToString()

    async def _unprepare(self, request: bytes, context: Context) -> bytes:
        self.calls.append("unprepare")
        claims = NodeUnprepareResourcesRequest.FromString(request).claims
        answer = NodeUnprepareResourcesResponse(
            claims={claim.uid: NodeUnprepareResourceResponse() for claim in claims}
        )
        return answer.SerializeToString()

    async def _health(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        device = DeviceIdentifier(pool_name="node-1", device_name="gpu-0")
        yield NodeWatchResourcesResponse(
            devices=[DeviceHealth(device=device, message="fine")]
        ).SerializeToString()


class Changes:
    """What a manager's listeners hear, to be waited for."""

    def __init__(self, manager: PluginManager) -> None:
        self.heard: list[tuple[str, Change]] = []
        self._queue: asyncio.Queue[PluginChange] = asyncio.Queue()
        manager.listen(self._hear)

    def _hear(self, change: PluginChange) -> None:
        self.heard.append((change.plugin.instance, change.change))
        self._queue.put_nowait(change)

    async def until(self, *wanted: Change) -> PluginChange:
        """The next change of this sort; what comes before it is passed over."""
        while True:
            change = await self._queue.get()
            if change.change in wanted:
                return change


@asynccontextmanager
async def running(
    root: Path, *, clock: Clock | None = None, call_timeout_seconds: float = 45.0
) -> AsyncIterator[tuple[PluginManager, Changes]]:
    """A manager at work. With the machine's clock it reads the directory all the time."""
    manager = PluginManager(
        root / "registry",
        clock=clock or SystemClock(),
        entropy=SeededEntropy(1),
        call_timeout_seconds=call_timeout_seconds,
        read_interval_seconds=0.005 if clock is None else 0.25,
    )
    changes = Changes(manager)
    task = asyncio.create_task(manager.run())
    try:
        yield manager, changes
    finally:
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled(), task.exception()


async def told(manager: PluginManager) -> None:
    """Wait until every driver that is there has been told that it is registered.

    Connections are faster than that, and a driver that dies before it knows is let go.
    """
    await asyncio.wait([source.task for source in manager._sources.values()])


def scenario(body: Callable[[Path], Awaitable[None]]) -> None:
    """Run a test's body in a directory of its own, with no task left at its end."""

    async def run() -> None:
        with short_directory() as root:
            try:
                async with asyncio.timeout(20):
                    await body(root)
            finally:
                for server in tuple(_serving):
                    await _stop(server)
        for _ in range(5):
            await asyncio.sleep(0)  # alarms that were switched off end in the next turn
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"still running: {left}"

    asyncio.run(run())


async def _stop(server: grpc.aio.Server) -> None:
    await server.stop(None)
    _serving.discard(server)


async def _main(name: str, root: Path) -> None:
    driver = TestDriver(root, name)
    await driver.start()
    sys.stdout.write("serving\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2])))
