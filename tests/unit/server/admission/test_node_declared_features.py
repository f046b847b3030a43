from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, NodeStatus
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.meta import ObjectMeta
from dray.api.resource import Device, NodeAllocatableResource, ResourceSlice, ResourceSliceSpec
from dray.api.wire import replace
from dray.errors import BadRequest, Forbidden
from dray.server.admission.node_declared_features import (
    NODE_ALLOCATABLE_FEATURE,
    NodeDeclaredFeatures,
)
from dray.server.admission.request import Operation
from dray.server.state import FixedState
from tests.unit.server.admission.builders import PODS, SLICES, create, node

ON = FeatureGates({NODE_ALLOCATABLE_FEATURE: True})
KNOWING = replace(
    node("n1", labels={"rack": "a"}),
    status=NodeStatus(declared_features=(NODE_ALLOCATABLE_FEATURE,)),
)
UNKNOWING = node("n2", labels={"rack": "b"})
RESOURCES = {"cpu": NodeAllocatableResource()}


def selector(*racks: str, operator: str = "In") -> NodeSelector:
    requirement = NodeSelectorRequirement(key="rack", operator=operator, values=racks)
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(requirement,)),))


def check(*devices: Device, **spec: Any) -> None:
    slice_ = ResourceSlice(
        metadata=ObjectMeta(name="s"), spec=ResourceSliceSpec(devices=devices, **spec)
    )
    NodeDeclaredFeatures(FixedState(KNOWING, UNKNOWING), ON).validate(create(SLICES, slice_))


def standing(**place: Any) -> Device:
    return Device(name="d", node_allocatable_resources=RESOURCES, **place)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"node_name": "n1"}, id="named"),
        pytest.param({"node_selector": selector("a")}, id="selected"),
        pytest.param({"node_selector": selector("zzz")}, id="selecting-nobody"),
    ],
)
def test_nodes_that_know_the_feature_may_have_such_devices(spec: dict[str, Any]) -> None:
    check(standing(), **spec)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            {"node_name": "n2"},
            'node "n2" does not support DRANodeAllocatableResources feature',
            id="named",
        ),
        pytest.param(
            {"node_selector": selector("a", "b")},
            'node "n2" does not support DRANodeAllocatableResources feature',
            id="selected",
        ),
        pytest.param(
            {"all_nodes": True},
            'node "n2" does not support DRANodeAllocatableResources feature',
            id="everywhere",
        ),
        pytest.param({"node_name": "n3"}, 'node "n3" not found for device "d"', id="missing"),
        pytest.param(
            {},
            'device "d" in ResourceSlice has NodeAllocatableResources but does not map to any '
            "nodes",
            id="nowhere",
        ),
    ],
)
def test_other_nodes_may_not(spec: dict[str, Any], why: str) -> None:
    with pytest.raises(Forbidden) as refused:
        check(standing(), **spec)
    assert refused.value.message.endswith(f'"s" is forbidden: {why}')


def test_devices_may_each_have_their_own_node() -> None:
    check(
        standing(node_name="n1"), Device(name="e", node_name="n2"), per_device_node_selection=True
    )
    with pytest.raises(Forbidden, match="n2"):
        check(standing(node_name="n1"), standing(node_name="n2"), per_device_node_selection=True)


def test_devices_that_stand_for_nothing_may_be_anywhere() -> None:
    check(Device(name="e"), node_name="n2")


def test_a_selector_that_cannot_be_read_is_a_bad_request() -> None:
    with pytest.raises(BadRequest, match="failed to create node selector"):
        check(standing(), node_selector=selector("a", operator="Near"))


def test_with_the_gate_off_nothing_is_checked() -> None:
    off = NodeDeclaredFeatures(FixedState(), DEFAULT_GATES)
    assert not off.concerns(SLICES, "", Operation.CREATE)
    on = NodeDeclaredFeatures(FixedState(), ON)
    assert on.concerns(SLICES, "", Operation.UPDATE)
    assert not on.concerns(SLICES, "", Operation.DELETE)
    assert not on.concerns(PODS, "", Operation.CREATE)
