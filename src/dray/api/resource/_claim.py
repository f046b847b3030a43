"""ResourceClaim and ResourceClaimTemplate: what a workload asks for, and what it was given.

A claim's spec is the request and never changes; its status is the answer. Upstream counterpart:
k8s.io/api/resource/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import field

from dray.api.core._node_selector import NodeSelector
from dray.api.meta import Condition, ListMeta, Object, ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource._selection import DeviceSelector, OpaqueDeviceConfiguration
from dray.api.resource._taint import DeviceToleration
from dray.api.wire import Carried, Int64, Struct, Time, always

__all__ = [
    "ALLOCATION_MODE_ALL",
    "ALLOCATION_MODE_EXACT_COUNT",
    "CLAIM_FINALIZER",
    "CONFIG_FROM_CLAIM",
    "CONFIG_FROM_CLASS",
    "EXTENDED_RESOURCE_CLAIM_ANNOTATION",
    "POD_CLAIM_NAME_ANNOTATION",
    "AllocatedDeviceStatus",
    "AllocationResult",
    "CapacityRequirements",
    "DeviceAllocationConfiguration",
    "DeviceAllocationResult",
    "DeviceClaim",
    "DeviceClaimConfiguration",
    "DeviceConstraint",
    "DeviceDerivedAttribute",
    "DeviceRequest",
    "DeviceRequestAllocationResult",
    "DeviceSubRequest",
    "ExactDeviceRequest",
    "NetworkDeviceData",
    "ResourceClaim",
    "ResourceClaimConsumerReference",
    "ResourceClaimList",
    "ResourceClaimSpec",
    "ResourceClaimStatus",
    "ResourceClaimTemplate",
    "ResourceClaimTemplateList",
    "ResourceClaimTemplateSpec",
]

ALLOCATION_MODE_EXACT_COUNT: Final = "ExactCount"
ALLOCATION_MODE_ALL: Final = "All"

CONFIG_FROM_CLASS: Final = "FromClass"
CONFIG_FROM_CLAIM: Final = "FromClaim"

CLAIM_FINALIZER: Final = "resource.kubernetes.io/delete-protection"
"""Keeps a claim that has devices until they are given back."""

POD_CLAIM_NAME_ANNOTATION: Final = "resource.kubernetes.io/pod-claim-name"
"""For which entry of its pod a claim was made."""

EXTENDED_RESOURCE_CLAIM_ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
"""On a claim that stands behind the extended resources of a pod."""


# The request -----------------------------------------------------------------------------------


class CapacityRequirements(Struct):
    """How much of each capacity of a shared device is wanted."""

    requests: Mapping[str, Quantity] = field(default_factory=dict)


class DeviceDerivedAttribute(Struct):
    """An attribute computed from a device by an expression, for constraints to compare."""

    name: str = always("")
    expression: str = always("")


class ExactDeviceRequest(Struct):
    """Devices of one class: a number of them, or all there are."""

    device_class_name: str = always("")
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceSubRequest(Struct):
    """One alternative of a prioritized list; like an exact request, without admin access."""

    name: str = always("")
    device_class_name: str = always("")
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] = ()


class DeviceRequest(Struct):
    """A named want: either exactly this, or the first alternative that can be had."""

    name: str = always("")
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Struct):
    """What the devices of several requests must have in common, or must not."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(Struct):
    """Setup for the devices of some requests, or of all when none is named."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(Struct):
    """Everything a claim wants of devices."""

    requests: tuple[DeviceRequest, ...] | None = always(None)
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Struct):
    """What is wanted; immutable once created."""

    devices: DeviceClaim = always(DeviceClaim)


# The answer ------------------------------------------------------------------------------------


class DeviceRequestAllocationResult(Struct):
    """One device, given to one request."""

    request: str = always("")
    driver: str = always("")
    pool: str = always("")
    device: str = always("")
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: Mapping[str, Quantity] = field(default_factory=dict)
    skip_node_operations: tuple[str, ...] = ()


class DeviceAllocationConfiguration(Struct):
    """Setup the allocator copied from the class or the claim, and says which."""

    source: str = always("")
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(Struct):
    """The devices of a claim and how to set them up."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(Struct):
    """What was given, and where it can be used; without a node selector, everywhere."""

    devices: DeviceAllocationResult = always(DeviceAllocationResult)
    node_selector: NodeSelector | None = None
    allocation_timestamp: Time | None = None


class ResourceClaimConsumerReference(Struct):
    """Who may use the claim now: usually a pod."""

    api_group: str = ""
    resource: str = always("")
    name: str = always("")
    uid: str = always("")


class NetworkDeviceData(Struct):
    """What a network driver reports about an interface it set up."""

    interface_name: str = ""
    ips: tuple[str, ...] = ()
    hardware_address: str = ""


class AllocatedDeviceStatus(Struct):
    """What a driver reports about one allocated device."""

    driver: str = always("")
    pool: str = always("")
    device: str = always("")
    share_id: str | None = field(default=None, name="shareID")
    conditions: tuple[Condition, ...] | None = always(None)
    data: Carried = None
    network_data: NetworkDeviceData | None = None


class ResourceClaimStatus(Struct):
    """The answer so far: allocation, consumers, and reports of drivers."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(Object):
    """A request for devices and, in its status, the devices."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("ResourceClaim")
    spec: ResourceClaimSpec = always(ResourceClaimSpec)
    status: ResourceClaimStatus = always(ResourceClaimStatus)


class ResourceClaimList(Struct):
    """Several claims."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("ResourceClaimList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ResourceClaim, ...] | None = always(None)


# The template ----------------------------------------------------------------------------------


class ResourceClaimTemplateSpec(Struct):
    """The claim each pod gets: its labels and annotations, and its spec."""

    metadata: ObjectMeta = always(ObjectMeta)
    spec: ResourceClaimSpec = always(ResourceClaimSpec)


class ResourceClaimTemplate(Object):
    """What to make a claim from, once per pod."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("ResourceClaimTemplate")
    spec: ResourceClaimTemplateSpec = always(ResourceClaimTemplateSpec)


class ResourceClaimTemplateList(Struct):
    """Several templates."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("ResourceClaimTemplateList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ResourceClaimTemplate, ...] | None = always(None)
