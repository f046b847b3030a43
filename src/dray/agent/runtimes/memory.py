"""A runtime without processes, for simulated nodes: containers only seem to run.

What they do is said by annotations of their pod, so that a scenario is a manifest:

    simulation.dray.dev/exit-after: 5s        exits by itself after so long
    simulation.dray.dev/exit-code: "3"        with this code (0)
    simulation.dray.dev/stop-after: 2s        needs so long to end when asked to (0s)
    simulation.dray.dev/ready-after: 10s      answers probes only from then on (0s)
    simulation.dray.dev/fail-after: 60s       answers probes no more from then on (never)

A container's name behind a dot (`exit-after.web`) makes it that container's own. Images below
`missing.simulation.dray.dev/` cannot be pulled. Nothing ticks: how far a container is follows from
the clock whenever somebody looks, and `changes` waits for the next exit. So ten thousand pods cost
what they are worth in memory, and no task.

It passes the part of the runtimes' suite that needs no processes.
"""

from __future__ import annotations

import asyncio
import heapq
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from dray.agent.runtimes.failures import (
    CREATE_CONTAINER_ERROR,
    IMAGE_PULL_ERROR,
    RUN_CONTAINER_ERROR,
    RuntimeFailed,
    UnresolvedDevices,
)
from dray.agent.runtimes.runtime import (
    Container,
    ContainerConfig,
    ContainerState,
    ExecResult,
    PodIdentity,
    RuntimeInfo,
    Sandbox,
    SandboxConfig,
    Session,
    SessionConfig,
    Sink,
)
from dray.clock import Clock

__all__ = ["ANNOTATION_PREFIX", "MISSING_IMAGES", "MemoryRuntime"]

ANNOTATION_PREFIX: Final = "simulation.dray.dev/"
MISSING_IMAGES: Final = "missing.simulation.dray.dev/"

# What a shell reports for a process that SIGKILL ended.
KILLED: Final = 137
SIGKILL: Final = 9

_DURATION: Final = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?", re.ASCII)
_RESPONSE: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_LATER_SECONDS: Final = 1e9

# Given the CDI devices of a container, those that nobody defines.
Unresolved = Callable[[Sequence[str]], Sequence[str]]


@dataclass(slots=True)
class _Container:
    id: str
    sandbox: _Sandbox
    config: ContainerConfig
    created_at: datetime
    started_at: datetime | None = None
    exits_at: datetime | None = None
    exit_code: int = 0
    signal: int = 0
    reason: str = ""


@dataclass(slots=True)
class _Sandbox:
    id: str
    config: SandboxConfig
    address: str
    created_at: datetime
    ready: bool = True
    containers: list[_Container] = field(default_factory=list)


