"""What of allocation is switched on.

Upstream counterpart: Features in k8s.io/dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Self

from dray.api.features import FeatureGates

__all__ = ["Features"]

# Each field, and the gates that must all be on for it.
_GATES = {
    "admin_access": ("DRAAdminAccess",),
    "compatibility_groups": ("DRADeviceCompatibilityGroups",),
    "consumable_capacity": ("DRAConsumableCapacity",),
    "derived_attributes": ("DRADerivedAttributes",),
    # Conditions are reported through the claim's device status: one without the other is useless.
    "binding_conditions": ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
    "device_taints": ("DRADeviceTaints",),
    "device_taint_rules": ("DRADeviceTaintRules",),
    "fractional_capacity_range": ("DRAFractionalCapacityRange",),
    "list_type_attributes": ("DRAListTypeAttributes",),
    "optional_node_operations": ("DRAOptionalNodeOperations",),
    "partitionable_devices": ("DRAPartitionableDevices",),
    "prioritized_list": ("DRAPrioritizedList",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The optional parts of allocation; everything is off unless said otherwise."""

    admin_access: bool = False
    compatibility_groups: bool = False
    consumable_capacity: bool = False
    derived_attributes: bool = False
    binding_conditions: bool = False
    device_taints: bool = False
    device_taint_rules: bool = False
    fractional_capacity_range: bool = False
    list_type_attributes: bool = False
    optional_node_operations: bool = False
    partitionable_devices: bool = False
    prioritized_list: bool = False

    @classmethod
    def of(cls, gates: FeatureGates) -> Self:
        """What a cluster with these feature gates switches on."""
        return cls.by_gates(filter(gates.enabled, gates))

    @classmethod
    def by_gates(cls, names: Iterable[str]) -> Self:
        """What these gates switch on, whatever the defaults of a cluster are."""
        on = set(names)
        return cls(**{name: on.issuperset(needed) for name, needed in _GATES.items()})

    @classmethod
    def everything(cls) -> Self:
        return cls(**{field.name: True for field in fields(cls)})
