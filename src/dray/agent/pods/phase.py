"""A pod's phase: how far it is, in one word, from the statuses of its containers.

Upstream counterpart: getPhase in pkg/kubelet/kubelet_pods.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dray.agent.pods.container_statuses import RESTARTING_ALL_CONTAINERS
from dray.agent.pods.restart_policy import restarts
from dray.api.core import (
    POD_PHASE_FAILED,
    POD_PHASE_PENDING,
    POD_PHASE_RUNNING,
    POD_PHASE_SUCCEEDED,
    Container,
    ContainerStatus,
    Pod,
    PodSpec,
)
from dray.api.pod_resources import is_sidecar

__all__ = ["TERMINAL", "phase_of"]

TERMINAL = frozenset({POD_PHASE_SUCCEEDED, POD_PHASE_FAILED})


@dataclass(slots=True)
class _Count:
    """Sidecars and main containers by what they do."""

    unknown: int = 0
    running: int = 0
    waiting: int = 0
    stopped: int = 0
    stopped_for_good: int = 0
    succeeded: int = 0


def phase_of(
    pod: Pod, statuses: Sequence[ContainerStatus], *, initialized: bool, terminal: bool
) -> str:
    """The phase these statuses (of init and main containers) make.

    `initialized`: a main container has run in this sandbox. `terminal`: nothing will run again,
    whatever the restart policy.
    """
    by_name = {status.name: status for status in statuses}
    init = _judge_init(pod.spec, by_name)
    if init == POD_PHASE_FAILED:
        return POD_PHASE_FAILED
    count = _Count()
    sidecars_pending = _count_sidecars(pod.spec, by_name, count)
    for container in pod.spec.containers or ():
        _count_main(container, pod.spec, by_name.get(container.name), count)
    if init == POD_PHASE_PENDING or (sidecars_pending and not initialized) or count.waiting:
        return POD_PHASE_PENDING
    if count.unknown:
        return POD_PHASE_PENDING
    if count.running:
        return POD_PHASE_RUNNING
    if not count.stopped:
        return POD_PHASE_PENDING
    if not terminal and count.stopped != count.stopped_for_good:
        # At least one is about to be started again.
        return POD_PHASE_RUNNING
    return POD_PHASE_SUCCEEDED if count.stopped == count.succeeded else POD_PHASE_FAILED


def _judge_init(spec: PodSpec, by_name: dict[str, ContainerStatus]) -> str:
    """Failed for good, still pending, or done (which reads as running)."""
    pending = False
    for container in spec.init_containers:
        if is_sidecar(container):
            continue
        status = by_name.get(container.name)
        code = None if status is None else _exit_code(status)
        if code is None:
            pending = True
        elif code and not _returns(container, spec, status, code):
            return POD_PHASE_FAILED
        # One that failed and is to be started again does not count as pending upstream: the main
        # containers, waiting for it, do.
    return POD_PHASE_PENDING if pending else POD_PHASE_RUNNING


def _count_sidecars(spec: PodSpec, by_name: dict[str, ContainerStatus], count: _Count) -> bool:
    """Count them in, and say whether one has not started yet. Those that ended do not matter."""
    pending = False
    for container in spec.init_containers:
        if not is_sidecar(container):
            continue
        status = by_name.get(container.name)
        if status is None:
            count.unknown += 1
        elif status.state.running is not None:
            count.running += 1
            pending = pending or not status.started
        elif status.state.terminated is None and status.last_state.terminated is None:
            count.waiting += 1
            pending = True
    return pending


def _count_main(
    container: Container, spec: PodSpec, status: ContainerStatus | None, count: _Count
) -> None:
    if status is None:
        count.unknown += 1
        return
    if status.state.running is not None:
        count.running += 1
        return
    code = _exit_code(status)
    if code is None:
        count.waiting += 1
        return
    count.stopped += 1
    if not _returns(container, spec, status, code):
        count.stopped_for_good += 1
    if code == 0 and status.state.terminated is not None:
        count.succeeded += 1


def _exit_code(status: ContainerStatus) -> int | None:
    """How it ended last, unless it runs or never did."""
    ended = status.state.terminated or status.last_state.terminated
    return None if ended is None or status.state.running is not None else ended.exit_code


def _returns(
    container: Container, spec: PodSpec, status: ContainerStatus | None, exit_code: int
) -> bool:
    """Whether a container that ended so will be started again."""
    ended = status and (status.state.terminated or status.last_state.terminated)
    if ended and ended.reason == RESTARTING_ALL_CONTAINERS:
        return True
    return restarts(container, spec, exit_code)
