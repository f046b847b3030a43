"""A pod can run where its devices are, and nowhere else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dray.api.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dray.api.meta import Condition, ObjectMeta
from dray.api.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from dray.api.wire import Time
from dray.scheduler.node_info import NodeInfo
from dray.scheduler.reach import Reach

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def node(name: str, **labels: str) -> NodeInfo:
    return NodeInfo(Node(metadata=ObjectMeta(name=name, labels=labels)))


def on(name: str) -> NodeSelector:
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))


def in_zone(name: str) -> NodeSelector:
    label = NodeSelectorRequirement(key="zone", operator="In", values=(name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(label,)),))


def claim(selector: NodeSelector | None, **fields: object) -> ResourceClaim:
    return ResourceClaim(
        metadata=ObjectMeta(name="claim", namespace="default", uid="claim"),
        status=ResourceClaimStatus(allocation=AllocationResult(node_selector=selector), **fields),  # type: ignore[arg-type]
    )


def test_devices_of_one_node_leave_that_node() -> None:
    reach = Reach([claim(on("a"))])
    assert reach.restricts
    assert reach.only == "a"
    assert reach.includes(node("a"))
    assert not reach.includes(node("b"))
    assert [one.metadata.name for one in reach.misplaced] == ["claim"]


def test_devices_of_several_nodes_leave_those() -> None:
    reach = Reach([claim(in_zone("east"))])
    assert reach.only is None
    assert reach.includes(node("a", zone="east"))
    assert not reach.includes(node("b", zone="west"))


def test_devices_that_are_anywhere_restrict_nothing() -> None:
    reach = Reach([claim(None)])
    assert not reach.restricts
    assert reach.includes(node("a"))
    assert not reach.misplaced


def bound(status: str, kind: str = "Attached") -> ResourceClaim:
    result = DeviceRequestAllocationResult(
        request="gpu",
        driver="d",
        pool="p",
        device="x",
        binding_conditions=("Attached",),
        binding_failure_conditions=("Broken",),
    )
    reported = AllocatedDeviceStatus(
        driver="d", pool="p", device="x", conditions=(Condition(type=kind, status=status),)
    )
    return ResourceClaim(
        metadata=ObjectMeta(name="claim", namespace="default", uid="claim"),
        status=ResourceClaimStatus(
            allocation=AllocationResult(
                devices=DeviceAllocationResult(results=(result,)),
                allocation_timestamp=Time(NOW),
            ),
            devices=(reported,),
        ),
    )


def test_a_device_that_failed_to_get_ready_can_be_used_from_nowhere() -> None:
    reach = Reach([bound("True", "Broken")], NOW, 600)
    assert reach.restricts
    assert not reach.includes(node("a"))
    assert len(reach.misplaced) == 1


def test_a_device_that_takes_too_long_is_given_up() -> None:
    late = NOW + timedelta(seconds=601)
    assert not Reach([bound("False")], late, 600).includes(node("a"))
    assert Reach([bound("False")], NOW, 600).includes(node("a"))
    assert Reach([bound("False")], late, None).includes(node("a"))
