"""What a pod's status says of each container, as a kubelet would.

Made from what the runtime shows, from what was said before (a container that vanished did run
once), and from why a container does not run yet. Upstream counterpart:
convertToAPIContainerStatuses in pkg/kubelet/kubelet_pods.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from dray.agent.pods.pod_state import PodState
from dray.agent.pods.probe_results import ProbeResults, is_ready, is_started
from dray.agent.pods.restart_policy import restarts
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import ContainerState as RunState
from dray.api.carried import read_part
from dray.api.core import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
    ResourceStatus,
    VolumeMountStatus,
)
from dray.api.core.parts import VolumeMount
from dray.api.pod_resources import is_sidecar
from dray.api.wire import Time, replace

__all__ = [
    "CONTAINER_CREATING",
    "POD_INITIALIZING",
    "RESTARTING_ALL_CONTAINERS",
    "ContainerFacts",
    "Waiting",
    "container_statuses",
    "settle",
]

CONTAINER_CREATING: Final = "ContainerCreating"
POD_INITIALIZING: Final = "PodInitializing"
RESTARTING_ALL_CONTAINERS: Final = "RestartingAllContainers"

_STATUS_UNKNOWN: Final = "ContainerStatusUnknown"
_KILLED: Final = 137
_GONE_WHEN_DELETED: Final = (
    "The container could not be located when the pod was deleted.  The container used to be Running"
)
_GONE_WHEN_TERMINATED: Final = "The container could not be located when the pod was terminated"
_REMOVED_FOR_RESTART: Final = "The container is removed because RestartAllContainers in place"
_ASSUMED_COMPLETED: Final = (
    "Unable to get init container status from container runtime and pod has been initialized, "
    "treat it as exited normally"
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a container does not run."""

    reason: str
    message: str = ""


def _no_devices(container_name: str) -> tuple[ResourceStatus, ...]:  # noqa: ARG001 - nobody has any
    return ()


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """What the runtime does not know."""

    waiting: Mapping[str, Waiting] = field(default_factory=dict)  # by name
    probes: Mapping[str, ProbeResults] = field(default_factory=dict)  # by ID
    messages: Mapping[str, str] = field(default_factory=dict)  # last words, by ID
    # Killed in order to be started again. They never show as terminated: the API does not let a
    # container come back that by its policy would stay down.
    to_restart: frozenset[str] = frozenset()
    restarting_all: bool = False
    devices: Callable[[str], tuple[ResourceStatus, ...]] = _no_devices  # by name


def container_statuses(
    pod: Pod,
    containers: Sequence[Container],
    state: PodState,
    previous: Sequence[ContainerStatus],
    facts: ContainerFacts,
    *,
    init: bool = False,
) -> tuple[ContainerStatus, ...]:
    """The statuses of one of the pod's lists of containers, in its order."""
    before = {status.name: status for status in previous}
    started_main = any(state.latest(one.name) for one in pod.spec.containers or ())
    found = []
    for container in containers:
        status = _status(pod, container, state, before.get(container.name), facts)
        if init and started_main:
            status = _assume_completed(container, state, status)
        status = _judge(container, status, facts, init=init)
        found.append(replace(status, allocated_resources_status=facts.devices(container.name)))
    return tuple(found)


def settle(statuses: Sequence[ContainerStatus]) -> tuple[ContainerStatus, ...]:
    """The statuses of a pod that is over: whatever is not known to have ended has ended somehow."""
    ended = ContainerState(
        terminated=ContainerStateTerminated(
            reason=_STATUS_UNKNOWN, message=_GONE_WHEN_TERMINATED, exit_code=_KILLED
        )
    )
    return tuple(
        status
        if status.state.terminated is not None
        else replace(status, state=ended, ready=False, started=False)
        for status in statuses
    )


# One container ---------------------------------------------------------------------------------


def _status(
    pod: Pod,
    container: Container,
    state: PodState,
    before: ContainerStatus | None,
    facts: ContainerFacts,
) -> ContainerStatus:
    history = state.history(container.name)
    if not history:
        return _absent(pod, container, before, facts)
    status = _present(container, history, before, facts)
    reason = facts.waiting.get(container.name)
    if history[0].id in facts.to_restart and history[0].state is RunState.EXITED:
        reason = reason or Waiting(CONTAINER_CREATING)
    elif reason is None or not _restarts(pod, container, history[0]):
        return status
    last = status.state if status.state.terminated is not None else status.last_state
    waiting = ContainerStateWaiting(reason=reason.reason, message=reason.message)
    return replace(status, state=ContainerState(waiting=waiting), last_state=last)


def _present(
    container: Container,
    history: Sequence[RunContainer],
    before: ContainerStatus | None,
    facts: ContainerFacts,
) -> ContainerStatus:
    """The status of a container the runtime knows."""
    newest = history[0]
    status = ContainerStatus(
        name=container.name,
        image=newest.image,
        image_id=newest.image_id,
        container_id=newest.id,
        restart_count=max(newest.attempt, before.restart_count if before else 0),
        state=_show(newest, before, facts),
        allocated_resources=container.resources.requests,
        resources=container.resources,
        volume_mounts=_mounts(container),
    )
    if len(history) > 1:
        return replace(status, last_state=_show(history[1], None, facts))
    if before is None:
        return status
    # What came before is known to nobody else: those containers were removed.
    if before.container_id != newest.id and before.state.terminated is not None:
        return replace(status, last_state=before.state)
    return replace(status, last_state=before.last_state)


