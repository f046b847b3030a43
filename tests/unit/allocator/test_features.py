"""What gates switch on."""

from __future__ import annotations

from dataclasses import fields

import pytest

from dray.allocator.features import Features
from dray.api.features import FeatureGates

GATES = {
    "admin_access": "DRAAdminAccess",
    "compatibility_groups": "DRADeviceCompatibilityGroups",
    "consumable_capacity": "DRAConsumableCapacity",
    "derived_attributes": "DRADerivedAttributes",
    "device_taint_rules": "DRADeviceTaintRules",
    "device_taints": "DRADeviceTaints",
    "fractional_capacity_range": "DRAFractionalCapacityRange",
    "list_type_attributes": "DRAListTypeAttributes",
    "optional_node_operations": "DRAOptionalNodeOperations",
    "partitionable_devices": "DRAPartitionableDevices",
    "prioritized_list": "DRAPrioritizedList",
}


def on(features: Features) -> set[str]:
    return {field.name for field in fields(Features) if getattr(features, field.name)}


def test_nothing_is_on_unless_said() -> None:
    assert on(Features()) == set()


@pytest.mark.parametrize(("field", "gate"), GATES.items(), ids=GATES)
def test_a_gate_switches_on_its_feature_alone(field: str, gate: str) -> None:
    assert on(Features.by_gates([gate])) == {field}


def test_binding_conditions_need_a_place_to_report_them() -> None:
    assert on(Features.by_gates(["DRADeviceBindingConditions"])) == set()
    assert on(Features.by_gates(["DRAResourceClaimDeviceStatus"])) == set()
    both = ["DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"]
    assert on(Features.by_gates(both)) == {"binding_conditions"}


def test_gates_of_other_parts_of_a_cluster_say_nothing_here() -> None:
    assert on(Features.by_gates(["SidecarContainers"])) == set()


def test_everything_is_every_field() -> None:
    assert on(Features.everything()) == {*GATES, "binding_conditions"}


def test_a_cluster_switches_on_what_its_gates_say() -> None:
    gates = FeatureGates({"DRADeviceTaintRules": False, "DRAListTypeAttributes": True})
    features = Features.of(gates)
    assert features.list_type_attributes
    assert not features.device_taint_rules
