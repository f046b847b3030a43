"""A container runtime in memory, behind a real socket, and one that streams.

It keeps CRI's promises and refusals as containerd does: names are taken, what is gone can be
stopped, events are told if it has any. Nothing runs.
"""

# ruff: noqa: N802 - methods are called as the services' are

from __future__ import annotations

import asyncio
import shutil
import struct
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import grpc

from dray.agent.runtimes.cri.runtime import CRIRuntime
from dray.clock import Clock, SystemClock
from dray.entropy import SeededEntropy
from dray.proto import cri_v1_pb2 as cri
from dray.proto import cri_v1_pb2_grpc as services

__all__ = ["FakeCRI", "frame", "opened", "read_frames", "serve_streams"]

Context = Any  # of grpc.aio, which has no types

SECOND = 1_000_000_000


class FakeCRI(services.RuntimeServiceServicer, services.ImageServiceServicer):
    """All containers and sandboxes; `refusals` and `hanging` say which methods fail, and how."""

    def __init__(self, version: str = "v2.3.2", *, events: bool = True) -> None:
        self.version = version
        self.config = "{}"
        self.url = ""
        self.image = cri.Image(id="sha256:1")
        self.sandboxes: dict[str, cri.PodSandboxStatus] = {}
        self.sandbox_configs: dict[str, cri.PodSandboxConfig] = {}
        self.containers: dict[str, cri.ContainerStatus] = {}
        self.requests: dict[str, cri.CreateContainerRequest] = {}
        self.refusals: dict[str, tuple[grpc.StatusCode, str]] = {}
        self.hanging: set[str] = set()
        self.calls: list[str] = []
        self.cancelled = asyncio.Event()
        self.listened = asyncio.Event()
        self._has_events = events
        self._listeners: set[asyncio.Queue[cri.ContainerEventResponse | None]] = set()
        self._serial = count(1)

    async def enter(self, method: str, context: Context) -> None:
        """Whatever every call begins with."""
        self.calls.append(method)
        if method in self.hanging:
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        if method in self.refusals:
            await context.abort(*self.refusals[method])

    def tell(self, container_id: str, sandbox_id: str, *, silent_of: bool = False) -> None:
        """Tell listeners of a change; `silent_of` the pod."""
        status = None if silent_of else self.sandboxes.get(sandbox_id)
        for queue in self._listeners:
            queue.put_nowait(
                cri.ContainerEventResponse(container_id=container_id, pod_sandbox_status=status)
            )

    def hang_up(self) -> None:
        """End all streams of events."""
        for queue in self._listeners:
            queue.put_nowait(None)

    def exit(self, container_id: str, code: int, reason: str = "") -> None:
        """A process ends by itself."""
        status = self.containers[container_id]
        status.state, status.exit_code, status.reason = cri.CONTAINER_EXITED, code, reason
        status.finished_at = next(self._serial) * SECOND

    # RuntimeService -------------------------------------------------------------------------------

    async def Version(self, request: cri.VersionRequest, context: Context) -> cri.VersionResponse:
        await self.enter("Version", context)
        return cri.VersionResponse(runtime_name="containerd", runtime_version=self.version)

    async def Status(self, request: cri.StatusRequest, context: Context) -> cri.StatusResponse:
        await self.enter("Status", context)
        return cri.StatusResponse(info={"config": self.config} if request.verbose else {})

    async def RunPodSandbox(
        self, request: cri.RunPodSandboxRequest, context: Context
    ) -> cri.RunPodSandboxResponse:
        await self.enter("RunPodSandbox", context)
        config = request.config
        if any(each.metadata == config.metadata for each in self.sandboxes.values()):
            await context.abort(grpc.StatusCode.UNKNOWN, "the name is reserved")
        serial = next(self._serial)
        sandbox_id = f"sandbox{serial}"
        self.sandbox_configs[sandbox_id] = config
        self.sandboxes[sandbox_id] = cri.PodSandboxStatus(
            id=sandbox_id,
            metadata=config.metadata,
            created_at=serial * SECOND,
            network=cri.PodSandboxNetworkStatus(ip=f"127.1.0.{serial}"),
            linux=cri.LinuxPodSandboxStatus(
                namespaces=cri.Namespace(options=config.linux.security_context.namespace_options)
            ),
            labels=config.labels,
            annotations=config.annotations,
        )
        self.tell(sandbox_id, sandbox_id)
        return cri.RunPodSandboxResponse(pod_sandbox_id=sandbox_id)

    async def StopPodSandbox(
        self, request: cri.StopPodSandboxRequest, context: Context
    ) -> cri.StopPodSandboxResponse:
        await self.enter("StopPodSandbox", context)
        sandbox = self.sandboxes.get(request.pod_sandbox_id)
        if sandbox is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "not found")
        else:
            sandbox.state = cri.SANDBOX_NOTREADY
            for container_id, made in self.requests.items():
                if made.pod_sandbox_id == sandbox.id:
                    self._stop(container_id)
            self.tell(sandbox.id, sandbox.id)
        return cri.StopPodSandboxResponse()

    async def RemovePodSandbox(
        self, request: cri.RemovePodSandboxRequest, context: Context
    ) -> cri.RemovePodSandboxResponse:
        await self.enter("RemovePodSandbox", context)
        if self.sandboxes.pop(request.pod_sandbox_id, None) is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "not found")
        return cri.RemovePodSandboxResponse()

    async def PodSandboxStatus(
        self, request: cri.PodSandboxStatusRequest, context: Context
    ) -> cri.PodSandboxStatusResponse:
        await self.enter("PodSandboxStatus", context)
        if request.pod_sandbox_id not in self.sandboxes:
            await context.abort(grpc.StatusCode.NOT_FOUND, "not found")
        return cri.PodSandboxStatusResponse(status=self.sandboxes[request.pod_sandbox_id])

    async def ListPodSandbox(
        self, request: cri.ListPodSandboxRequest, context: Context
    ) -> cri.ListPodSandboxResponse:
        await self.enter("ListPodSandbox", context)
        return cri.ListPodSandboxResponse(
            items=[
                cri.PodSandbox(
                    id=each.id, metadata=each.metadata, state=each.state, labels=each.labels
                )
                for each in self.sandboxes.values()
                if request.filter.label_selector.items() <= dict(each.labels).items()
            ]
        )

    async def CreateContainer(
        self, request: cri.CreateContainerRequest, context: Context
    ) -> cri.CreateContainerResponse:
        await self.enter("CreateContainer", context)
        config, serial = request.config, next(self._serial)
        container_id = f"container{serial}"
        self.requests[container_id] = request
        self.containers[container_id] = cri.ContainerStatus(
            id=container_id,
            metadata=config.metadata,
            created_at=serial * SECOND,
            image=config.image,
            labels=config.labels,
            log_path=f"{request.sandbox_config.log_directory}/{config.log_path}",
        )
        self.tell(container_id, request.pod_sandbox_id)
        return cri.CreateContainerResponse(container_id=container_id)

    async def StartContainer(
        self, request: cri.StartContainerRequest, context: Context
    ) -> cri.StartContainerResponse:
        await self.enter("StartContainer", context)
        status = self.containers[request.container_id]
        status.state, status.started_at = cri.CONTAINER_RUNNING, next(self._serial) * SECOND
        self.tell(status.id, self.requests[status.id].pod_sandbox_id)
        return cri.StartContainerResponse()

    async def StopContainer(
        self, request: cri.StopContainerRequest, context: Context
    ) -> cri.StopContainerResponse:
        await self.enter("StopContainer", context)
        if request.container_id not in self.containers:
            await context.abort(grpc.StatusCode.NOT_FOUND, "not found")
        self._stop(request.container_id)
        return cri.StopContainerResponse()

    async def RemoveContainer(
        self, request: cri.RemoveContainerRequest, context: Context
    ) -> cri.RemoveContainerResponse:
        await self.enter("RemoveContainer", context)
        del self.containers[request.container_id]
        sandbox_id = self.requests.pop(request.container_id).pod_sandbox_id
        self.tell(request.container_id, sandbox_id)
        return cri.RemoveContainerResponse()

    async def ListContainers(
        self, request: cri.ListContainersRequest, context: Context
    ) -> cri.ListContainersResponse:
        await self.enter("ListContainers", context)
        return cri.ListContainersResponse(
            containers=[
                cri.Container(
                    id=each.id,
                    pod_sandbox_id=self.requests[each.id].pod_sandbox_id,
                    metadata=each.metadata,
                    state=each.state,
                    labels=each.labels,
                )
                for each in self.containers.values()
                if request.filter.label_selector.items() <= dict(each.labels).items()
                and request.filter.pod_sandbox_id in ("", self.requests[each.id].pod_sandbox_id)
            ]
        )

    async def ContainerStatus(
        self, request: cri.ContainerStatusRequest, context: Context
    ) -> cri.ContainerStatusResponse:
        await self.enter("ContainerStatus", context)
        if request.container_id not in self.containers:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"no container {request.container_id!r}")
        return cri.ContainerStatusResponse(status=self.containers[request.container_id])

    async def ExecSync(
        self, request: cri.ExecSyncRequest, context: Context
    ) -> cri.ExecSyncResponse:
        await self.enter("ExecSync", context)
        return cri.ExecSyncResponse(
            stdout=" ".join(request.cmd).encode(), stderr=b"!", exit_code=request.timeout
        )

    async def Exec(self, request: cri.ExecRequest, context: Context) -> cri.ExecResponse:
        await self.enter("Exec", context)
        return cri.ExecResponse(url=self.url)

    async def Attach(self, request: cri.AttachRequest, context: Context) -> cri.AttachResponse:
        await self.enter("Attach", context)
        return cri.AttachResponse(url=self.url)

    async def PortForward(
        self, request: cri.PortForwardRequest, context: Context
    ) -> cri.PortForwardResponse:
        await self.enter("PortForward", context)
        return cri.PortForwardResponse(url=self.url)

    async def GetContainerEvents(
        self, request: cri.GetEventsRequest, context: Context
    ) -> AsyncIterator[cri.ContainerEventResponse]:
        await self.enter("GetContainerEvents", context)
        if not self._has_events:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown method")
        queue: asyncio.Queue[cri.ContainerEventResponse | None] = asyncio.Queue()
        self._listeners.add(queue)
        self.listened.set()
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._listeners.discard(queue)

    # ImageService ---------------------------------------------------------------------------------

    async def ImageStatus(
        self, request: cri.ImageStatusRequest, context: Context
    ) -> cri.ImageStatusResponse:
        await self.enter("ImageStatus", context)
        known = "missing" not in request.image.image
        return cri.ImageStatusResponse(image=self.image if known else None)

    async def PullImage(
        self, request: cri.PullImageRequest, context: Context
    ) -> cri.PullImageResponse:
        await self.enter("PullImage", context)
        return cri.PullImageResponse(image_ref=f"pulled {request.image.image}")

    def _stop(self, container_id: str) -> None:
        if self.containers[container_id].state == cri.CONTAINER_RUNNING:
            self.exit(container_id, 143)
            self.tell(container_id, self.requests[container_id].pod_sandbox_id)


