"""The patch between two statuses."""

from __future__ import annotations

from typing import Any

import pytest

from dray.agent.pods.status_patch import is_passing, status_patch, without_devices
from dray.api.core import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    PodCondition,
    PodIP,
    PodResourceClaimStatus,
    PodStatus,
    ResourceHealth,
    ResourceStatus,
)
from dray.api.wire import replace

STORED = PodStatus(
    phase="Pending",
    reason="why",
    conditions=(
        PodCondition(type="Ready", status="False"),
        PodCondition(type="example.com/lb", status="False"),
    ),
    pod_ips=(PodIP(ip="10.0.0.1"),),
    pod_ip="10.0.0.1",
)


def test_nothing_differs_nothing_is_sent() -> None:
    assert status_patch(STORED, STORED) == {}


def test_only_what_differs_is_sent_and_what_is_gone_is_nulled() -> None:
    wanted = replace(STORED, phase="Running", reason="")
    assert status_patch(STORED, wanted) == {"phase": "Running", "reason": None}


def test_conditions_of_others_are_never_sent() -> None:
    wanted = replace(
        STORED,
        conditions=(
            PodCondition(type="Ready", status="True"),
            PodCondition(type="example.com/lb", status="True"),
            PodCondition(type="DisruptionTarget", status="True", reason="EvictionByEvictionAPI"),
        ),
    )
    assert [one["type"] for one in status_patch(STORED, wanted)["conditions"]] == ["Ready"]


def test_a_disruption_by_a_device_is_ours_to_tell() -> None:
    target = PodCondition(type="DisruptionTarget", status="True", reason="DeviceFailed")
    wanted = replace(STORED, conditions=(*STORED.conditions, target))
    assert [one["type"] for one in status_patch(STORED, wanted)["conditions"]] == [
        "DisruptionTarget"
    ]


def test_fields_of_others_are_never_sent() -> None:
    claims = (PodResourceClaimStatus(name="a"),)
    wanted = replace(STORED, resource_claim_statuses=claims, nominated_node_name="n")
    assert status_patch(STORED, wanted) == {}


def test_addresses_are_replaced_not_merged() -> None:
    wanted = replace(STORED, pod_ips=(PodIP(ip="10.0.0.2"),), pod_ip="10.0.0.2")
    assert status_patch(STORED, wanted) == {
        "podIP": "10.0.0.2",
        "podIPs": [PodIP(ip="10.0.0.2"), {"$patch": "replace"}],
    }


def test_health_can_be_left_out() -> None:
    health = (ResourceStatus(name="claim:a", resources=(ResourceHealth(resource_id="0"),)),)
    container = ContainerStatus(name="main", allocated_resources_status=health)
    bare = without_devices(replace(STORED, container_statuses=(container,)))
    assert bare.container_statuses[0].allocated_resources_status == ()


def test_a_condition_that_turns_loses_its_old_reason() -> None:
    before = PodCondition(type="Ready", status="False", reason="ContainersNotReady", message="no")
    stored = PodStatus(conditions=(before,))
    wanted = PodStatus(conditions=(PodCondition(type="Ready", status="True"),))
    (sent,) = status_patch(stored, wanted)["conditions"]
    assert sent["status"] == "True"
    assert sent["reason"] is None
    assert sent["message"] is None


# Steps of a pod that starts ----------------------------------------------------------------------


def waits(name: str, reason: str = "ContainerCreating", **fields: Any) -> ContainerStatus:
    waiting = ContainerState(waiting=ContainerStateWaiting(reason=reason))
    return ContainerStatus(name=name, state=waiting, **fields)


def has(health: str) -> tuple[ResourceStatus, ...]:
    return (ResourceStatus(name="claim:gpu", resources=(ResourceHealth(health=health),)),)


RUNNING = ContainerState(running=ContainerStateRunning())
STARTING = PodStatus(
    phase="Pending",
    conditions=(
        PodCondition(type="PodReadyToStartContainers", status="False"),
        PodCondition(type="Ready", status="False", message="[a b]"),
        PodCondition(type="dray.dev/DevicesPrepared", status="False", message="attempt 1"),
    ),
    init_container_statuses=(waits("init", "PodInitializing"),),
    container_statuses=(waits("a"), waits("b")),
)


def with_main(first: ContainerStatus) -> PodStatus:
    return replace(STARTING, container_statuses=(first, waits("b")))


def with_condition(kind: str, status: str) -> PodStatus:
    return replace(STARTING, conditions=(PodCondition(type=kind, status=status, message="new"),))


@pytest.mark.parametrize(
    ("wanted", "passing"),
    [
        pytest.param(replace(STARTING, pod_ip="10.0.0.1"), True, id="address"),
        pytest.param(with_condition("PodReadyToStartContainers", "True"), True, id="sandbox"),
        pytest.param(with_condition("Ready", "False"), True, id="other-words"),
        pytest.param(with_main(waits("a", container_id="memory://1")), True, id="made"),
        pytest.param(with_main(ContainerStatus(name="a", state=RUNNING)), True, id="one-of-two"),
        pytest.param(
            with_main(waits("a", allocated_resources_status=has("Healthy"))), True, id="well"
        ),
        pytest.param(
            with_main(waits("a", allocated_resources_status=has("Unhealthy"))), False, id="sick"
        ),
        pytest.param(with_main(waits("a", "ErrImagePull")), False, id="another-reason"),
        pytest.param(
            with_main(
                ContainerStatus(
                    name="a", state=ContainerState(terminated=ContainerStateTerminated())
                )
            ),
            False,
            id="ended",
        ),
        pytest.param(with_condition("Initialized", "True"), False, id="initialized"),
        pytest.param(with_condition("dray.dev/DevicesPrepared", "False"), False, id="attempt"),
        pytest.param(
            replace(STARTING, init_container_statuses=(waits("init"),)), False, id="init-container"
        ),
        pytest.param(replace(STARTING, container_statuses=()), False, id="no-containers"),
        pytest.param(replace(STARTING, phase="Running"), False, id="phase"),
        pytest.param(replace(STARTING, message="no"), False, id="message"),
    ],
)
def test_only_steps_of_a_pod_that_starts_can_wait(wanted: PodStatus, passing: bool) -> None:
    assert is_passing(STARTING, wanted) is passing
    assert status_patch(STARTING, wanted)


def test_nothing_can_wait_once_a_pod_runs() -> None:
    running = replace(STARTING, phase="Running")
    assert not is_passing(running, replace(running, pod_ip="10.0.0.1"))
