"""The conditions of a pod that its node answers for; all others are left as they are.

Two are dray's own: whether the pod's devices are prepared, and whether they were given back, each
only once that failed. Upstream counterpart: pkg/kubelet/status/generate.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dray.agent.pods.phase import TERMINAL
from dray.agent.pods.pod_state import PodState
from dray.api.core import (
    CONDITION_FALSE,
    CONDITION_TRUE,
    POD_CONDITION_CONTAINERS_READY,
    POD_CONDITION_INITIALIZED,
    POD_CONDITION_READY,
    POD_CONDITION_READY_TO_START_CONTAINERS,
    POD_CONDITION_SCHEDULED,
    POD_PHASE_FAILED,
    POD_PHASE_SUCCEEDED,
    ContainerStatus,
    Pod,
    PodCondition,
)
from dray.api.pod_resources import is_sidecar
from dray.api.wire import Time
from dray.texts import quote

__all__ = [
    "ALL_CONTAINERS_RESTARTING",
    "DEVICES_PREPARED",
    "DEVICES_RELEASED",
    "OWN_TYPES",
    "Condition",
    "date",
    "own_conditions",
]

ALL_CONTAINERS_RESTARTING: Final = "AllContainersRestarting"
DEVICES_PREPARED: Final = "dray.dev/DevicesPrepared"
DEVICES_RELEASED: Final = "dray.dev/DevicesReleased"

# Written by the node and nobody else.
OWN_TYPES: Final = frozenset(
    {
        POD_CONDITION_READY_TO_START_CONTAINERS,
        POD_CONDITION_INITIALIZED,
        POD_CONDITION_READY,
        POD_CONDITION_CONTAINERS_READY,
        POD_CONDITION_SCHEDULED,
        ALL_CONTAINERS_RESTARTING,
        DEVICES_PREPARED,
        DEVICES_RELEASED,
    }
)

_UNKNOWN_STATUSES: Final = "UnknownContainerStatuses"
_NOT_READY: Final = "ContainersNotReady"
_NOT_INITIALIZED: Final = "ContainersNotInitialized"
_GATES_NOT_READY: Final = "ReadinessGatesNotReady"
_COMPLETED: Final = "PodCompleted"
_FAILED: Final = "PodFailed"
_RESTART_STARTED: Final = "RestartAllContainersStarted"
_SANDBOX_NOT_READY: Final = "PodSandboxNotReady"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition without its times."""

    type: str
    status: bool
    reason: str = ""
    message: str = ""


def own_conditions(
    pod: Pod,
    state: PodState,
    statuses: Sequence[ContainerStatus],
    phase: str,
    before: Sequence[PodCondition],
    *,
    restarting_all: bool | None,
) -> tuple[Condition, ...]:
    """What the node says, from the statuses of init and main containers.

    `restarting_all` is None for pods that have no rule which could lead to it.
    """
    ready = _containers_ready(pod, statuses, phase)
    found = [
        _ready_to_start(state),
        _initialized(pod, statuses, phase, before),
        _ready(pod, ready, before),
        ready,
        Condition(POD_CONDITION_SCHEDULED, status=True),
    ]
    if restarting_all is not None:
        found.append(_restarting(phase, restarting_all=restarting_all))
    return tuple(found)


def date(
    conditions: Iterable[Condition],
    before: Sequence[PodCondition],
    *,
    generation: int,
    now: datetime,
) -> tuple[PodCondition, ...]:
    """The conditions with their times: what did not change keeps the time of its last change."""
    known = {condition.type: condition for condition in before}
    dated = []
    for condition in conditions:
        status = CONDITION_TRUE if condition.status else CONDITION_FALSE
        old = known.get(condition.type)
        same = old is not None and old.status == status
        dated.append(
            PodCondition(
                type=condition.type,
                observed_generation=generation,
                status=status,
                last_transition_time=(old.last_transition_time if same and old else None)
                or Time(now),
                reason=condition.reason,
                message=condition.message,
            )
        )
    return tuple(dated)


def _ready_to_start(state: PodState) -> Condition:
    kind = POD_CONDITION_READY_TO_START_CONTAINERS
    if state.sandbox is not None:
        return Condition(kind, status=True)
    if not state.sandboxes:
        message = "No pod sandbox found"
    elif sum(box.ready for box in state.sandboxes) > 1:
        message = "Multiple pod sandboxes are ready"
    else:
        message = "Pod sandbox is not ready"
    return Condition(kind, status=False, reason=_SANDBOX_NOT_READY, message=message)


