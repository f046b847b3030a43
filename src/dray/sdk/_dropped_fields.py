"""Fields that a server leaves out of what it stores, because a feature is off there or unknown.

A server does so without a word. What was stored is compared with what was sent, and each kind of
field that is missing is named with the gate that it most likely takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from dray.api.resource import Device, DeviceAttribute, ResourceSliceSpec
from dray.errors import DrayError

__all__ = ["DroppedField", "DroppedFields", "dropped_fields"]

# Enough to see which devices it is about.
DEVICES_NAMED_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class DroppedField:
    """A kind of field, the gate that it most likely takes, and the devices that had it."""

    path: str
    gate: str = ""
    devices: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        text = self.path
        if self.devices:
            named = ", ".join(self.devices[:DEVICES_NAMED_MAX])
            more = len(self.devices) - DEVICES_NAMED_MAX
            text += f" of {named}" + (f" and {more} more" if more > 0 else "")
        return f"{text} (feature gate {self.gate}?)" if self.gate else text


class DroppedFields(DrayError):
    """A server stored a slice without some of its fields; the pool is published without them."""

    def __init__(self, pool: str, fields: Iterable[DroppedField]) -> None:
        self.pool = pool
        self.fields = tuple(fields)
        super().__init__(
            f"pool {pool}: the server dropped {'; '.join(map(str, self.fields))}."
            " The devices are published without"
        )


def dropped_fields(sent: ResourceSliceSpec, stored: ResourceSliceSpec) -> list[DroppedField]:
    """What is missing: each kind of field once, with the likely gate."""
    dropped = [
        DroppedField(f"spec.{path}", gate)
        for path, gate, has in _OF_SLICES
        if has(sent) and not has(stored)
    ]
    kept = {device.name: device for device in stored.devices or ()}
    for path, gate, uses in _OF_DEVICES:
        names = tuple(
            device.name
            for device in sent.devices or ()
            if uses(device) and device.name in kept and not uses(kept[device.name])
        )
        if names:
            dropped.append(DroppedField(path, gate, names))
    return dropped or [DroppedField("or changed fields of its own accord")]


def _is_list(attribute: DeviceAttribute) -> bool:
    return (
        attribute.int_values is not None
        or attribute.bool_values is not None
        or attribute.string_values is not None
        or attribute.version_values is not None
    )


_OF_SLICES: Final[Sequence[tuple[str, str, Callable[[ResourceSliceSpec], bool]]]] = (
    ("sharedCounters", "DRAPartitionableDevices", lambda spec: bool(spec.shared_counters)),
    (
        "perDeviceNodeSelection",
        "DRAPartitionableDevices",
        lambda spec: bool(spec.per_device_node_selection),
    ),
    (
        "partitionTypeAttribute",
        "DRAPartitionableDevicesType",
        lambda spec: spec.partition_type_attribute is not None,
    ),
    (
        "skipNodeOperations",
        "DRAOptionalNodeOperations",
        lambda spec: bool(spec.skip_node_operations),
    ),
)

_OF_DEVICES: Final[Sequence[tuple[str, str, Callable[[Device], bool]]]] = (
    ("taints", "DRADeviceTaints", lambda device: bool(device.taints)),
    (
        "consumesCounters",
        "DRAPartitionableDevices",
        lambda device: bool(device.consumes_counters),
    ),
    (
        "compatibilityGroups",
        "DRADeviceCompatibilityGroups",
        lambda device: any(taken.compatibility_groups for taken in device.consumes_counters),
    ),
    (
        "nodeName, nodeSelector or allNodes",
        "DRAPartitionableDevices",
        lambda device: bool(device.node_name or device.node_selector or device.all_nodes),
    ),
    (
        "bindingConditions, bindingFailureConditions or bindsToNode",
        "DRADeviceBindingConditions",
        lambda device: bool(
            device.binding_conditions or device.binding_failure_conditions or device.binds_to_node
        ),
    ),
    (
        "allowMultipleAllocations or requestPolicy",
        "DRAConsumableCapacity",
        lambda device: (
            bool(device.allow_multiple_allocations)
            or any(capacity.request_policy for capacity in device.capacity.values())
        ),
    ),
    (
        "lists in attributes",
        "DRAListTypeAttributes",
        lambda device: any(map(_is_list, device.attributes.values())),
    ),
    (
        "nodeAllocatableResources",
        "DRANodeAllocatableResources",
        lambda device: bool(device.node_allocatable_resources),
    ),
)