class MemoryRuntime:
    """Satisfies `Runtime`."""

    def __init__(
        self,
        clock: Clock,
        *,
        unresolved: Unresolved | None = None,
        network: str = "10.244",
    ) -> None:
        self._clock = clock
        self._unresolved = unresolved
        self._network = network
        self._sandboxes: dict[str, _Sandbox] = {}
        self._containers: dict[str, _Container] = {}
        self._by_attempt: dict[tuple[PodIdentity, int], _Sandbox] = {}
        # When containers will exit; entries that something else came before are skipped.
        self._exits: list[tuple[datetime, int, PodIdentity]] = []
        self._serial = 0
        self._listeners: list[_Changes] = []

    async def info(self) -> RuntimeInfo:
        return RuntimeInfo("memory", "1")

    # Sandboxes ---------------------------------------------------------------------------------

    async def run_sandbox(self, config: SandboxConfig) -> str:
        known = self._by_attempt.get((config.pod, config.attempt))
        if known is not None:
            return known.id
        serial = self._next()
        address = f"{self._network}.{serial >> 8 & 255}.{serial & 255}"
        sandbox = _Sandbox(f"sandbox-{serial}", config, address, self._clock.now())
        self._sandboxes[sandbox.id] = self._by_attempt[config.pod, config.attempt] = sandbox
        self._changed(config.pod)
        return sandbox.id

    async def stop_sandbox(self, sandbox_id: str) -> None:
        sandbox = self._sandboxes.get(sandbox_id)
        if sandbox is None or not sandbox.ready:
            return
        for container in sandbox.containers:
            self._kill(container)
        sandbox.ready = False
        self._changed(sandbox.config.pod)

    async def remove_sandbox(self, sandbox_id: str) -> None:
        await self.stop_sandbox(sandbox_id)
        sandbox = self._sandboxes.pop(sandbox_id, None)
        if sandbox is not None:
            del self._by_attempt[sandbox.config.pod, sandbox.config.attempt]
            for container in sandbox.containers:
                del self._containers[container.id]
            self._changed(sandbox.config.pod)

    async def list_sandboxes(self) -> Sequence[Sandbox]:
        return [self._show_sandbox(sandbox) for sandbox in self._sandboxes.values()]

    # Containers --------------------------------------------------------------------------------

    async def find_image(self, image: str, *, always: bool = False) -> str:  # noqa: ARG002 - no registry to ask
        return "" if image.startswith(MISSING_IMAGES) else f"memory://{image}"

    async def pull_image(self, image: str) -> str:
        found = await self.find_image(image)
        if not found:
            raise RuntimeFailed(f"image {image} does not exist", reason=IMAGE_PULL_ERROR)
        return found

    async def create_container(self, sandbox: Sandbox, config: ContainerConfig) -> str:
        inside = self._sandboxes.get(sandbox.id)
        if inside is None or not inside.ready:
            raise RuntimeFailed(
                f"sandbox {sandbox.id} of container {config.name} is not ready",
                reason=CREATE_CONTAINER_ERROR,
            )
        for known in inside.containers:
            if (known.config.name, known.config.attempt) == (config.name, config.attempt):
                return known.id
        unknown = tuple(self._unresolved(config.cdi_devices)) if self._unresolved else ()
        if unknown:
            raise UnresolvedDevices(f"unresolvable CDI devices {', '.join(unknown)}", unknown)
        container = _Container(
            f"memory://{self._next():x}", inside, config, created_at=self._clock.now()
        )
        inside.containers.append(container)
        self._containers[container.id] = container
        self._changed(inside.config.pod)
        return container.id

    async def start_container(self, container_id: str) -> None:
        container = self._containers.get(container_id)
        if container is None or not container.sandbox.ready:
            raise RuntimeFailed(f"no container {container_id} to start", reason=RUN_CONTAINER_ERROR)
        if container.started_at is not None:
            return
        container.started_at = self._clock.now()
        after = self._seconds(container, "exit-after")
        if after is not None:
            code = _whole(self._text(container, "exit-code"))
            self._end(container, container.started_at + timedelta(seconds=after), code)
        self._changed(container.sandbox.config.pod)

    async def stop_container(self, container_id: str, grace_seconds: float) -> None:
        container = self._containers.get(container_id)
        if container is None or self._state(container) is not ContainerState.RUNNING:
            return
        needs = self._seconds(container, "stop-after") or 0.0
        ends = self._clock.now() + timedelta(seconds=min(needs, grace_seconds))
        if container.exits_at is None or ends < container.exits_at:
            late = needs > grace_seconds
            self._end(container, ends, KILLED if late else 0, SIGKILL if late else 0)
        while self._state(container) is ContainerState.RUNNING:
            # A second call may have made it sooner, but never later.
            assert container.exits_at is not None
            await self._clock.sleep((container.exits_at - self._clock.now()).total_seconds())

    async def remove_container(self, container_id: str) -> None:
        container = self._containers.pop(container_id, None)
        if container is not None:
            self._kill(container)
            container.sandbox.containers.remove(container)
            self._changed(container.sandbox.config.pod)

    async def list_containers(self) -> Sequence[Container]:
        return [self._show(container) for container in self._containers.values()]

    async def changes(self) -> AsyncIterator[str]:
        listener = _Changes()
        self._listeners.append(listener)
        try:
            while True:
                self._announce_exits()
                if listener.pods:
                    pods = sorted(listener.pods)
                    listener.pods.clear()
                    for uid in pods:
                        yield uid
                    continue
                listener.woken.clear()
                await _first(listener.woken.wait(), self._clock.sleep(self._until_next_exit()))
        finally:
            self._listeners.remove(listener)

    # Inside containers -------------------------------------------------------------------------

    async def execute(
        self,
        container_id: str,
        command: Sequence[str],
        *,
        timeout_seconds: float,  # noqa: ARG002 - takes no time
        output_bytes_max: int = 16 * 1024,
    ) -> ExecResult:
        """Commands succeed while the container is well; nothing is run."""
        container = self._containers.get(container_id)
        if container is None or self._state(container) is not ContainerState.RUNNING:
            raise RuntimeFailed(
                f"container {container_id} does not run", reason=RUN_CONTAINER_ERROR
            )
        output = " ".join(command).encode()[:output_bytes_max]
        return ExecResult(0 if self._is_well(container) else 1, output)

    async def open_session(self, container_id: str, config: SessionConfig) -> Session:  # noqa: ARG002 - refused
        raise RuntimeFailed(
            f"container {container_id} is simulated: nobody is inside", reason=RUN_CONTAINER_ERROR
        )

    async def connect(self, sandbox_id: str, port: int) -> tuple[AsyncIterator[bytes], Sink]:
        """Any port answers any request with success while all containers of the pod are well."""
        sandbox = self._sandboxes.get(sandbox_id)
        running = [
            container
            for container in (sandbox.containers if sandbox else ())
            if self._state(container) is ContainerState.RUNNING
        ]
        if not running or not all(self._is_well(container) for container in running):
            raise RuntimeFailed(
                f"connection to port {port} of {sandbox_id} refused", reason=RUN_CONTAINER_ERROR
            )
        return _answer(), _Drain()

    # For scenarios -----------------------------------------------------------------------------

    def exit_container(self, pod_uid: str, name: str, exit_code: int, *, reason: str = "") -> None:
        """Let a running container end now."""
        for container in self._containers.values():
            if (
                container.sandbox.config.pod.uid == pod_uid
                and container.config.name == name
                and self._state(container) is ContainerState.RUNNING
            ):
                container.reason = reason
                self._end(container, self._clock.now(), exit_code)

    # Private -----------------------------------------------------------------------------------

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    def _changed(self, pod: PodIdentity) -> None:
        for listener in self._listeners:
            listener.pods.add(pod.uid)
            listener.woken.set()

    def _end(self, container: _Container, at: datetime, exit_code: int, signal: int = 0) -> None:
        """Let a container exit then."""
        container.exits_at, container.exit_code, container.signal = at, exit_code, signal
        heapq.heappush(self._exits, (at, self._next(), container.sandbox.config.pod))
        for listener in self._listeners:
            listener.woken.set()

    def _announce_exits(self) -> None:
        now = self._clock.now()
        while self._exits and self._exits[0][0] <= now:
            self._changed(heapq.heappop(self._exits)[2])

    def _until_next_exit(self) -> float:
        if not self._exits:
            return _LATER_SECONDS
        return (self._exits[0][0] - self._clock.now()).total_seconds()

    def _kill(self, container: _Container) -> None:
        if self._state(container) is ContainerState.RUNNING:
            self._end(container, self._clock.now(), KILLED, SIGKILL)

    def _state(self, container: _Container) -> ContainerState:
        if container.started_at is None:
            return ContainerState.CREATED
        if container.exits_at is not None and container.exits_at <= self._clock.now():
            return ContainerState.EXITED
        return ContainerState.RUNNING

    def _is_well(self, container: _Container) -> bool:
        """Whether it answers probes now."""
        assert container.started_at is not None
        age = (self._clock.now() - container.started_at).total_seconds()
        ready, fails = (self._seconds(container, key) for key in ("ready-after", "fail-after"))
        return age >= (ready or 0.0) and (fails is None or age < fails)

    def _text(self, container: _Container, key: str) -> str:
        annotations = container.sandbox.config.annotations
        own = annotations.get(f"{ANNOTATION_PREFIX}{key}.{container.config.name}")
        return annotations.get(f"{ANNOTATION_PREFIX}{key}", "") if own is None else own

    def _seconds(self, container: _Container, key: str) -> float | None:
        return _duration(self._text(container, key))

    def _show_sandbox(self, sandbox: _Sandbox) -> Sandbox:
        return Sandbox(
            id=sandbox.id,
            pod=sandbox.config.pod,
            attempt=sandbox.config.attempt,
            ready=sandbox.ready,
            created_at=sandbox.created_at,
            addresses=(sandbox.address,) if sandbox.ready else (),
        )

    def _show(self, container: _Container) -> Container:
        state = self._state(container)
        exited = state is ContainerState.EXITED
        return Container(
            id=container.id,
            sandbox_id=container.sandbox.id,
            pod=container.sandbox.config.pod,
            name=container.config.name,
            attempt=container.config.attempt,
            state=state,
            image=container.config.image,
            image_id=f"memory://{container.config.image}",
            created_at=container.created_at,
            started_at=container.started_at,
            finished_at=container.exits_at if exited else None,
            exit_code=container.exit_code if exited else 0,
            signal=container.signal if exited else 0,
            reason=(container.reason or ("Error" if container.exit_code else "Completed"))
            if exited
            else "",
        )


@dataclass(slots=True)
class _Changes:
    """What one reader of the changes has not heard of yet: at most every pod, once."""

    pods: set[str] = field(default_factory=set)
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class _Drain:
    """Takes whatever is written."""

    async def write(self, data: bytes) -> None:
        pass

    async def close(self) -> None:
        pass


async def _answer() -> AsyncIterator[bytes]:
    yield _RESPONSE


async def _first(*awaitables: Coroutine[Any, Any, object]) -> None:
    """Return when one is done, with the others cancelled and gone."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _duration(text: str) -> float | None:
    """Seconds, from Go's form of durations; None for what is none."""
    match = _DURATION.fullmatch(text)
    if not text or match is None:
        return None
    hours, minutes, seconds, millis = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds + millis / 1000


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() else 0
