"""What the life of a pod needs of whatever runs its containers.

The nouns are those of CRI: a sandbox per pod, containers inside it, each with an attempt that
counts restarts. A runtime outlives the agent: whatever it runs is found again by listing, by a new
agent that knows nothing. Upstream counterpart: cri-api pkg/apis/services.go.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Protocol

__all__ = [
    "Container",
    "ContainerConfig",
    "ContainerState",
    "ExecResult",
    "Mount",
    "PodIdentity",
    "Runtime",
    "RuntimeInfo",
    "Sandbox",
    "SandboxConfig",
    "Session",
    "SessionConfig",
    "Sink",
]


@dataclass(frozen=True, slots=True)
class PodIdentity:
    """Which pod a sandbox belongs to."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """What a runtime is, for the node's status."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or directory of the host inside a container."""

    host_path: str
    container_path: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class SandboxConfig:
    """What a pod's containers share."""

    pod: PodIdentity
    attempt: int
    hostname: str
    log_directory: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    privileged: bool = False  # whether one of its containers is
    cgroup_parent: str = ""
    # name → value, as the pod asks for them.
    sysctls: Mapping[str, str] = field(default_factory=dict)
    port_mappings: tuple[tuple[str, int, int], ...] = ()  # protocol, container port, host port


@dataclass(frozen=True, slots=True)
class ContainerConfig:
    """One container, complete: nothing is looked up any more."""

    name: str
    attempt: int
    image: str
    command: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    working_directory: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    mounts: tuple[Mount, ...] = ()
    cdi_devices: tuple[str, ...] = ()
    log_path: str = ""  # relative to the sandbox's log directory
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    privileged: bool = False
    read_only_root: bool = False
    no_new_privileges: bool = False  # whatever it executes gains none
    run_as_user: int | None = None
    run_as_group: int | None = None
    supplemental_groups: tuple[int, ...] = ()
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    cpu_limit_millis: int = 0
    cpu_request_millis: int = 0
    memory_limit_bytes: int = 0
    oom_score_adjustment: int = 0
    stop_signal: str = ""  # SIGTERM unless said otherwise
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


class ContainerState(Enum):
    """How far a container is."""

    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A sandbox as the runtime lists it."""

    id: str
    pod: PodIdentity
    attempt: int
    ready: bool
    created_at: datetime
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Container:
    """A container as the runtime lists it."""

    id: str  # with the runtime's scheme, as a pod's status shows it: process://…, containerd://…
    sandbox_id: str
    pod: PodIdentity
    name: str
    attempt: int
    state: ContainerState
    image: str
    image_id: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int = 0
    signal: int = 0
    reason: str = ""  # Completed, Error, OOMKilled, ContainerCannotRun
    message: str = ""
    log_path: str = ""  # absolute


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command inside a container ended."""

    exit_code: int
    output: bytes  # stdout and stderr, at most as much as was asked for


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """A command inside a container, or its own first process (no command), with its streams."""

    command: tuple[str, ...] = ()
    stdin: bool = False
    stdout: bool = True
    stderr: bool = True
    tty: bool = False


class Session(Protocol):
    """Streams of a process inside a container. Reading ends with b""; closing twice is fine."""

    async def read(self) -> tuple[int, bytes]:
        """The next piece and where it is from: 1 stdout, 2 stderr. (0, b"") once all has ended."""
        ...

    async def write(self, data: bytes) -> None:
        """Feed its stdin; b"" closes it."""
        ...

    def resize(self, width: int, height: int) -> None:
        """The terminal has another size now."""
        ...

    async def wait(self) -> int:
        """The exit code, once there is one."""
        ...

    async def close(self) -> None:
        """Leave: a command is killed, an attached container goes on."""
        ...


class Runtime(Protocol):
    """Runs containers. Every call may be repeated: what is done already is no error.

    Failures are RuntimeFailed (`dray.agent.runtimes.failures`), which carries the reason a waiting
    container shows.
    """

    async def info(self) -> RuntimeInfo: ...

    async def run_sandbox(self, config: SandboxConfig) -> str:
        """Make a pod's sandbox; returns its id."""
        ...

    async def stop_sandbox(self, sandbox_id: str) -> None:
        """Kill what is left in it, and give its addresses back."""
        ...

    async def remove_sandbox(self, sandbox_id: str) -> None:
        """Remove it with its containers."""
        ...

    async def find_image(self, image: str, *, always: bool = False) -> str:
        """The id of an image that need not be pulled; "" if it has to be.

        That is one that is there or, with `always`, one that no registry could have a newer of.
        """
        ...

    async def pull_image(self, image: str) -> str:
        """Have the image from its registry; returns its id."""
        ...

    async def create_container(self, sandbox: Sandbox, config: ContainerConfig) -> str:
        """Make a container, CDI devices resolved; returns its id. It does not run yet."""
        ...

    async def start_container(self, container_id: str) -> None: ...

    async def stop_container(self, container_id: str, grace_seconds: float) -> None:
        """Ask it to end, and kill it when it does not. Returns once it has ended."""
        ...

    async def remove_container(self, container_id: str) -> None:
        """Forget it, with its log."""
        ...

    async def list_sandboxes(self) -> Sequence[Sandbox]: ...

    async def list_containers(self) -> Sequence[Container]: ...

    def changes(self) -> AsyncIterator[str]:
        """UIDs of pods of which a container or sandbox changed; never ends by itself."""
        ...

    async def execute(
        self,
        container_id: str,
        command: Sequence[str],
        *,
        timeout_seconds: float,
        output_bytes_max: int = 16 * 1024,
    ) -> ExecResult:
        """Run a command inside a container, and wait for it; TimeoutError when it takes long."""
        ...

    async def open_session(self, container_id: str, config: SessionConfig) -> Session:
        """A command, or the container's own streams, for somebody at the other end."""
        ...

    async def connect(self, sandbox_id: str, port: int) -> tuple[AsyncIterator[bytes], Sink]:
        """A TCP connection to a port inside the sandbox: what comes out, and where to write."""
        ...


class Sink(Protocol):
    """The writing end of a connection."""

    async def write(self, data: bytes) -> None: ...

    async def close(self) -> None: ...
