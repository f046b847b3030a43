"""The conditions that a node answers for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dray.agent.pods.conditions import Condition, date, own_conditions
from dray.agent.pods.pod_state import NOTHING, PodState
from dray.agent.runtimes.runtime import PodIdentity, Sandbox
from dray.api.core import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStatus,
    Pod,
    PodCondition,
    PodReadinessGate,
    PodSpec,
)
from dray.api.wire import Time

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BOX = Sandbox("box", PodIdentity("d", "p", "u"), 0, ready=True, created_at=NOW)
READY = PodState.of((BOX,), ())
POD = Pod(spec=PodSpec(containers=(Container(name="a"), Container(name="b"))))


def up(name: str, *, ready: bool = True) -> ContainerStatus:
    state = ContainerState(running=ContainerStateRunning())
    return ContainerStatus(name=name, state=state, ready=ready, started=True)


def find(
    pod: Pod,
    *statuses: ContainerStatus,
    state: PodState = READY,
    phase: str = "Running",
    before: tuple[PodCondition, ...] = (),
    restarting_all: bool | None = None,
) -> dict[str, Condition]:
    found = own_conditions(pod, state, statuses, phase, before, restarting_all=restarting_all)
    return {condition.type: condition for condition in found}


def test_a_pod_is_ready_when_all_its_containers_are() -> None:
    assert find(POD, up("a"), up("b"))["Ready"] == Condition("Ready", status=True)
    waiting = find(POD, up("a"), up("b", ready=False))
    for kind in ("Ready", "ContainersReady"):
        assert waiting[kind].reason == "ContainersNotReady"
        assert waiting[kind].message == "containers with unready status: [b]"
    unknown = find(POD, up("a"))["Ready"]
    assert unknown.message == "containers with unknown status: [b]"


@pytest.mark.parametrize(
    ("phase", "reason"), [("Succeeded", "PodCompleted"), ("Failed", "PodFailed")]
)
def test_a_pod_that_is_over_is_not_ready(phase: str, reason: str) -> None:
    found = find(POD, up("a"), up("b"), phase=phase)
    assert (found["Ready"].status, found["Ready"].reason) == (False, reason)


def test_readiness_gates_are_conditions_of_others() -> None:
    pod = Pod(
        spec=PodSpec(
            containers=(Container(name="a"),),
            readiness_gates=(PodReadinessGate(condition_type="example.com/lb"),),
        )
    )
    missing = find(pod, up("a"))
    assert missing["ContainersReady"].status
    assert missing["Ready"].reason == "ReadinessGatesNotReady"
    assert missing["Ready"].message == (
        'corresponding condition of pod readiness gate "example.com/lb" does not exist.'
    )
    closed = find(pod, up("a"), before=(PodCondition(type="example.com/lb", status="False"),))
    assert closed["Ready"].message == (
        'the status of pod readiness gate "example.com/lb" is not "True", but False'
    )
    assert find(pod, up("a"), before=(PodCondition(type="example.com/lb", status="True"),))[
        "Ready"
    ].status


def test_a_pod_without_sandbox_is_not_ready_to_start_containers() -> None:
    found = find(POD, state=NOTHING)["PodReadyToStartContainers"]
    assert (found.status, found.reason) == (False, "PodSandboxNotReady")
    assert find(POD)["PodReadyToStartContainers"].status


def test_once_initialized_a_pod_stays_so() -> None:
    pod = Pod(spec=PodSpec(init_containers=(Container(name="i"),), containers=POD.spec.containers))
    incomplete = find(pod, ContainerStatus(name="i"))["Initialized"]
    assert incomplete.reason == "ContainersNotInitialized"
    assert incomplete.message == "containers with incomplete status: [i]"
    before = (PodCondition(type="Initialized", status="True"),)
    assert find(pod, ContainerStatus(name="i"), before=before)["Initialized"].status
    assert find(pod, ContainerStatus(name="i"), up("a"))["Initialized"].status


def test_restarting_all_is_only_told_of_pods_that_could() -> None:
    assert "AllContainersRestarting" not in find(POD)
    assert find(POD, restarting_all=True)["AllContainersRestarting"] == Condition(
        "AllContainersRestarting",
        status=True,
        reason="RestartAllContainersStarted",
        message="container exited with restart policy rule",
    )
    assert not find(POD, restarting_all=False)["AllContainersRestarting"].status


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    first = date([Condition("Ready", status=False, reason="A")], (), generation=1, now=NOW)
    later = NOW + timedelta(seconds=60)
    second = date([Condition("Ready", status=False, reason="B")], first, generation=2, now=later)
    assert second[0].last_transition_time == Time(NOW)
    assert (second[0].reason, second[0].observed_generation) == ("B", 2)
    third = date([Condition("Ready", status=True)], second, generation=2, now=later)
    assert third[0].last_transition_time == Time(later)
