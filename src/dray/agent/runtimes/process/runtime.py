"""Pods' containers as supervised local processes of this host.

There are no images: the name is only shown, and a container must say what it runs. There is one
network, the host's; every pod has the node's address. Each container has a supervisor that outlives
the agent, so that a new agent finds all of them by reading a directory. Calls may be repeated, and
two of them for one container wait for each other.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote

import dray
from dray.agent.runtimes.failures import (
    CREATE_CONTAINER_ERROR,
    CREATE_SANDBOX_ERROR,
    RUN_CONTAINER_ERROR,
    RuntimeFailed,
)
from dray.agent.runtimes.process.cgroups import Cgroups, find_cgroups
from dray.agent.runtimes.process.connections import open_connection
from dray.agent.runtimes.process.container import ProcessContainer
from dray.agent.runtimes.process.devices import DIRECTORIES, DeviceFiles
from dray.agent.runtimes.process.launch import (
    Privileges,
    build_launch,
    find_privileges,
    stop_signal_of,
)
from dray.agent.runtimes.process.listeners import Listeners
from dray.agent.runtimes.process.records import (
    ContainerRecord,
    Damaged,
    SandboxRecord,
    StateDirectory,
)
from dray.agent.runtimes.process.remnants import kill_remnants
from dray.agent.runtimes.process.sessions import CommandSession, attach, run_command
from dray.agent.runtimes.process.shim.records import SUPERVISOR, read_record
from dray.agent.runtimes.runtime import (
    Container,
    ContainerConfig,
    ContainerState,
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

__all__ = ["ProcessRuntime"]

logger = logging.getLogger(__name__)

NAME: Final = "process"
_SCHEME: Final = f"{NAME}://"
_SAFE: Final = re.compile(r"[A-Za-z0-9.-]+")

# A file name holds 255 bytes; the longest container name and its attempt take 80.
UID_CHARACTERS_MAX: Final = 128


class ProcessRuntime:
    """A Runtime whose containers are processes. Use it as a context, or call `close`."""

    def __init__(
        self,
        root: Path,
        *,
        clock: Clock,
        entropy: Entropy,
        cdi_directories: Sequence[str | Path] = DIRECTORIES,
        node_address: str = "127.0.0.1",
        use_cgroups: bool = True,
        ignore_mounts: bool = False,
        pids_max: int = 0,
        privileges: Privileges | None = None,
    ) -> None:
        """`ignore_mounts` runs containers without the mounts that this host cannot make.

        `privileges` are those to be used; they cannot be more than this process has.
        """
        self._root = root
        self._clock = clock
        self._entropy = entropy
        self._devices = DeviceFiles(cdi_directories)
        self._node_address = node_address
        self._ignore_mounts = ignore_mounts
        self._pids_max = pids_max
        self._privileges = privileges or find_privileges()
        self._use_cgroups = use_cgroups
        self._cgroups: Cgroups | None = None
        self._state: StateDirectory | None = None
        self._sandboxes: dict[str, SandboxRecord] = {}
        self._containers: dict[str, ProcessContainer] = {}
        self._sessions: dict[str, set[CommandSession]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._listeners = Listeners()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._load()
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
        for sessions in list(self._sessions.values()):
            for session in list(sessions):
                await session.close()
        for container in self._containers.values():
            container.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._containers.clear()
        self._sandboxes.clear()
        self._state = None
        if self._cgroups is not None:
            self._cgroups.close()
            self._cgroups = None

    @property
    def cdi_problems(self) -> dict[str, str]:
        """CDI files that are skipped, and why."""
        return dict(self._devices.problems)

    # Sandboxes ------------------------------------------------------------------------------------

    async def info(self) -> RuntimeInfo:
        return RuntimeInfo(name=NAME, version=dray.__version__)

    async def run_sandbox(self, config: SandboxConfig) -> str:
        state = self._load()
        sandbox_id = f"{_file_name(config.pod.uid)}_{config.attempt}"
        if sandbox_id in self._sandboxes:
            return sandbox_id
        record = SandboxRecord(
            id=sandbox_id,
            pod=config.pod,
            attempt=config.attempt,
            hostname="" if config.host_network else config.hostname,
            log_directory=config.log_directory,
            created_at=self._clock.now(),
            annotations=dict(config.annotations),
        )
        try:
            Path(config.log_directory).mkdir(parents=True, exist_ok=True)
            state.write_sandbox(record)
        except OSError as error:
            raise RuntimeFailed(
                f"sandbox of pod {config.pod.namespace}/{config.pod.name}: {error}",
                reason=CREATE_SANDBOX_ERROR,
            ) from error
        self._sandboxes[sandbox_id] = record
        self._listeners.tell(config.pod.uid)
        return sandbox_id

    async def stop_sandbox(self, sandbox_id: str) -> None:
        state = self._load()
        sandbox = self._sandboxes.get(sandbox_id)
        # First, so that nothing new begins.
        if sandbox is not None and sandbox.ready:
            sandbox = self._sandboxes[sandbox_id] = replace(sandbox, ready=False)
            state.write_sandbox(sandbox)
            self._listeners.tell(sandbox.pod.uid)
        async with asyncio.TaskGroup() as group:
            for container in self._inside(sandbox_id):
                group.create_task(self.stop_container(container.record.id, 0.0))

    async def remove_sandbox(self, sandbox_id: str) -> None:
        state = self._load()
        await self.stop_sandbox(sandbox_id)
        for container in self._inside(sandbox_id):
            await self.remove_container(container.record.id)
        sandbox = self._sandboxes.pop(sandbox_id, None)
        if sandbox is not None:
            state.remove_sandbox(sandbox_id)
            self._listeners.tell(sandbox.pod.uid)

    async def list_sandboxes(self) -> Sequence[Sandbox]:
        self._load()
        return [
            Sandbox(
                id=record.id,
                pod=record.pod,
                attempt=record.attempt,
                ready=record.ready,
                created_at=record.created_at,
                addresses=(self._node_address,) if record.ready else (),
            )
            for record in self._sandboxes.values()
        ]

    # Containers -----------------------------------------------------------------------------------

    async def find_image(self, image: str, *, always: bool = False) -> str:  # noqa: ARG002 - no registry to ask
        """There are none: the name stands for itself."""
        return image

    async def pull_image(self, image: str) -> str:
        return image

    async def create_container(self, sandbox: Sandbox, config: ContainerConfig) -> str:
        state = self._load()
        name = f"{sandbox.id}_{_file_name(config.name)}_{config.attempt}"
        container_id = f"{_SCHEME}{name}"
        async with self._lock(container_id):
            known = self._containers.get(container_id)
            if known is not None and known.state is not ContainerState.CREATED:
                return container_id
            found = self._sandboxes.get(sandbox.id)
            if found is None or not found.ready:
                raise RuntimeFailed(
                    f"container {config.name}: sandbox {sandbox.id} is not ready",
                    reason=CREATE_CONTAINER_ERROR,
                )
            try:
                self._create(state, found, config, container_id, name)
            except OSError as error:
                raise RuntimeFailed(
                    f"container {config.name} of pod {found.pod.namespace}/{found.pod.name}: "
                    f"{error}",
                    reason=CREATE_CONTAINER_ERROR,
                ) from error
        return container_id

    async def start_container(self, container_id: str) -> None:
        self._load()
        container = self._containers.get(container_id)
        if container is None:
            raise RuntimeFailed(f"no container {container_id}", reason=RUN_CONTAINER_ERROR)
        sandbox = self._sandboxes.get(container.record.sandbox_id)
        if container.state is ContainerState.CREATED and (sandbox is None or not sandbox.ready):
            raise RuntimeFailed(
                f"container {container_id}: its sandbox was stopped", reason=RUN_CONTAINER_ERROR
            )
        await container.start()

    async def stop_container(self, container_id: str, grace_seconds: float) -> None:
        self._load()
        container = self._containers.get(container_id)
        if container is not None:
            await container.stop(grace_seconds)

    async def remove_container(self, container_id: str) -> None:
        state = self._load()
        async with self._lock(container_id):
            container = self._containers.get(container_id)
            if container is None:
                return
            await container.stop(0.0)
            container.close()
            del self._containers[container_id]
            record = container.record
            await asyncio.to_thread(state.remove_container, container.directory)
            if self._cgroups is not None:
                self._cgroups.remove(record.cgroup)
            sandbox = self._sandboxes.get(record.sandbox_id)
            _remove_logs(Path(record.log_path), sandbox.log_directory if sandbox else "")
        self._locks.pop(container_id, None)
        self._listeners.tell(record.pod.uid)

    async def list_containers(self) -> Sequence[Container]:
        self._load()
        return [container.listed() for container in self._containers.values()]

    def changes(self) -> AsyncIterator[str]:
        self._load()
        return self._listeners.listen()

    # Inside ---------------------------------------------------------------------------------------

    async def execute(
        self,
        container_id: str,
        command: Sequence[str],
        *,
        timeout_seconds: float,
        output_bytes_max: int = 16 * 1024,
    ) -> ExecResult:
        config = SessionConfig(command=tuple(command))
        session = await self._open_command(container_id, config)
        output = bytearray()

        async def run() -> int:
            while (piece := await session.read())[0]:
                output.extend(piece[1][: output_bytes_max - len(output)])
            return await session.wait()

        try:
            code = await within(self._clock, timeout_seconds, run())
        except TimeoutError as error:
            raise TimeoutError(
                f"command {' '.join(command)!r} timed out after {timeout_seconds:g} s"
            ) from error
        finally:
            await self._close_command(container_id, session)
        return ExecResult(code, bytes(output))

    async def open_session(self, container_id: str, config: SessionConfig) -> Session:
        if config.command:
            return _Kept(self, container_id, await self._open_command(container_id, config))
        return await attach(self._container(container_id), config)

    async def connect(self, sandbox_id: str, port: int) -> tuple[AsyncIterator[bytes], Sink]:
        self._load()
        if sandbox_id not in self._sandboxes:
            raise RuntimeFailed(f"no sandbox {sandbox_id}", reason=RUN_CONTAINER_ERROR)
        return await open_connection(port)

    # Private --------------------------------------------------------------------------------------

    def _load(self) -> StateDirectory:
        """Find what is there; the first time only."""
        if self._state is not None:
            return self._state
        state = self._state = StateDirectory(self._root)
        if self._use_cgroups and self._cgroups is None:
            self._cgroups = find_cgroups(self._root)
        self._sandboxes = {sandbox.id: sandbox for sandbox in state.sandboxes()}
        for found in state.containers():
            if isinstance(found, Damaged):
                logger.error("a container is damaged, ended and set aside: %s", found)
                self._begin(self._end_damaged(found))
                continue
            directory, record = found
            container = self._make(record, directory)
            self._containers[record.id] = container
            container.adopt()
        if self._cgroups is not None:
            self._cgroups.sweep({each.record.cgroup for each in self._containers.values()})
        return state

    def _make(self, record: ContainerRecord, directory: Path) -> ProcessContainer:
        return ProcessContainer(
            record, directory, clock=self._clock, changed=self._container_changed, begin=self._begin
        )

    def _create(
        self,
        state: StateDirectory,
        sandbox: SandboxRecord,
        config: ContainerConfig,
        container_id: str,
        name: str,
    ) -> None:
        edits = self._devices.resolve(config.cdi_devices)
        directory = state.directory(name)
        log_path = directory / "output.log"
        if config.log_path:
            log_path = Path(sandbox.log_directory) / config.log_path
        stop_signal = stop_signal_of(config)
        launch = build_launch(
            container_id,
            config,
            edits,
            self._privileges,
            hostname=sandbox.hostname,
            log_path=str(log_path.absolute()),
            directory=directory,
            annotations=sandbox.annotations,
            ignore_mounts=self._ignore_mounts,
        )
        # Last, so that nothing is left behind by what is refused.
        if self._cgroups is not None:
            launch["cgroup"] = self._cgroups.make(
                _file_name(sandbox.pod.uid), name, config, pids_max=self._pids_max
            )
            launch["supervisorsCgroup"] = self._cgroups.supervisors
        record = ContainerRecord(
            id=container_id,
            sandbox_id=sandbox.id,
            pod=sandbox.pod,
            name=config.name,
            attempt=config.attempt,
            image=config.image,
            created_at=self._clock.now(),
            log_path=str(log_path.absolute()),
            stop_signal=stop_signal,
            tty=config.tty,
            stdin=config.stdin,
            cgroup=launch["cgroup"],
        )
        state.write_container(name, record, launch)
        self._containers[container_id] = self._make(record, directory)
        self._listeners.tell(sandbox.pod.uid)

    async def _end_damaged(self, damaged: Damaged) -> None:
        """Kill what runs in a container nobody knows any more."""
        try:
            record = read_record(str(damaged.directory / SUPERVISOR)) or {}
        except (OSError, ValueError):
            record = {}
        # The supervisor first: it would see the end of the others, and write it down.
        await asyncio.to_thread(kill_remnants, {"process": record.get("supervisor")})
        await asyncio.to_thread(kill_remnants, record)

    def _container_changed(self, container: ProcessContainer) -> None:
        self._listeners.tell(container.record.pod.uid)
        if container.state is ContainerState.EXITED:
            for session in list(self._sessions.get(container.record.id, ())):
                self._begin(session.close())

    def _container(self, container_id: str) -> ProcessContainer:
        self._load()
        container = self._containers.get(container_id)
        if container is None:
            raise RuntimeFailed(f"no container {container_id}", reason=RUN_CONTAINER_ERROR)
        return container

    def _inside(self, sandbox_id: str) -> list[ProcessContainer]:
        return [each for each in self._containers.values() if each.record.sandbox_id == sandbox_id]

    async def _open_command(self, container_id: str, config: SessionConfig) -> CommandSession:
        session = await run_command(self._container(container_id), config)
        self._sessions.setdefault(container_id, set()).add(session)
        return session

    async def _close_command(self, container_id: str, session: CommandSession) -> None:
        await session.close()
        sessions = self._sessions.get(container_id, set())
        sessions.discard(session)
        if not sessions:
            self._sessions.pop(container_id, None)

    def _lock(self, container_id: str) -> asyncio.Lock:
        return self._locks.setdefault(container_id, asyncio.Lock())

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, RuntimeFailed):
            logger.error("work on a container failed", exc_info=error)


class _Kept:
    """A command's session, which the runtime ends with its container."""

    def __init__(self, runtime: ProcessRuntime, container_id: str, session: CommandSession) -> None:
        self._runtime = runtime
        self._container_id = container_id
        self._session = session
        self.read = session.read
        self.write = session.write
        self.resize = session.resize
        self.wait = session.wait

    async def close(self) -> None:
        await self._runtime._close_command(self._container_id, self._session)  # noqa: SLF001


def _file_name(text: str) -> str:
    """The text as a part of a file's name, in which `_` separates parts."""
    if _SAFE.fullmatch(text) and text.strip(".") and len(text) <= UID_CHARACTERS_MAX:
        return text
    if len(text) > UID_CHARACTERS_MAX or not text:
        raise RuntimeFailed(f"{text!r} cannot name a container", reason=CREATE_CONTAINER_ERROR)
    return quote(text, safe="").replace("_", "%5F").replace(".", "%2E")


def _remove_logs(path: Path, directory: str) -> None:
    """Remove a log, those it was rotated to, and its own directory inside the pod's if empty."""
    for file in (path, *path.parent.glob(f"{path.name}.*")):
        with suppress(OSError):
            file.unlink()
    if Path(directory) in path.parent.parents:
        with suppress(OSError):
            path.parent.rmdir()
