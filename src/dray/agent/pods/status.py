"""The status of a pod, as its node reports it.

Pure: the pod, what the runtime shows and what the worker knows in, a PodStatus out. Fields that
others write (claims, nominations, conditions of other types) come out as they are in the pod, and
the writer leaves them out of its patches. A pod is reported as over only when it is: not while a
container may run or a device is not given back, because others act on the phase. Upstream
counterpart: generateAPIPodStatus in pkg/kubelet/kubelet_pods.go.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dray.agent.pods.conditions import Condition, date, own_conditions
from dray.agent.pods.container_statuses import ContainerFacts, container_statuses, settle
from dray.agent.pods.phase import TERMINAL, phase_of
from dray.agent.pods.pod_state import PodState
from dray.agent.pods.restart_policy import could_restart_all
from dray.api.core import (
    POD_CONDITION_DISRUPTION_TARGET,
    POD_PHASE_FAILED,
    POD_PHASE_PENDING,
    ContainerState,
    ContainerStateWaiting,
    ContainerStatus,
    HostIP,
    Pod,
    PodCondition,
    PodIP,
    PodStatus,
)
from dray.api.pod_resources import is_sidecar, qos_class
from dray.api.wire import Time, replace

__all__ = ["StatusFacts", "Verdict", "make_status"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why the node ends a pod, whatever its containers did."""

    reason: str
    message: str
    disruption: bool = False  # not the pod's fault: podFailurePolicy can tell


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """What the worker knows."""

    now: datetime
    containers: ContainerFacts = field(default_factory=ContainerFacts)
    host_addresses: tuple[str, ...] = ()
    verdict: Verdict | None = None
    # All containers have ended and all devices are given back.
    over: bool = False
    conditions: tuple[Condition, ...] = ()  # of dray's own types


def make_status(pod: Pod, state: PodState, facts: StatusFacts, before: PodStatus) -> PodStatus:
    """What to report now. `before` is what was reported last, at first what is stored."""
    status = _with_containers(pod, state, facts, before)
    main, init = status.container_statuses, status.init_container_statuses
    initialized = any(state.active(one.name) for one in pod.spec.containers or ())
    phase = phase_of(pod, (*init, *main), initialized=initialized, terminal=facts.over)
    phase, reason, message = _settle_phase(pod, phase, facts, before)
    if facts.over and (state.sandboxes or any(map(_has_run, (*main, *init)))):
        status = replace(
            status,
            container_statuses=settle(main) if _reached_main(pod, state, main, init) else main,
            init_container_statuses=tuple(
                one
                for shown in init
                for one in (settle((shown,)) if shown.container_id or _has_run(shown) else (shown,))
            ),
        )
    if phase == POD_PHASE_FAILED and facts.verdict is not None:
        # What it waited for does not matter any more: kubectl shows why the pod ended instead.
        status = replace(
            status,
            container_statuses=tuple(map(_no_longer_waiting, status.container_statuses)),
            init_container_statuses=tuple(map(_no_longer_waiting, status.init_container_statuses)),
        )
    known = {one.type: one for one in (*before.conditions, *pod.status.conditions)}
    conditions = date(
        (
            *own_conditions(
                pod,
                state,
                (*status.init_container_statuses, *status.container_statuses),
                phase,
                tuple(known.values()),
                restarting_all=facts.containers.restarting_all
                if could_restart_all(pod.spec)
                else None,
            ),
            *_disruption(facts),
            *facts.conditions,
        ),
        before.conditions or pod.status.conditions,
        generation=pod.metadata.generation,
        now=facts.now,
    )
    status = replace(
        status,
        observed_generation=pod.metadata.generation,
        phase=phase,
        reason=reason,
        message=message,
        conditions=_merged(pod.status.conditions, before.conditions, conditions),
        start_time=before.start_time or pod.status.start_time or Time(facts.now),
        qos_class=pod.status.qos_class or qos_class(pod.spec),
    )
    return _with_addresses(pod, state, facts, before, status)


