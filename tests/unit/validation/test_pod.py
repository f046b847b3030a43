"""Which rules meet in which write of a pod."""

from __future__ import annotations

from dray.api.core import (
    Container,
    EphemeralContainer,
    NodeAllocatableResourceClaimStatus,
    PodSchedulingGate,
    PodStatus,
)
from tests.unit.validation.pod_builders import (
    container,
    created,
    paths,
    pod,
    status_updated,
    updated,
)


def test_a_plain_pod_may_be_created_and_written_back() -> None:
    plain = pod()
    assert created(plain) == []
    assert updated(plain, plain) == []
    assert status_updated(plain, plain) == []


def test_every_mistake_is_told_at_once() -> None:
    broken = pod(
        metadata={"name": "Pod"},
        restart_policy="Sometimes",
        containers=(container("a"), Container(name="a")),
    )
    assert paths(created(broken)) == [
        "metadata.name",
        "spec.containers[1].image",
        "spec.containers[1].name",
        "spec.restartPolicy",
    ]


def test_nobody_is_born_with_a_debugger_attached() -> None:
    debugged = pod(ephemeral_containers=(EphemeralContainer(name="debug", image="sh:1"),))
    assert created(debugged) == ["spec.ephemeralContainers: Forbidden: cannot be set on create"]
    assert updated(debugged, debugged) == []


def test_a_gated_pod_has_no_node_yet() -> None:
    gated = pod(node_name="node-1", scheduling_gates=(PodSchedulingGate(name="wait"),))
    assert created(gated) == [
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"
    ]


def test_declared_rules_come_last() -> None:
    entry = NodeAllocatableResourceClaimStatus(resource_claim_name="")
    broken = pod(status=PodStatus(node_allocatable_resource_claim_statuses=(entry,), phase="x"))
    errors = status_updated(broken, pod(status=PodStatus(qos_class="Burstable")))
    assert paths(errors) == [
        "status.qosClass",
        "status.nodeAllocatableResourceClaimStatuses[0].resourceClaimName",
    ]
