"""A pod's phase from its containers."""

from __future__ import annotations

from typing import Any

import pytest

from dray.agent.pods.phase import phase_of
from dray.api.core import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
    PodSpec,
)

RUNNING = ContainerState(running=ContainerStateRunning())
WAITING = ContainerState(waiting=ContainerStateWaiting(reason="ContainerCreating"))


def ended(code: int, reason: str = "") -> ContainerState:
    return ContainerState(terminated=ContainerStateTerminated(exit_code=code, reason=reason))


def status(name: str, state: ContainerState, **fields: Any) -> ContainerStatus:
    return ContainerStatus(name=name, state=state, **fields)


def pod(policy: str, *, init: tuple[Container, ...] = ()) -> Pod:
    main = (Container(name="a"), Container(name="b"))
    return Pod(spec=PodSpec(containers=main, init_containers=init, restart_policy=policy))


@pytest.mark.parametrize(
    ("policy", "a", "b", "expected"),
    [
        ("Always", RUNNING, RUNNING, "Running"),
        ("Always", RUNNING, WAITING, "Pending"),
        ("Always", ended(0), ended(1), "Running"),
        ("OnFailure", ended(0), ended(0), "Succeeded"),
        ("OnFailure", ended(0), ended(1), "Running"),
        ("OnFailure", ended(0), RUNNING, "Running"),
        ("Never", ended(0), ended(0), "Succeeded"),
        ("Never", ended(0), ended(1), "Failed"),
        ("Never", ended(1), RUNNING, "Running"),
        ("Never", WAITING, WAITING, "Pending"),
        ("Never", ended(1, "RestartingAllContainers"), ended(0), "Running"),
    ],
)
def test_main_containers_make_the_phase(
    policy: str, a: ContainerState, b: ContainerState, expected: str
) -> None:
    found = phase_of(
        pod(policy), (status("a", a), status("b", b)), initialized=True, terminal=False
    )
    assert found == expected


def test_a_container_waiting_to_be_restarted_does_not_make_a_pod_pending() -> None:
    crashed = status("a", WAITING, last_state=ended(1))
    found = phase_of(
        pod("Always"), (crashed, status("b", RUNNING)), initialized=True, terminal=False
    )
    assert found == "Running"


def test_nothing_known_is_pending() -> None:
    assert phase_of(pod("Always"), (), initialized=False, terminal=False) == "Pending"


@pytest.mark.parametrize(("codes", "expected"), [((0, 0), "Succeeded"), ((0, 143), "Failed")])
def test_a_pod_that_is_over_has_succeeded_or_failed_whatever_its_policy(
    codes: tuple[int, int], expected: str
) -> None:
    statuses = (status("a", ended(codes[0])), status("b", ended(codes[1])))
    assert phase_of(pod("Always"), statuses, initialized=True, terminal=True) == expected


@pytest.mark.parametrize(
    ("policy", "state", "expected"),
    [
        ("Always", RUNNING, "Pending"),
        ("Always", ended(1), "Pending"),
        ("Never", ended(1), "Failed"),
        ("Always", ended(0), "Running"),
    ],
)
def test_init_containers_come_before_all(policy: str, state: ContainerState, expected: str) -> None:
    main = RUNNING if expected == "Running" else WAITING
    found = phase_of(
        pod(policy, init=(Container(name="i"),)),
        (status("i", state), status("a", main), status("b", main)),
        initialized=False,
        terminal=False,
    )
    assert found == expected


@pytest.mark.parametrize(
    ("started", "initialized", "expected"),
    [(False, False, "Pending"), (True, False, "Running"), (False, True, "Running")],
)
def test_a_sidecar_holds_a_pod_back_until_it_has_started_once(
    started: bool, initialized: bool, expected: str
) -> None:
    sidecar = Container(name="s", restart_policy="Always")
    statuses = (
        status("s", RUNNING, started=started),
        status("a", RUNNING),
        status("b", RUNNING),
    )
    found = phase_of(
        pod("Always", init=(sidecar,)), statuses, initialized=initialized, terminal=False
    )
    assert found == expected


def test_a_sidecar_that_ended_does_not_count() -> None:
    sidecar = Container(name="s", restart_policy="Always")
    statuses = (status("s", ended(137)), status("a", ended(0)), status("b", ended(0)))
    found = phase_of(pod("Never", init=(sidecar,)), statuses, initialized=True, terminal=False)
    assert found == "Succeeded"