def _with_containers(pod: Pod, state: PodState, facts: StatusFacts, before: PodStatus) -> PodStatus:
    spec = pod.spec
    # Ephemeral containers ask for no devices, and their statuses may not show any.
    without_devices = dataclasses.replace(facts.containers, devices=ContainerFacts().devices)
    return replace(
        pod.status,
        init_container_statuses=container_statuses(
            pod,
            spec.init_containers,
            state,
            before.init_container_statuses,
            facts.containers,
            init=True,
        ),
        container_statuses=container_statuses(
            pod, spec.containers or (), state, before.container_statuses, facts.containers
        ),
        ephemeral_container_statuses=container_statuses(
            pod,
            spec.ephemeral_containers,
            state,
            before.ephemeral_container_statuses,
            without_devices,
        ),
    )


def _has_run(status: ContainerStatus) -> bool:
    return status.state.terminated is not None or status.last_state.terminated is not None


def _reached_main(
    pod: Pod, state: PodState, main: Sequence[ContainerStatus], init: Sequence[ContainerStatus]
) -> bool:
    """Whether the pod came as far as its main containers; if not, they never ended."""
    if any(state.latest(one.name) or one.last_state.terminated is not None for one in main):
        return True
    plain = {one.name for one in pod.spec.init_containers if not is_sidecar(one)}
    return all(
        one.state.terminated is not None and one.state.terminated.exit_code == 0
        for one in init
        if one.name in plain
    )


def _settle_phase(
    pod: Pod, phase: str, facts: StatusFacts, before: PodStatus
) -> tuple[str, str, str]:
    """The phase to show, its reason and its message."""
    for shown in (pod.status, before):
        # Nobody comes back from a terminal phase.
        if shown.phase in TERMINAL:
            return shown.phase, shown.reason, shown.message
    if facts.over:
        if facts.verdict is not None:
            return POD_PHASE_FAILED, facts.verdict.reason, facts.verdict.message
        return (phase if phase in TERMINAL else POD_PHASE_FAILED), "", ""
    if phase in TERMINAL or facts.verdict is not None:
        phase = before.phase or POD_PHASE_PENDING
    if phase == before.phase:
        return phase, before.reason, before.message
    return phase, "", ""


def _disruption(facts: StatusFacts) -> tuple[Condition, ...]:
    verdict = facts.verdict
    if verdict is None or not verdict.disruption:
        return ()
    kind = POD_CONDITION_DISRUPTION_TARGET
    return (Condition(kind, status=True, reason=verdict.reason, message=verdict.message),)


def _merged(
    stored: Sequence[PodCondition], before: Sequence[PodCondition], own: Sequence[PodCondition]
) -> tuple[PodCondition, ...]:
    """Others' conditions as they are stored, and our own as they are now."""
    merged = {condition.type: condition for condition in stored}
    for condition in before:
        # Set once, by an event that is over.
        if condition.type == POD_CONDITION_DISRUPTION_TARGET:
            merged.setdefault(condition.type, condition)
    merged |= {condition.type: condition for condition in own}
    return tuple(merged.values())


def _with_addresses(
    pod: Pod, state: PodState, facts: StatusFacts, before: PodStatus, status: PodStatus
) -> PodStatus:
    hosts = facts.host_addresses
    pods: Sequence[str] = state.sandbox.addresses if state.sandbox is not None else ()
    if pod.spec.host_network:
        pods = hosts
    pod_ips = tuple(PodIP(ip=address) for address in pods) or before.pod_ips
    host_ips = tuple(HostIP(ip=address) for address in hosts) or before.host_ips
    return replace(
        status,
        pod_ips=pod_ips,
        pod_ip=pod_ips[0].ip if pod_ips else "",
        host_ips=host_ips,
        host_ip=host_ips[0].ip if host_ips else "",
    )


def _no_longer_waiting(status: ContainerStatus) -> ContainerStatus:
    if status.state.waiting is None:
        return status
    return replace(status, state=ContainerState(waiting=ContainerStateWaiting()))