@asynccontextmanager
async def opened(
    fake: FakeCRI, *, clock: Clock | None = None, **options: Any
) -> AsyncIterator[CRIRuntime]:
    """A CRIRuntime that is connected to this fake."""
    # Short: the paths of sockets may have 107 bytes.
    directory = Path(tempfile.mkdtemp(prefix="dray", dir="/tmp"))
    server = grpc.aio.server()
    services.add_RuntimeServiceServicer_to_server(fake, server)
    services.add_ImageServiceServicer_to_server(fake, server)
    server.add_insecure_port(f"unix:{directory}/s")
    await server.start()
    try:
        async with CRIRuntime(
            f"unix://{directory}/s",
            clock=clock or SystemClock(),
            entropy=SeededEntropy(1),
            **options,
        ) as runtime:
            yield runtime
    finally:
        await server.stop(None)
        shutil.rmtree(directory)


# Streams ----------------------------------------------------------------------------------------

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def frame(stream: int, data: bytes, *, last: bool = False) -> bytes:
    """A SPDY frame of data."""
    return struct.pack(">II", stream, len(data) | (int(last) << 24)) + data


async def read_frames(reader: asyncio.StreamReader, frames: int) -> list[tuple[int, bytes]]:
    """So many frames: the type of each, 0 for data, and its body."""
    read = []
    for _ in range(frames):
        head, length = struct.unpack(">II", await reader.readexactly(8))
        body = await reader.readexactly(length & 0xFF_FFFF)
        read.append((head & 0xFFFF if head >> 31 else 0, body))
    return read


@asynccontextmanager
async def serve_streams(
    serve: Serve, *, protocol: str = "v4.channel.k8s.io", head: bytes = b""
) -> AsyncIterator[str]:
    """The URL of a server that upgrades to SPDY, and then does this."""
    answer = head or (
        b"HTTP/1.1 101 Switching Protocols\r\n"
        b"X-Stream-Protocol-Version: " + protocol.encode() + b"\r\n\r\n"
    )

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/exec/token"
