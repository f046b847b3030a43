"""Pods' containers by a runtime that speaks CRI v1, such as containerd.

Everything is the runtime's: this has no state but what it read a moment ago, so an agent that was
killed is followed by one that finds all. Calls may be repeated: what CRI would refuse as taken is
looked up first, and two calls for one pod or container wait for each other. Failures are
RuntimeFailed with the runtime's own words. Upstream counterpart: pkg/kubelet/kuberuntime.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self, TypeVar
from weakref import WeakValueDictionary

import grpc
from google.protobuf.message import Message

from dray.agent.runtimes.cri.cdi_support import knows_cdi
from dray.agent.runtimes.cri.changes import Changes, Snapshot
from dray.agent.runtimes.cri.configuration import (
    CONTAINER_NAME,
    POD_UID,
    container_message,
    restored_sandbox_message,
    sandbox_message,
    set_user_of_image,
    user_of_image,
)
from dray.agent.runtimes.cri.connection import CallFailed, Connection
from dray.agent.runtimes.cri.dialing import dial
from dray.agent.runtimes.cri.edits import apply_edits
from dray.agent.runtimes.cri.observation import Observer, identity_of_container, identity_of_sandbox
from dray.agent.runtimes.cri.streaming import CONNECT_FAILED, open_port, open_streams
from dray.agent.runtimes.failures import (
    CREATE_CONTAINER_ERROR,
    CREATE_SANDBOX_ERROR,
    IMAGE_INSPECT_ERROR,
    IMAGE_PULL_ERROR,
    RUN_CONTAINER_ERROR,
    RuntimeFailed,
    UnresolvedDevices,
)
from dray.agent.runtimes.process.devices import DIRECTORIES, DeviceFiles
from dray.agent.runtimes.runtime import (
    Container,
    ContainerConfig,
    ExecResult,
    RuntimeInfo,
    Sandbox,
    SandboxConfig,
    Session,
    SessionConfig,
    Sink,
)
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.proto import cri_v1_pb2 as cri

__all__ = ["CRIRuntime"]

# As a kubelet's: what takes longer is tried again, and the runtime told to stop trying.
CALL_SECONDS: Final = 120.0
SANDBOX_SECONDS: Final = 240.0
# A kubelet has no deadline here; a runtime gives up by itself when nothing comes any more.
PULL_SECONDS: Final = 3600.0

# A container's streams may end a moment before it does.
EXIT_SECONDS: Final = 5.0
EXIT_POLL_SECONDS: Final = 0.1

_UNRESOLVABLE: Final = re.compile(r"unresolvable CDI devices (.+)")

_Answer = TypeVar("_Answer", bound=Message)


class CRIRuntime:
    """A Runtime at an endpoint. Use it as a context, or call `close`; containers go on."""

    def __init__(
        self,
        endpoint: str,
        *,
        clock: Clock,
        entropy: Entropy,
        cdi: Literal["auto", "runtime", "agent"] = "auto",
        cdi_directories: Sequence[str | Path] = DIRECTORIES,
        runtime_handler: str = "",
        node_addresses: Sequence[str] = ("127.0.0.1",),
    ) -> None:
        """`cdi` says who resolves devices; if it is the agent, from `cdi_directories`.

        `node_addresses` are those of pods on the host's network.
        """
        self._clock = clock
        self._cdi = cdi
        self._devices = DeviceFiles(cdi_directories)
        self._runtime_handler = runtime_handler
        self._connection = Connection(endpoint, clock=clock)
        self._observer = Observer(
            self._sandbox_status,
            self._container_status,
            clock=clock,
            node_addresses=node_addresses,
        )
        self._changes = Changes(self._connection, self._look, clock=clock, entropy=entropy)
        self._name = ""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of everything; containers go on."""
        await self._changes.close()
        await self._connection.close()

    async def info(self) -> RuntimeInfo:
        version = await self._version()
        return RuntimeInfo(name=version.runtime_name, version=version.runtime_version)

    # Sandboxes ------------------------------------------------------------------------------------

    async def run_sandbox(self, config: SandboxConfig) -> str:
        pod = config.pod
        what = f"sandbox of pod {pod.namespace}/{pod.name}"
        async with self._lock(f"sandbox {pod.uid}"):
            for known in await self._list_sandboxes(CREATE_SANDBOX_ERROR, pod_uid=pod.uid):
                if known.metadata.attempt == config.attempt:
                    return known.id
            _make_directory(Path(config.log_directory), what, CREATE_SANDBOX_ERROR)
            answer = await self._call(
                "RunPodSandbox",
                cri.RunPodSandboxRequest(
                    config=sandbox_message(config), runtime_handler=self._runtime_handler
                ),
                cri.RunPodSandboxResponse,
                reason=CREATE_SANDBOX_ERROR,
                what=what,
                seconds=SANDBOX_SECONDS,
            )
        self._changes.tell(pod.uid)
        return answer.pod_sandbox_id

    async def stop_sandbox(self, sandbox_id: str) -> None:
        await self._end(
            "StopPodSandbox",
            cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id),
            cri.StopPodSandboxResponse,
            what=f"sandbox {sandbox_id}",
            seconds=SANDBOX_SECONDS,
        )

    async def remove_sandbox(self, sandbox_id: str) -> None:
        await self.stop_sandbox(sandbox_id)
        # One by one, for their logs.
        for container in await self._list_containers(sandbox_id=sandbox_id):
            await self.remove_container(container.id)
        await self._end(
            "RemovePodSandbox",
            cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id),
            cri.RemovePodSandboxResponse,
            what=f"sandbox {sandbox_id}",
        )

    async def list_sandboxes(self) -> Sequence[Sandbox]:
        listed = await self._list_sandboxes(RUN_CONTAINER_ERROR)
        try:
            return await self._observer.sandboxes(listed)
        except CallFailed as failure:
            raise _failed("sandboxes", failure, RUN_CONTAINER_ERROR) from failure

    # Containers -----------------------------------------------------------------------------------

    async def find_image(self, image: str, *, always: bool = False) -> str:
        return "" if always else (await self._image(image, IMAGE_INSPECT_ERROR)).id

    async def pull_image(self, image: str) -> str:
        answer = await self._call(
            "PullImage",
            cri.PullImageRequest(image=cri.ImageSpec(image=image, user_specified_image=image)),
            cri.PullImageResponse,
            reason=IMAGE_PULL_ERROR,
            what=f"image {image}",
            seconds=PULL_SECONDS,
        )
        return answer.image_ref

    async def image_user(self, image: str) -> int | str:
        """Whom an image's containers run as unless told otherwise."""
        return user_of_image(await self._image(image, CREATE_CONTAINER_ERROR))

    async def create_container(self, sandbox: Sandbox, config: ContainerConfig) -> str:
        what = f"container {config.name} of pod {sandbox.pod.namespace}/{sandbox.pod.name}"
        scheme = await self._scheme()
        async with self._lock(f"container {sandbox.id} {config.name}"):
            for known in await self._list_containers(sandbox_id=sandbox.id, name=config.name):
                if known.metadata.attempt != config.attempt:
                    continue
                if known.state != cri.CONTAINER_CREATED:
                    return f"{scheme}{known.id}"
                # It never ran, and its devices and files may be others by now.
                await self.remove_container(known.id)
            message = await self._container_message(sandbox, config, what)
            try:
                answer = await self._connection.call(
                    "CreateContainer", message, cri.CreateContainerResponse, seconds=CALL_SECONDS
                )
            except CallFailed as failure:
                unresolved = _UNRESOLVABLE.search(failure.message)
                if unresolved:
                    named = tuple(re.split(r"[,\s]+", unresolved[1]))
                    devices = tuple(name for name in config.cdi_devices if name in named)
                    raise UnresolvedDevices(
                        f"{what}: {failure.message}", devices or config.cdi_devices
                    ) from failure
                raise _failed(what, failure, CREATE_CONTAINER_ERROR) from failure
        self._changes.tell(sandbox.pod.uid)
        return f"{scheme}{answer.container_id}"

    async def start_container(self, container_id: str) -> None:
        what = f"container {container_id}"
        async with self._lock(what):
            try:
                status = await self._container_status(_bare(container_id))
            except CallFailed as failure:
                raise _failed(what, failure, RUN_CONTAINER_ERROR) from failure
            if status.state in (cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED):
                return
            try:
                await self._call(
                    "StartContainer",
                    cri.StartContainerRequest(container_id=status.id),
                    cri.StartContainerResponse,
                    reason=RUN_CONTAINER_ERROR,
                    what=what,
                )
            finally:
                self._changes.tell(identity_of_container(status).uid)

    async def stop_container(self, container_id: str, grace_seconds: float) -> None:
        # CRI counts whole seconds, and none would be a kill.
        seconds = math.ceil(max(grace_seconds, 0.0))
        await self._end(
            "StopContainer",
            cri.StopContainerRequest(container_id=_bare(container_id), timeout=seconds),
            cri.StopContainerResponse,
            what=f"container {container_id}",
            seconds=seconds + CALL_SECONDS,
        )

    async def remove_container(self, container_id: str) -> None:
        what = f"container {container_id}"
        async with self._lock(what):
            try:
                status = await self._container_status(_bare(container_id))
            except CallFailed as failure:
                if failure.code is grpc.StatusCode.NOT_FOUND:
                    return
                raise _failed(what, failure, RUN_CONTAINER_ERROR) from failure
            await self._end(
                "RemoveContainer",
                cri.RemoveContainerRequest(container_id=status.id),
                cri.RemoveContainerResponse,
                what=what,
            )
            if status.log_path:
                await asyncio.to_thread(_remove_logs, Path(status.log_path))

    async def list_containers(self) -> Sequence[Container]:
        scheme = await self._scheme()
        listed = await self._list_containers()
        try:
            return await self._observer.containers(listed, scheme)
        except CallFailed as failure:
            raise _failed("containers", failure, RUN_CONTAINER_ERROR) from failure

    def changes(self) -> AsyncIterator[str]:
        return self._changes.listen()

    # Inside ---------------------------------------------------------------------------------------

    async def execute(
        self,
        container_id: str,
        command: Sequence[str],
        *,
        timeout_seconds: float,
        output_bytes_max: int = 16 * 1024,
    ) -> ExecResult:
        what = f"command {' '.join(command)!r}"
        late = f"{what} timed out after {timeout_seconds:g} s"
        request = cri.ExecSyncRequest(
            container_id=_bare(container_id),
            cmd=command,
            # The runtime's own deadline is for the case that it does not hear of ours.
            timeout=math.ceil(timeout_seconds) or 1,
        )
        call = self._connection.call(
            "ExecSync", request, cri.ExecSyncResponse, seconds=timeout_seconds + CALL_SECONDS
        )
        try:
            answer = await within(self._clock, timeout_seconds, call)
        except TimeoutError as error:
            raise TimeoutError(late) from error
        except CallFailed as failure:
            if failure.code is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise TimeoutError(late) from failure
            raise _failed(
                f"{what} in container {container_id}", failure, RUN_CONTAINER_ERROR
            ) from failure
        output = answer.stdout + answer.stderr
        return ExecResult(answer.exit_code, output[:output_bytes_max])

    async def open_session(self, container_id: str, config: SessionConfig) -> Session:
        what = f"container {container_id}"
        bare = _bare(container_id)
        streams = {
            "stdin": config.stdin,
            "stdout": config.stdout,
            # A terminal has one output.
            "stderr": config.stderr and not config.tty,
            "tty": config.tty,
        }
        if config.command:
            url = (
                await self._call(
                    "Exec",
                    cri.ExecRequest(container_id=bare, cmd=config.command, **streams),
                    cri.ExecResponse,
                    reason=RUN_CONTAINER_ERROR,
                    what=what,
                )
            ).url
            return await open_streams(url, config, _succeeded, clock=self._clock)
        url = (
            await self._call(
                "Attach",
                cri.AttachRequest(container_id=bare, **streams),
                cri.AttachResponse,
                reason=RUN_CONTAINER_ERROR,
                what=what,
            )
        ).url
        return await open_streams(url, config, lambda: self._exit_code(bare), clock=self._clock)

    async def connect(self, sandbox_id: str, port: int) -> tuple[AsyncIterator[bytes], Sink]:
        """To the pod's address as the network sees it; else to its own loopback.

        Kubelets probe the former and forward to the latter. A probe of a port that only the
        loopback has succeeds here, and fails there.
        """
        what = f"sandbox {sandbox_id}"
        sandbox = next(
            (each for each in await self.list_sandboxes() if each.id == sandbox_id), None
        )
        if sandbox is None:
            raise RuntimeFailed(f"no sandbox {sandbox_id}", reason=CONNECT_FAILED)
        dialed = await dial(sandbox.addresses, port, clock=self._clock)
        if dialed is not None:
            return dialed
        answer = await self._call(
            "PortForward",
            cri.PortForwardRequest(pod_sandbox_id=sandbox_id, port=[port]),
            cri.PortForwardResponse,
            reason=CONNECT_FAILED,
            what=what,
        )
        opened = await open_port(answer.url, port, clock=self._clock)
        return opened.pieces(), opened

    # Private --------------------------------------------------------------------------------------

    async def _version(self) -> cri.VersionResponse:
        version = await self._call(
            "Version",
            cri.VersionRequest(),
            cri.VersionResponse,
            reason=RUN_CONTAINER_ERROR,
            what="version",
        )
        self._name = version.runtime_name
        return version

    async def _scheme(self) -> str:
        if not self._name:
            await self._version()
        return f"{self._name}://"

    async def _container_message(
        self, sandbox: Sandbox, config: ContainerConfig, what: str
    ) -> cri.CreateContainerRequest:
        try:
            status = await self._sandbox_status(sandbox.id)
        except CallFailed as failure:
            raise _failed(what, failure, CREATE_CONTAINER_ERROR) from failure
        if status.state != cri.SANDBOX_READY:
            raise RuntimeFailed(
                f"{what}: sandbox {sandbox.id} is not ready", reason=CREATE_CONTAINER_ERROR
            )
        sandbox_config = restored_sandbox_message(status)
        message = container_message(config, sandbox_config)
        if config.cdi_devices and not await self._runtime_resolves():
            apply_edits(message, self._devices.resolve(config.cdi_devices))
        if config.run_as_group is not None and config.run_as_user is None:
            set_user_of_image(message, await self._image(config.image, CREATE_CONTAINER_ERROR))
        if config.log_path:
            log = Path(sandbox_config.log_directory) / config.log_path
            _make_directory(log.parent, what, CREATE_CONTAINER_ERROR)
        return cri.CreateContainerRequest(
            pod_sandbox_id=sandbox.id, config=message, sandbox_config=sandbox_config
        )

    async def _runtime_resolves(self) -> bool:
        if self._cdi != "auto":
            return self._cdi == "runtime"
        status = await self._call(
            "Status",
            cri.StatusRequest(verbose=True),
            cri.StatusResponse,
            reason=CREATE_CONTAINER_ERROR,
            what="status",
        )
        return knows_cdi(await self._version(), status)

    async def _image(self, image: str, reason: str) -> cri.Image:
        answer = await self._call(
            "ImageStatus",
            cri.ImageStatusRequest(image=cri.ImageSpec(image=image)),
            cri.ImageStatusResponse,
            reason=reason,
            what=f"image {image}",
        )
        return answer.image

    async def _exit_code(self, container_id: str) -> int:
        """Of a container whose streams have ended; 0 if it only let go of them."""
        what = f"container {container_id}"
        deadline = self._clock.monotonic() + EXIT_SECONDS
        while True:
            try:
                status = await self._container_status(container_id)
            except CallFailed as failure:
                raise _failed(what, failure, RUN_CONTAINER_ERROR) from failure
            if status.state == cri.CONTAINER_EXITED or self._clock.monotonic() >= deadline:
                return status.exit_code
            await self._clock.sleep(EXIT_POLL_SECONDS)

    async def _sandbox_status(self, sandbox_id: str) -> cri.PodSandboxStatus:
        answer = await self._connection.call(
            "PodSandboxStatus",
            cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id),
            cri.PodSandboxStatusResponse,
            seconds=CALL_SECONDS,
        )
        return answer.status

    async def _container_status(self, container_id: str) -> cri.ContainerStatus:
        answer = await self._connection.call(
            "ContainerStatus",
            cri.ContainerStatusRequest(container_id=container_id),
            cri.ContainerStatusResponse,
            seconds=CALL_SECONDS,
        )
        return answer.status

    async def _look(self) -> Snapshot:
        found: dict[str, tuple[str, object]] = {
            sandbox.id: (identity_of_sandbox(sandbox).uid, sandbox.state)
            for sandbox in await self._list_sandboxes(RUN_CONTAINER_ERROR)
        }
        for container in await self._list_containers():
            found[container.id] = (identity_of_container(container).uid, container.state)
        return found

    async def _list_sandboxes(self, reason: str, *, pod_uid: str = "") -> list[cri.PodSandbox]:
        labels = {POD_UID: pod_uid} if pod_uid else {}
        answer = await self._call(
            "ListPodSandbox",
            cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(label_selector=labels)),
            cri.ListPodSandboxResponse,
            reason=reason,
            what="sandboxes",
        )
        return [item for item in answer.items if item.metadata.uid]

    async def _list_containers(
        self, *, sandbox_id: str = "", name: str = ""
    ) -> list[cri.Container]:
        labels = {CONTAINER_NAME: name} if name else {}
        answer = await self._call(
            "ListContainers",
            cri.ListContainersRequest(
                filter=cri.ContainerFilter(pod_sandbox_id=sandbox_id, label_selector=labels)
            ),
            cri.ListContainersResponse,
            reason=RUN_CONTAINER_ERROR,
            what="containers",
        )
        return [item for item in answer.containers if item.labels.get(POD_UID)]

    async def _end(
        self,
        method: str,
        request: Message,
        answer: type[Message],
        *,
        what: str,
        seconds: float = CALL_SECONDS,
    ) -> None:
        """Stop or remove something, if there is anything."""
        try:
            await self._connection.call(method, request, answer, seconds=seconds)
        except CallFailed as failure:
            if failure.code is not grpc.StatusCode.NOT_FOUND:
                raise _failed(what, failure, RUN_CONTAINER_ERROR) from failure
        finally:
            self._changes.look_soon()

    async def _call(
        self,
        method: str,
        request: Message,
        answer: type[_Answer],
        *,
        reason: str,
        what: str,
        seconds: float = CALL_SECONDS,
    ) -> _Answer:
        try:
            return await self._connection.call(method, request, answer, seconds=seconds)
        except CallFailed as failure:
            raise _failed(what, failure, reason) from failure

    def _lock(self, key: str) -> asyncio.Lock:
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock


def _failed(what: str, failure: CallFailed, reason: str) -> RuntimeFailed:
    return RuntimeFailed(f"{what}: {failure.message}", reason=reason)


def _bare(container_id: str) -> str:
    """The runtime's own id, which it gave without the scheme that statuses show."""
    return container_id.rpartition("://")[2]


async def _succeeded() -> int:
    return 0


def _make_directory(path: Path, what: str, reason: str) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RuntimeFailed(f"{what}: {error}", reason=reason) from error


def _remove_logs(path: Path) -> None:
    """Remove a log, those it was rotated to, and the container's own directory if empty."""
    for file in (path, *path.parent.glob(f"{path.name}.*")):
        with suppress(OSError):
            file.unlink()
    with suppress(OSError):
        path.parent.rmdir()
