"""What a pod needs next: its spec and what the runtime shows in, actions out.

Pure, and level-based: nothing is remembered from one plan to the next but the facts that are passed
in, so a new agent plans as the old one would have. Three things always hold, and are tested as
properties: no container is started while one of its name runs, init containers run in their order,
and a pod that has ended starts nothing. Upstream counterpart: computePodActions and
computeInitContainerActions in pkg/kubelet/kuberuntime.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from dray.agent.pods.pod_state import PodState
from dray.agent.pods.restart_policy import restarts, restarts_after_kill, restarts_all
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import ContainerState
from dray.api.core import RESTART_POLICY_NEVER, Container, Pod
from dray.api.pod_resources import is_sidecar
from dray.api.wire import is_null

__all__ = ["Facts", "Kill", "KillReason", "Kind", "Plan", "Start", "plan"]


class Kind(Enum):
    """Which of a pod's three lists a container is in."""

    INIT = "init"
    MAIN = "main"
    EPHEMERAL = "ephemeral"


class KillReason(Enum):
    """Why a container is ended while its pod goes on."""

    STARTUP_PROBE = "startup"
    LIVENESS_PROBE = "liveness"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Start:
    """Make and start a container."""

    container: Container
    kind: Kind
    attempt: int


@dataclass(frozen=True, slots=True)
class Kill:
    """End a container."""

    container: RunContainer
    reason: KillReason
    message: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known beside the spec and the runtime, by container IDs."""

    started: frozenset[str] = frozenset()  # startup probes that succeeded
    failed_startup: frozenset[str] = frozenset()
    failed_liveness: frozenset[str] = frozenset()
    images: Mapping[str, str] = field(default_factory=dict)  # what each was made from
    # By container name, the last attempt there was, for containers the runtime knows no more.
    attempts: Mapping[str, int] = field(default_factory=dict)
    # Killed in order to be started again, however they took it.
    to_restart: frozenset[str] = frozenset()
    restarting_all: bool = False
    # By container name, the exit codes of containers that have ended and the runtime knows no more.
    forgotten: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, in the order of the fields."""

    # Nothing of the pod is to run any more: it has ended.
    finish: bool = False
    # These go, running or not, and everything starts from the beginning.
    reset: tuple[RunContainer, ...] = ()
    # End all there is, then make a sandbox with this attempt.
    sandbox_attempt: int | None = None
    kill: tuple[Kill, ...] = ()
    start: tuple[Start, ...] = ()


def plan(pod: Pod, state: PodState, facts: Facts = Facts()) -> Plan:  # noqa: B008 - frozen
    """The next actions. No action at all means that the pod is as it should be."""
    if pod.metadata.deletion_timestamp is not None:
        return Plan(finish=True)
    to_reset = _reset(pod, state, facts)
    if to_reset:
        return Plan(reset=to_reset)
    if state.sandbox is None:
        return _plan_sandbox(pod, state, facts)
    return _Planner(pod, state, facts).plan()


def _reset(pod: Pod, state: PodState, facts: Facts) -> tuple[RunContainer, ...]:
    """All containers, if one of them ended in the way that restarts all; that one is the last."""
    sources: list[RunContainer] = []
    targets: list[RunContainer] = []
    for container in (*pod.spec.init_containers, *(pod.spec.containers or ())):
        history = state.history(container.name)
        if (
            history
            and history[0].state is ContainerState.EXITED
            and restarts_all(container, history[0].exit_code)
        ):
            sources += history
        else:
            targets += history
    if not sources and not facts.restarting_all:
        return ()
    return (*reversed(targets), *reversed(sources))


def _plan_sandbox(pod: Pod, state: PodState, facts: Facts) -> Plan:
    attempt = state.sandboxes[0].attempt + 1 if state.sandboxes else 0
    main = pod.spec.containers or ()
    began = (attempt and state.containers) or facts.forgotten
    if pod.spec.restart_policy == RESTART_POLICY_NEVER and began:
        return Plan(finish=True)
    created = any(state.latest(one.name) or one.name in facts.forgotten for one in main)
    if created and not any(_wanted(container, pod, state, facts) for container in main):
        return Plan(finish=True)
    return Plan(sandbox_attempt=attempt)


def _wanted(container: Container, pod: Pod, state: PodState, facts: Facts) -> bool:
    """Whether a container that does not run should."""
    latest = state.latest(container.name)
    if latest is None and container.name in facts.forgotten:
        return restarts(container, pod.spec, facts.forgotten[container.name])
    if latest is None or latest.state is not ContainerState.EXITED:
        # Created but never started, or in a state nobody knows: begin again.
        return True
    return latest.id in facts.to_restart or restarts(container, pod.spec, latest.exit_code)