def _initialized(
    pod: Pod, statuses: Sequence[ContainerStatus], phase: str, before: Sequence[PodCondition]
) -> Condition:
    kind = POD_CONDITION_INITIALIZED
    by_name = {status.name: status for status in statuses}
    if not statuses and pod.spec.init_containers:
        return Condition(kind, status=False, reason=_UNKNOWN_STATUSES)
    unknown = [one.name for one in pod.spec.init_containers if one.name not in by_name]
    incomplete = []
    for container in pod.spec.init_containers:
        status = by_name.get(container.name)
        if status is not None and not (status.started if is_sidecar(container) else status.ready):
            incomplete.append(container.name)
    if phase == POD_PHASE_SUCCEEDED and not unknown:
        return Condition(kind, status=True, reason=_COMPLETED)
    main = (by_name.get(container.name) for container in pod.spec.containers or ())
    if any(status is not None and _was_started(status) for status in main):
        return Condition(kind, status=True)
    message = _listed(("unknown", unknown), ("incomplete", incomplete))
    # Once initialized, a pod stays so: also while all its containers are restarted.
    if not message or any(one.type == kind and one.status == CONDITION_TRUE for one in before):
        return Condition(kind, status=True)
    return Condition(kind, status=False, reason=_NOT_INITIALIZED, message=message)


def _was_started(status: ContainerStatus) -> bool:
    return (
        status.state.running is not None
        or status.state.terminated is not None
        or status.last_state.terminated is not None
    )


def _containers_ready(pod: Pod, statuses: Sequence[ContainerStatus], phase: str) -> Condition:
    kind = POD_CONDITION_CONTAINERS_READY
    if not statuses:
        return Condition(kind, status=False, reason=_UNKNOWN_STATUSES)
    by_name = {status.name: status for status in statuses}
    wanted = [
        *(one.name for one in pod.spec.init_containers if is_sidecar(one)),
        *(one.name for one in pod.spec.containers or ()),
    ]
    unknown = [name for name in wanted if name not in by_name]
    unready = [name for name in wanted if name in by_name and not by_name[name].ready]
    if phase == POD_PHASE_SUCCEEDED and not unknown:
        return Condition(kind, status=False, reason=_COMPLETED)
    if phase == POD_PHASE_FAILED:
        return Condition(kind, status=False, reason=_FAILED)
    message = _listed(("unknown", unknown), ("unready", unready))
    if message:
        return Condition(kind, status=False, reason=_NOT_READY, message=message)
    return Condition(kind, status=True)


def _ready(pod: Pod, containers: Condition, before: Sequence[PodCondition]) -> Condition:
    kind = POD_CONDITION_READY
    if not containers.status:
        return Condition(kind, status=False, reason=containers.reason, message=containers.message)
    known = {condition.type: condition for condition in before}
    missing = []
    for gate in pod.spec.readiness_gates:
        name = gate.condition_type
        if name not in known:
            missing.append(
                f"corresponding condition of pod readiness gate {quote(name)} does not exist."
            )
        elif known[name].status != CONDITION_TRUE:
            missing.append(
                f"the status of pod readiness gate {quote(name)} is not "
                f'"True", but {known[name].status}'
            )
    if missing:
        return Condition(kind, status=False, reason=_GATES_NOT_READY, message=", ".join(missing))
    return Condition(kind, status=True)


def _restarting(phase: str, *, restarting_all: bool) -> Condition:
    kind = ALL_CONTAINERS_RESTARTING
    if phase in TERMINAL:
        reason = _COMPLETED if phase == POD_PHASE_SUCCEEDED else _FAILED
        return Condition(kind, status=False, reason=reason)
    if not restarting_all:
        return Condition(kind, status=False)
    return Condition(
        kind,
        status=True,
        reason=_RESTART_STARTED,
        message="container exited with restart policy rule",
    )


def _listed(*groups: tuple[str, Sequence[str]]) -> str:
    """Names by what is wrong with them, lists as upstream prints them."""
    return ", ".join(
        f"containers with {word} status: [{' '.join(names)}]" for word, names in groups if names
    )
