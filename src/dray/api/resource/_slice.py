"""ResourceSlice: the devices a driver offers, a part of a pool at a time.

Upstream counterpart: k8s.io/api/resource/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import field

from dray.api.core._node_selector import NodeSelector
from dray.api.meta import ListMeta, Object
from dray.api.quantity import Quantity
from dray.api.resource._taint import DeviceTaint
from dray.api.wire import Int64, Struct, always

__all__ = [
    "SKIP_ALL_NODE_OPERATIONS",
    "SKIP_NODE_PREPARE_RESOURCES",
    "SKIP_NODE_UNPREPARE_RESOURCES",
    "CapacityRequestPolicy",
    "CapacityRequestPolicyRange",
    "Counter",
    "CounterSet",
    "Device",
    "DeviceAttribute",
    "DeviceCapacity",
    "DeviceCounterConsumption",
    "DeviceID",
    "NodeAllocatableMapping",
    "NodeAllocatableOverhead",
    "NodeAllocatableResource",
    "ResourcePool",
    "ResourceSlice",
    "ResourceSliceList",
    "ResourceSliceSpec",
]

SKIP_NODE_PREPARE_RESOURCES: Final = "NodePrepareResources"
SKIP_NODE_UNPREPARE_RESOURCES: Final = "NodeUnprepareResources"
SKIP_ALL_NODE_OPERATIONS: Final = "*"

_ZERO: Final = Quantity.parse("0")


class DeviceID(NamedTuple):
    """What names one device in a cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class DeviceAttribute(Struct):
    """A fact about a device. Exactly one member is set."""

    int_value: Int64 | None = field(default=None, name="int")
    bool_value: bool | None = field(default=None, name="bool")
    string_value: str | None = field(default=None, name="string")
    version_value: str | None = field(default=None, name="version")
    int_values: tuple[Int64, ...] | None = field(default=None, name="ints")
    bool_values: tuple[bool, ...] | None = field(default=None, name="bools")
    string_values: tuple[str, ...] | None = field(default=None, name="strings")
    version_values: tuple[str, ...] | None = field(default=None, name="versions")


class CapacityRequestPolicyRange(Struct):
    """Requests from min to max, in steps."""

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Struct):
    """How a shared device's capacity may be cut: from a list of values, or from a range."""

    default: Quantity | None = always(None)
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Struct):
    """An amount of something a device has."""

    value: Quantity = always(_ZERO)
    request_policy: CapacityRequestPolicy | None = None


class Counter(Struct):
    """An amount that partitions of one piece of hardware share."""

    value: Quantity = always(_ZERO)


class CounterSet(Struct):
    """Named counters that devices of the pool draw from."""

    name: str = always("")
    counters: Mapping[str, Counter] = field(default_factory=dict)


class DeviceCounterConsumption(Struct):
    """What a device takes from a counter set while it is allocated."""

    counter_set: str = always("")
    counters: Mapping[str, Counter] = field(default_factory=dict)
    compatibility_groups: tuple[str, ...] = ()


class NodeAllocatableMapping(Struct):
    """How an allocated device counts as a node resource such as cpu."""

    capacity_key: str | None = None
    capacity_multiplier: Quantity | None = None
    device_multiplier: Quantity | None = None


class NodeAllocatableOverhead(Struct):
    """What using a device costs of a node resource on top."""

    per_pod: Quantity | None = None
    per_container: Quantity | None = None


class NodeAllocatableResource(Struct):
    """A device's bearing on one node resource."""

    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None


class Device(Struct):
    """One device, or one way to cut it."""

    name: str = always("")
    attributes: Mapping[str, DeviceAttribute] = field(default_factory=dict)
    capacity: Mapping[str, DeviceCapacity] = field(default_factory=dict)
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None
    node_allocatable_resources: Mapping[str, NodeAllocatableResource] = field(default_factory=dict)


class ResourcePool(Struct):
    """The pool a slice is part of; only slices of its highest generation count."""

    name: str = always("")
    generation: Int64 = always(0)
    resource_slice_count: Int64 = always(0)


class ResourceSliceSpec(Struct):
    """Devices, or the counters they share, and where they are.

    An empty list of devices is not an absent one: a slice may hold devices or counters, and
    which it means to hold is told by the list that is there.
    """

    driver: str = always("")
    pool: ResourcePool = always(ResourcePool)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] | None = None
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] | None = None
    partition_type_attribute: str | None = None
    skip_node_operations: tuple[str, ...] = ()


class ResourceSlice(Object):
    """A part of a driver's pool of devices."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("ResourceSlice")
    spec: ResourceSliceSpec = always(ResourceSliceSpec)


class ResourceSliceList(Struct):
    """Several slices."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("ResourceSliceList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ResourceSlice, ...] | None = always(None)
