"""Pods as a table shows them: what holds them up, in one word.

The word comes from the first thing that is not as it should be: an init container that has not
finished, a container that waits or has ended, the pod's own reason or phase; a pod on its way out
says so before anything else. Upstream counterpart: printPod of pkg/printers/internalversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from dray.api import codec, core
from dray.api.wire import Time
from dray.server.tables.durations import age
from dray.server.tables.printer import (
    AGE,
    NAME,
    NONE,
    Cells,
    Column,
    Glimpse,
    MetadataGlimpse,
    Printer,
)

__all__ = ["PODS", "pod_cells"]

_COLUMNS: Final = (
    NAME,
    Column("Ready", "How many of the containers are ready."),
    Column("Status", "What the pod does, or what holds it up."),
    Column("Restarts", "How often containers were restarted, and when last."),
    AGE,
    Column("IP", "The pod's first address.", priority=1),
    Column("Node", "Where the pod runs.", priority=1),
    Column("Nominated Node", "Where room is being made for the pod.", priority=1),
    Column("Readiness Gates", "How many of the further conditions hold.", priority=1),
)

_RESTARTABLE: Final = "Always"
_NODE_LOST: Final = "NodeLost"
_COMPLETED: Final = "Completed"


# Reading in passing ----------------------------------------------------------------------------


class _Named(Glimpse):
    name: str = ""
    restart_policy: str | None = None


class _Gate(Glimpse):
    condition_type: str = ""


class _Spec(Glimpse):
    init_containers: tuple[_Named, ...] = ()
    containers: tuple[_Named, ...] | None = None
    node_name: str = ""
    readiness_gates: tuple[_Gate, ...] = ()


class _Waiting(Glimpse):
    reason: str = ""


class _Running(Glimpse):
    pass


class _Terminated(Glimpse):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    finished_at: str | None = None


class _State(Glimpse):
    waiting: _Waiting | None = None
    running: _Running | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(Glimpse):
    name: str = ""
    state: _State = msgspec.field(default_factory=_State)
    last_state: _State = msgspec.field(default_factory=_State)
    ready: bool = False
    restart_count: int = 0
    started: bool | None = None


class _Condition(Glimpse):
    type: str = ""
    status: str = ""
    reason: str = ""


class _Address(Glimpse):
    ip: str = ""


class _Status(Glimpse):
    phase: str = ""
    reason: str = ""
    conditions: tuple[_Condition, ...] = ()
    nominated_node_name: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: tuple[_Address, ...] = msgspec.field(default=(), name="podIPs")
    init_container_statuses: tuple[_ContainerStatus, ...] = ()
    container_statuses: tuple[_ContainerStatus, ...] = ()


class _Pod(Glimpse):
    metadata: MetadataGlimpse
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_GLIMPSES: Final = msgspec.json.Decoder(_Pod)


def _read(value: bytes) -> Any:
    try:
        return _GLIMPSES.decode(value)
    except msgspec.MsgspecError:
        # Something unusual, a null perhaps: the exact decoder knows what it means.
        return codec.decode(value, core.Pod, bytes_max=len(value))


# Telling ---------------------------------------------------------------------------------------


class _Restarts:
    """How often, and when last."""

    __slots__ = ("count", "last")

    def __init__(self) -> None:
        self.count = 0
        self.last: Time | None = None

    def add(self, status: core.ContainerStatus) -> None:
        self.count += status.restart_count
        ended = status.last_state.terminated
        finished: Any = ended.finished_at if ended is not None else None
        if finished is not None:
            if isinstance(finished, str):
                finished = Time.parse(finished)
            if self.last is None or self.last < finished:
                self.last = finished

    def tell(self, now: datetime) -> str:
        if self.count and self.last is not None:
            return f"{self.count} ({age(self.last, now)} ago)"
        return str(self.count)


def pod_cells(pod: core.Pod, now: datetime) -> Cells:
    """The cells of a pod."""
    spec, status = pod.spec, pod.status
    sidecars = {one.name for one in spec.init_containers if one.restart_policy == _RESTARTABLE}
    total = len(spec.containers or ()) + len(sidecars)

    reason = status.reason or status.phase
    for condition in status.conditions:
        if (
            condition.type == core.POD_CONDITION_SCHEDULED
            and condition.reason == core.POD_REASON_SCHEDULING_GATED
        ):
            reason = core.POD_REASON_SCHEDULING_GATED

    restarts = sidecar_restarts = _Restarts()
    ready, starting = 0, ""
    if status.init_container_statuses:
        sidecar_restarts = _Restarts()
        ready, starting = _initialize(pod, sidecars, restarts, sidecar_restarts)
        reason = starting or reason
    if not starting or _is_initialized(status.conditions):
        restarts = sidecar_restarts
        for container in status.container_statuses:
            restarts.add(container)
        running, reason = _containers_reason(pod, reason)
        ready += running

    if pod.metadata.deletion_timestamp is not None:
        if status.reason == _NODE_LOST:
            reason = "Unknown"
        elif status.phase not in (core.POD_PHASE_SUCCEEDED, core.POD_PHASE_FAILED):
            reason = "Terminating"

    return [
        pod.metadata.name,
        f"{ready}/{total}",
        reason,
        restarts.tell(now),
        age(pod.metadata.creation_timestamp, now),
        (status.pod_ips[0].ip if status.pod_ips else status.pod_ip) or NONE,
        spec.node_name or NONE,
        status.nominated_node_name or NONE,
        _gates(pod) if spec.readiness_gates else NONE,
    ]


def _initialize(
    pod: core.Pod, sidecars: set[str], restarts: _Restarts, sidecar_restarts: _Restarts
) -> tuple[int, str]:
    """How many sidecars are ready, and what the first init container that is not done says."""
    ready = 0
    for index, container in enumerate(pod.status.init_container_statuses):
        restarts.add(container)
        is_sidecar = container.name in sidecars
        if is_sidecar:
            sidecar_restarts.add(container)
        ended = container.state.terminated
        if ended is not None and ended.exit_code == 0:
            continue
        if is_sidecar and container.started:
            ready += container.ready
            continue
        if ended is not None:
            return ready, f"Init:{_ending(ended)}"
        waiting = container.state.waiting
        if waiting is not None and waiting.reason not in ("", "PodInitializing"):
            return ready, f"Init:{waiting.reason}"
        return ready, f"Init:{index}/{len(pod.spec.init_containers)}"
    return ready, ""


def _containers_reason(pod: core.Pod, reason: str) -> tuple[int, str]:
    """How many containers run and are ready, and the reason, the first container's word first."""
    running, failure = 0, ""
    for container in reversed(pod.status.container_statuses):
        state = container.state
        if state.waiting is not None and state.waiting.reason:
            reason = state.waiting.reason
        elif state.terminated is not None:
            reason = _ending(state.terminated)
            if state.terminated.exit_code != 0:
                failure = reason
        elif container.ready and state.running is not None:
            running += 1
    if reason == _COMPLETED:
        # One container being done does not make the pod so.
        if running and _holds(pod.status.conditions, core.POD_CONDITION_READY):
            reason = "Running"
        elif failure:
            reason = failure
        elif running:
            reason = "NotReady"
    return running, reason