class _Planner:
    """Plans for a pod that has its sandbox."""

    def __init__(self, pod: Pod, state: PodState, facts: Facts) -> None:
        self._pod = pod
        self._state = state
        self._facts = facts
        self._kill: list[Kill] = []
        self._init: list[Start] = []
        self._main: list[Start] = []

    def plan(self) -> Plan:
        spec = self._pod.spec
        ephemeral = tuple(
            self._starting(container, Kind.EPHEMERAL)
            for container in spec.ephemeral_containers
            if self._state.latest(container.name) is None
        )
        initialized = self._plan_init()
        if initialized is None:
            return Plan(finish=True)
        if initialized:
            kept = self._plan_main()
            if not kept and not self._main:
                return Plan(finish=True)
        return Plan(kill=tuple(self._kill), start=(*ephemeral, *self._init, *self._main))

    # Init containers ---------------------------------------------------------------------------

    def _plan_init(self) -> bool | None:
        """Whether main containers may run; None if they never will."""
        containers = self._pod.spec.init_containers
        if any(self._state.active(one.name) for one in self._pod.spec.containers or ()):
            # One that runs proves it; containers before it may have been removed since.
            for container in containers:
                self._keep_sidecar(container)
            return True
        reached = max(
            (n for n, one in enumerate(containers) if self._state.active(one.name)), default=None
        )
        if reached is None:
            if containers:
                self._init.append(self._starting(containers[0], Kind.INIT))
            return not containers
        for container in containers[:reached]:
            self._keep_sidecar(container)
        done = self._plan_reached(containers[reached])
        if not done:
            return done
        if reached + 1 == len(containers):
            return True
        self._init.append(self._starting(containers[reached + 1], Kind.INIT))
        return False

    def _plan_reached(self, container: Container) -> bool | None:
        """Whether the container that initialization has come to is done; None if it failed."""
        found = self._state.active(container.name)
        assert found is not None
        if is_sidecar(container):
            running = found.state is ContainerState.RUNNING
            up = running and (is_null(container.startup_probe) or found.id in self._facts.started)
            self._keep_sidecar(container)
            return up
        match found.state:
            case ContainerState.RUNNING:
                return False
            case ContainerState.CREATED:
                self._init.append(self._starting(container, Kind.INIT))
                return False
            case ContainerState.EXITED:
                if found.exit_code == 0:
                    return True
                if not restarts(container, self._pod.spec, found.exit_code):
                    return None
                self._init.append(self._starting(container, Kind.INIT))
                return False
            case ContainerState.UNKNOWN:
                if not restarts_after_kill(container, self._pod.spec):
                    return None
                self._end(found, KillReason.UNKNOWN, _unknown("Init container", found))
                self._init.append(self._starting(container, Kind.INIT))
                return False

    def _keep_sidecar(self, container: Container) -> None:
        if not is_sidecar(container):
            return
        found = self._state.active(container.name)
        if found is None or found.state in (ContainerState.EXITED, ContainerState.CREATED):
            self._init.append(self._starting(container, Kind.INIT))
            return
        reason = self._why_end(container, found)
        if reason is not None:
            self._end(found, reason, _message("Init container", container, found, reason))
            self._init.append(self._starting(container, Kind.INIT))

    # Main containers ---------------------------------------------------------------------------

    def _plan_main(self) -> bool:
        """Whether any container goes on running."""
        kept = False
        for container in self._pod.spec.containers or ():
            found = self._state.latest(container.name)
            if found is None or found.state is not ContainerState.RUNNING:
                if _wanted(container, self._pod, self._state, self._facts):
                    if found is not None and found.state is ContainerState.UNKNOWN:
                        self._end(found, KillReason.UNKNOWN, _unknown("Container", found))
                    self._main.append(self._starting(container, Kind.MAIN))
                continue
            reason = self._why_end(container, found)
            if reason is None:
                kept = True
                continue
            message = _message("Container", container, found, reason)
            if reason is KillReason.CHANGED or restarts_after_kill(container, self._pod.spec):
                message = f"{message}, will be restarted"
                self._main.append(self._starting(container, Kind.MAIN))
            self._end(found, reason, message)
        # What is killed for good ends first, and then is looked at again.
        return kept or bool(self._kill)

    # Both --------------------------------------------------------------------------------------

    def _why_end(self, container: Container, found: RunContainer) -> KillReason | None:
        if found.state is ContainerState.UNKNOWN:
            return KillReason.UNKNOWN
        if self._facts.images.get(found.id, container.image) != container.image:
            return KillReason.CHANGED
        if found.id in self._facts.failed_liveness:
            return KillReason.LIVENESS_PROBE
        if found.id in self._facts.failed_startup:
            return KillReason.STARTUP_PROBE
        return None

    def _end(self, found: RunContainer, reason: KillReason, message: str) -> None:
        self._kill.append(Kill(found, reason, message))

    def _starting(self, container: Container, kind: Kind) -> Start:
        known = [one.attempt for one in self._state.history(container.name)]
        if container.name in self._facts.attempts:
            known.append(self._facts.attempts[container.name])
        return Start(container, kind, max(known) + 1 if known else 0)


def _message(noun: str, container: Container, found: RunContainer, reason: KillReason) -> str:
    if reason is KillReason.UNKNOWN:
        return _unknown(noun, found)
    if reason is KillReason.CHANGED:
        return f"{noun} {container.name} definition changed"
    return f"{noun} {container.name} failed {reason.value} probe"


def _unknown(noun: str, found: RunContainer) -> str:
    return f'{noun} is in "{found.state.value}" state, try killing it before restart'