def _absent(
    pod: Pod, container: Container, before: ContainerStatus | None, facts: ContainerFacts
) -> ContainerStatus:
    """The status of a container the runtime does not know: never made, or removed."""
    default = POD_INITIALIZING if pod.spec.init_containers else CONTAINER_CREATING
    reason = facts.waiting.get(container.name, Waiting(default))
    waiting = ContainerState(
        waiting=ContainerStateWaiting(reason=reason.reason, message=reason.message)
    )
    status = ContainerStatus(
        name=container.name,
        image=container.image,
        state=waiting,
        volume_mounts=_mounts(container),
    )
    if before is None:
        return status
    if before.state.terminated is not None and not facts.restarting_all:
        return before
    status = replace(status, restart_count=before.restart_count, last_state=before.last_state)
    if facts.restarting_all and before.state.waiting is None:
        removed = ContainerStateWaiting(
            reason=RESTARTING_ALL_CONTAINERS, message=_REMOVED_FOR_RESTART
        )
        ended = before.state.terminated or ContainerStateTerminated(
            reason=RESTARTING_ALL_CONTAINERS, message=_REMOVED_FOR_RESTART, exit_code=_KILLED
        )
        return replace(
            status,
            state=ContainerState(waiting=removed),
            last_state=ContainerState(terminated=ended),
        )
    if before.state.running is not None and not restarts(container, pod.spec, _KILLED):
        return _lost(before)
    if before.state.running is not None and before.last_state.terminated is None:
        lost = ContainerStateTerminated(
            reason=_STATUS_UNKNOWN, message=_GONE_WHEN_DELETED, exit_code=_KILLED
        )
        again = 0 if pod.metadata.deletion_timestamp is not None else 1
        return replace(
            status,
            last_state=ContainerState(terminated=lost),
            restart_count=before.restart_count + again,
        )
    return status


def _lost(before: ContainerStatus) -> ContainerStatus:
    """The status of a container that ran when it was last heard of, and is not to run again.

    Upstream shows it as waiting, counts a restart that there will be none of, and lets the phase of
    the pod follow from that; test_a_container_that_was_forgotten_has_ended.
    """
    assert before.state.running is not None
    ended = ContainerStateTerminated(
        reason=_STATUS_UNKNOWN,
        message=_GONE_WHEN_TERMINATED,
        exit_code=_KILLED,
        started_at=before.state.running.started_at,
        container_id=before.container_id,
    )
    return replace(before, state=ContainerState(terminated=ended))


def _assume_completed(
    container: Container, state: PodState, status: ContainerStatus
) -> ContainerStatus:
    """An init container that nobody remembers has completed, or the pod would not be further."""
    if is_sidecar(container) or state.latest(container.name) or status.state.waiting is None:
        return status
    ended = ContainerStateTerminated(reason="Completed", message=_ASSUMED_COMPLETED, exit_code=0)
    return replace(status, state=ContainerState(terminated=ended))


def _judge(
    container: Container, status: ContainerStatus, facts: ContainerFacts, *, init: bool
) -> ContainerStatus:
    """The status with what probes have to say."""
    running = status.state.running is not None
    started = running and is_started(container, status.container_id, facts.probes)
    if init and not is_sidecar(container):
        ended = status.state.terminated
        return replace(status, started=started, ready=ended is not None and ended.exit_code == 0)
    ready = running and is_ready(container, status.container_id, facts.probes)
    return replace(status, started=started, ready=ready)


# Parts -----------------------------------------------------------------------------------------


def _show(
    found: RunContainer, before: ContainerStatus | None, facts: ContainerFacts
) -> ContainerState:
    match found.state:
        case RunState.RUNNING:
            return ContainerState(running=ContainerStateRunning(started_at=_time(found.started_at)))
        case RunState.EXITED:
            return ContainerState(
                terminated=ContainerStateTerminated(
                    exit_code=found.exit_code,
                    signal=found.signal,
                    reason=found.reason or ("Error" if found.exit_code else "Completed"),
                    message=facts.messages.get(found.id) or found.message,
                    started_at=_time(found.started_at),
                    finished_at=_time(found.finished_at),
                    container_id=found.id,
                )
            )
        case RunState.UNKNOWN if before is not None and before.state.running is not None:
            return ContainerState(
                terminated=ContainerStateTerminated(
                    reason=_STATUS_UNKNOWN, message=_GONE_WHEN_TERMINATED, exit_code=_KILLED
                )
            )
        case RunState.CREATED:
            # About to be started; upstream leaves out the reason for a moment.
            return ContainerState(waiting=ContainerStateWaiting(reason=CONTAINER_CREATING))
        case _:
            return ContainerState(waiting=ContainerStateWaiting())


def _restarts(pod: Pod, container: Container, found: RunContainer) -> bool:
    if found.state is RunState.RUNNING or pod.metadata.deletion_timestamp is not None:
        return False
    if found.state is RunState.EXITED:
        return restarts(container, pod.spec, found.exit_code)
    return True


def _mounts(container: Container) -> tuple[VolumeMountStatus, ...]:
    return tuple(
        VolumeMountStatus(
            name=mount.name,
            mount_path=mount.mount_path,
            read_only=mount.read_only,
            recursive_read_only="Disabled" if mount.read_only else None,
        )
        for mount in read_part(container.volume_mounts, tuple[VolumeMount, ...]) or ()
    )


def _time(instant: datetime | None) -> Time | None:
    return None if instant is None else Time(instant)