def _ending(ended: core.ContainerStateTerminated) -> str:
    if ended.reason:
        return ended.reason
    return f"Signal:{ended.signal}" if ended.signal else f"ExitCode:{ended.exit_code}"


def _is_initialized(conditions: Sequence[core.PodCondition]) -> bool:
    for condition in conditions:
        if condition.type == core.POD_CONDITION_INITIALIZED:
            return condition.status == "True"
    return False


def _holds(conditions: Sequence[core.PodCondition], name: str) -> bool:
    return any(one.type == name and one.status == "True" for one in conditions)


def _gates(pod: core.Pod) -> str:
    statuses = {one.type: one.status for one in reversed(pod.status.conditions)}
    gates = pod.spec.readiness_gates
    held = sum(statuses.get(gate.condition_type) == "True" for gate in gates)
    return f"{held}/{len(gates)}"


def _condition(reason: str, message: str) -> bytes:
    told = {"type": "Completed", "status": "True", "reason": reason, "message": message}
    return msgspec.json.encode([told])


# kubectl get --watch can leave out what is done.
_CONDITIONS: Final = {
    core.POD_PHASE_SUCCEEDED: _condition("Succeeded", "The pod has completed successfully."),
    core.POD_PHASE_FAILED: _condition("Failed", "The pod failed."),
}

PODS: Final = Printer(
    _COLUMNS, pod_cells, _read, lambda pod: _CONDITIONS.get(pod.status.phase, b"")
)
