"""The status of a pod, as its node reports it."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dray.agent.pods.pod_state import NOTHING, PodState
from dray.agent.pods.status import StatusFacts, Verdict, make_status
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import ContainerState, PodIdentity, Sandbox
from dray.api.core import (
    Container,
    Pod,
    PodCondition,
    PodResourceClaimStatus,
    PodSpec,
    PodStatus,
)
from dray.api.meta import ObjectMeta
from dray.api.wire import Time, replace

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ID = PodIdentity("default", "web", "uid")
BOX = Sandbox("box", ID, 0, ready=True, created_at=NOW, addresses=("10.0.0.1", "fd00::1"))
DOWN = Sandbox("box", ID, 0, ready=False, created_at=NOW)


def make(policy: str = "Always", **status: Any) -> Pod:
    return Pod(
        metadata=ObjectMeta(name="web", generation=3),
        spec=PodSpec(containers=(Container(name="main", image="image"),), restart_policy=policy),
        status=PodStatus(**status),
    )


def run(state: ContainerState, code: int = 0) -> RunContainer:
    return RunContainer(
        "memory://1", "box", ID, "main", 0, state, "image", started_at=NOW, exit_code=code
    )


def facts(**fields: Any) -> StatusFacts:
    return StatusFacts(now=NOW, host_addresses=("192.0.2.1",), **fields)


RUNNING = PodState.of((BOX,), (run(ContainerState.RUNNING),))
ENDED = PodState.of((DOWN,), (run(ContainerState.EXITED),))


def test_a_running_pod_has_addresses_and_a_start() -> None:
    pod = make()
    status = make_status(pod, RUNNING, facts(), pod.status)
    assert status.phase == "Running"
    assert (status.pod_ip, status.host_ip) == ("10.0.0.1", "192.0.2.1")
    assert [one.ip for one in status.pod_ips] == ["10.0.0.1", "fd00::1"]
    assert status.start_time == Time(NOW)
    assert status.observed_generation == 3
    assert status.qos_class == "BestEffort"


def test_nothing_new_is_the_same_status() -> None:
    pod = make()
    first = make_status(pod, RUNNING, facts(), pod.status)
    later = replace_time(facts(), NOW + timedelta(seconds=50))
    assert make_status(pod, RUNNING, later, first) == first


def replace_time(known: StatusFacts, now: datetime) -> StatusFacts:
    return StatusFacts(now=now, host_addresses=known.host_addresses)


def test_what_others_write_stays() -> None:
    others = PodCondition(type="example.com/lb", status="True")
    claim = PodResourceClaimStatus(name="gpu", resource_claim_name="web-gpu-x")
    pod = make(conditions=(others,), resource_claim_statuses=(claim,), nominated_node_name="n")
    status = make_status(pod, RUNNING, facts(), pod.status)
    assert others in status.conditions
    assert status.resource_claim_statuses == (claim,)
    assert status.nominated_node_name == "n"


def test_a_pod_is_over_only_when_it_is() -> None:
    pod = make("Never", phase="Running")
    assert make_status(pod, ENDED, facts(), pod.status).phase == "Running"
    assert make_status(pod, ENDED, facts(over=True), pod.status).phase == "Succeeded"


def test_a_verdict_fails_a_pod_once_it_is_over() -> None:
    pod = make(phase="Pending")
    verdict = Verdict("DeviceFailed", "gpu-0 is broken", disruption=True)
    before = make_status(pod, NOTHING, facts(verdict=verdict), pod.status)
    assert (before.phase, before.reason) == ("Pending", "")
    after = make_status(pod, NOTHING, facts(verdict=verdict, over=True), before)
    assert (after.phase, after.reason, after.message) == (
        "Failed",
        "DeviceFailed",
        "gpu-0 is broken",
    )
    target = [one for one in after.conditions if one.type == "DisruptionTarget"]
    assert [(one.status, one.reason) for one in target] == [("True", "DeviceFailed")]
    # A pod that never got a sandbox has no containers that could have ended.
    assert after.container_statuses[0].state.terminated is None
    waiting = after.container_statuses[0].state.waiting
    assert waiting is not None
    assert not waiting.reason  # or kubectl would show it instead of the pod's


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_nobody_comes_back_from_a_terminal_phase(phase: str) -> None:
    pod = make(phase=phase, reason="Evicted", message="why")
    status = make_status(pod, RUNNING, facts(), pod.status)
    assert (status.phase, status.reason, status.message) == (phase, "Evicted", "why")


def test_a_pod_that_ends_running_is_failed_with_its_containers_settled() -> None:
    pod = make(phase="Running")
    lost = PodState.of((DOWN,), (run(ContainerState.UNKNOWN),))
    status = make_status(pod, lost, facts(over=True), pod.status)
    assert status.phase == "Failed"
    assert status.container_statuses[0].state.terminated is not None


def test_a_sidecar_that_was_forgotten_has_ended_with_its_pod() -> None:
    pod = make("Never", phase="Running")
    sidecar = Container(name="side", restart_policy="Always")
    pod = replace(pod, spec=replace(pod.spec, init_containers=(sidecar,)))
    side = dataclasses.replace(run(ContainerState.RUNNING), name="side", id="memory://2")
    ran = make_status(
        pod,
        PodState.of((BOX,), (run(ContainerState.RUNNING), side)),
        facts(),
        pod.status,
    )
    lost = make_status(pod, NOTHING, facts(), ran)
    status = make_status(pod, NOTHING, facts(over=True), lost)
    assert status.phase == "Failed"
    (ended,) = status.init_container_statuses
    assert ended.state.terminated is not None


@pytest.mark.parametrize(("code", "reached"), [(5, False), (0, True)])
def test_main_containers_end_only_where_the_pod_came_to_them(code: int, reached: bool) -> None:
    pod = make("Never", phase="Pending")
    pod = replace(pod, spec=replace(pod.spec, init_containers=(Container(name="init"),)))
    ended = dataclasses.replace(run(ContainerState.EXITED, code), name="init")
    state = PodState.of((DOWN,), (ended,))
    status = make_status(pod, state, facts(over=True), pod.status)
    assert status.phase == "Failed"
    main, init = status.container_statuses[0].state, status.init_container_statuses[0].state
    assert init.terminated is not None
    assert init.terminated.exit_code == code
    assert (main.terminated is not None) == reached
    assert (main.waiting is not None and main.waiting.reason == "PodInitializing") != reached
    initialized = [one.status for one in status.conditions if one.type == "Initialized"]
    assert initialized == [str(reached)]


def test_the_address_stays_when_the_sandbox_is_gone() -> None:
    pod = make()
    before = make_status(pod, RUNNING, facts(), pod.status)
    assert make_status(pod, ENDED, facts(), before).pod_ip == "10.0.0.1"


def test_a_pod_in_the_hosts_network_has_the_hosts_address() -> None:
    pod = make()
    pod = replace(pod, spec=replace(pod.spec, host_network=True))
    assert make_status(pod, RUNNING, facts(), pod.status).pod_ip == "192.0.2.1"
