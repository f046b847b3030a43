"""The kinds as v1beta1 wrote them, and the way between it and v1.

v1beta1 differs in two places: a request has the members of `exactly` directly, and a device has
all but its name inside `basic`. Converting loses nothing. Only the types that differ are declared
here; the rest are v1's. Upstream counterpart: k8s.io/api/resource/v1beta1 and
pkg/apis/resource/v1beta1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType, field

from dray.api.core._node_selector import NodeSelector
from dray.api.meta import Object, ObjectMeta
from dray.api.resource import _claim as v1_claim
from dray.api.resource import _slice as v1_slice
from dray.api.resource._claim import (
    CapacityRequirements,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaimStatus,
)
from dray.api.resource._selection import DeviceSelector
from dray.api.resource._slice import (
    CounterSet,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    NodeAllocatableResource,
    ResourcePool,
)
from dray.api.resource._taint import DeviceTaint, DeviceToleration
from dray.api.wire import Int64, Struct, UnknownFields, always

__all__ = [
    "BasicDevice",
    "Device",
    "DeviceClaim",
    "DeviceRequest",
    "ResourceClaim",
    "ResourceClaimSpec",
    "ResourceClaimTemplate",
    "ResourceClaimTemplateSpec",
    "ResourceSlice",
    "ResourceSliceSpec",
    "claim_from_v1",
    "claim_to_v1",
    "slice_from_v1",
    "slice_to_v1",
    "template_from_v1",
    "template_to_v1",
]

API_VERSION: Final = "resource.k8s.io/v1beta1"
V1: Final = "resource.k8s.io/v1"


class DeviceRequest(Struct):
    """A named want, with the members of v1's `exactly` on the request itself.

    A list that is there, even empty, makes the request an exact one.
    """

    name: str = always("")
    device_class_name: str = always("")
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()
    tolerations: tuple[DeviceToleration, ...] | None = None
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[DeviceDerivedAttribute, ...] | None = None


class DeviceClaim(Struct):
    """Everything a claim wants of devices."""

    requests: tuple[DeviceRequest, ...] | None = always(None)
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Struct):
    """What is wanted."""

    devices: DeviceClaim = always(DeviceClaim)


class ResourceClaim(Object):
    """A request for devices and, in its status, the devices."""

    api_version: str = always(API_VERSION)
    kind: str = always("ResourceClaim")
    spec: ResourceClaimSpec = always(ResourceClaimSpec)
    status: ResourceClaimStatus = always(ResourceClaimStatus)


class ResourceClaimTemplateSpec(Struct):
    """The claim each pod gets."""

    metadata: ObjectMeta = always(ObjectMeta)
    spec: ResourceClaimSpec = always(ResourceClaimSpec)


class ResourceClaimTemplate(Object):
    """What to make a claim from, once per pod."""

    api_version: str = always(API_VERSION)
    kind: str = always("ResourceClaimTemplate")
    spec: ResourceClaimTemplateSpec = always(ResourceClaimTemplateSpec)


class BasicDevice(Struct):
    """All that v1 says about a device beside its name."""

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


class Device(Struct):
    """One device; without `basic` it is one of which nothing is known."""

    name: str = always("")
    basic: BasicDevice | None = None


class ResourceSliceSpec(Struct):
    """Devices, or the counters they share, and where they are."""

    driver: str = always("")
    pool: ResourcePool = always(ResourcePool)
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    devices: tuple[Device, ...] | None = None
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] | None = None
    partition_type_attribute: str | None = None
    skip_node_operations: tuple[str, ...] = ()


class ResourceSlice(Object):
    """A part of a driver's pool of devices."""

    api_version: str = always(API_VERSION)
    kind: str = always("ResourceSlice")
    spec: ResourceSliceSpec = always(ResourceSliceSpec)


# Conversion ------------------------------------------------------------------------------------


def claim_to_v1(claim: ResourceClaim) -> v1_claim.ResourceClaim:
    """The same claim as v1 writes it."""
    return v1_claim.ResourceClaim(**_with(claim, api_version=V1, spec=_spec_to_v1(claim.spec)))


def claim_from_v1(claim: v1_claim.ResourceClaim) -> ResourceClaim:
    """The same claim as v1beta1 writes it."""
    return ResourceClaim(**_with(claim, api_version=API_VERSION, spec=_spec_from_v1(claim.spec)))


def template_to_v1(template: ResourceClaimTemplate) -> v1_claim.ResourceClaimTemplate:
    """The same template as v1 writes it."""
    inner = _with(template.spec, spec=_spec_to_v1(template.spec.spec))
    spec = v1_claim.ResourceClaimTemplateSpec(**inner)
    return v1_claim.ResourceClaimTemplate(**_with(template, api_version=V1, spec=spec))


def template_from_v1(template: v1_claim.ResourceClaimTemplate) -> ResourceClaimTemplate:
    """The same template as v1beta1 writes it."""
    inner = _with(template.spec, spec=_spec_from_v1(template.spec.spec))
    spec = ResourceClaimTemplateSpec(**inner)
    return ResourceClaimTemplate(**_with(template, api_version=API_VERSION, spec=spec))


def slice_to_v1(slice_: ResourceSlice) -> v1_slice.ResourceSlice:
    """The same slice as v1 writes it."""
    spec = slice_.spec
    converted = v1_slice.ResourceSliceSpec(
        **_with(
            spec,
            node_name=spec.node_name or None,
            all_nodes=spec.all_nodes or None,
            devices=_each(spec.devices, _device_to_v1),
        )
    )
    return v1_slice.ResourceSlice(**_with(slice_, api_version=V1, spec=converted))


def slice_from_v1(slice_: v1_slice.ResourceSlice) -> ResourceSlice:
    """The same slice as v1beta1 writes it."""
    spec = slice_.spec
    converted = ResourceSliceSpec(
        **_with(
            spec,
            node_name=spec.node_name or "",
            all_nodes=bool(spec.all_nodes),
            devices=_each(spec.devices, _device_from_v1),
        )
    )
    return ResourceSlice(**_with(slice_, api_version=API_VERSION, spec=converted))


_EXACT_FIELDS: Final = tuple(
    name for name in ExactDeviceRequest.__struct_fields__ if name != "unknown_fields"
)
_EXACT_LISTS: Final = ("selectors", "tolerations", "derived_attributes")
_EXACT_OPTIONAL: Final = (*_EXACT_LISTS, "admin_access", "capacity")
_BASIC_FIELDS: Final = tuple(
    name for name in BasicDevice.__struct_fields__ if name != "unknown_fields"
)


def _spec_to_v1(spec: ResourceClaimSpec) -> v1_claim.ResourceClaimSpec:
    devices = v1_claim.DeviceClaim(
        **_with(spec.devices, requests=_each(spec.devices.requests, _request_to_v1))
    )
    return v1_claim.ResourceClaimSpec(**_with(spec, devices=devices))


def _spec_from_v1(spec: v1_claim.ResourceClaimSpec) -> ResourceClaimSpec:
    devices = DeviceClaim(
        **_with(spec.devices, requests=_each(spec.devices.requests, _request_from_v1))
    )
    return ResourceClaimSpec(**_with(spec, devices=devices))


def _request_to_v1(request: DeviceRequest) -> v1_claim.DeviceRequest:
    given = {name: getattr(request, name) for name in _EXACT_FIELDS}
    is_exact = any(
        value is not None if name in _EXACT_OPTIONAL else value for name, value in given.items()
    )
    for name in _EXACT_LISTS:
        given[name] = given[name] or ()
    return v1_claim.DeviceRequest(
        name=request.name,
        exactly=ExactDeviceRequest(**given) if is_exact else None,
        first_available=request.first_available,
        unknown_fields=_unknown_fields(v1_claim.DeviceRequest, request),
    )


def _request_from_v1(request: v1_claim.DeviceRequest) -> DeviceRequest:
    exactly = request.exactly or ExactDeviceRequest()
    given = {name: getattr(exactly, name) for name in _EXACT_FIELDS}
    for name in _EXACT_LISTS:
        given[name] = given[name] or None
    return DeviceRequest(
        name=request.name,
        first_available=request.first_available,
        unknown_fields=_unknown_fields(DeviceRequest, exactly, request),
        **given,
    )


def _device_to_v1(device: Device) -> v1_slice.Device:
    basic = device.basic or BasicDevice()
    return v1_slice.Device(
        name=device.name,
        unknown_fields=_unknown_fields(v1_slice.Device, basic, device),
        **{name: getattr(basic, name) for name in _BASIC_FIELDS},
    )


def _device_from_v1(device: v1_slice.Device) -> Device:
    return Device(
        name=device.name,
        basic=BasicDevice(
            unknown_fields=_unknown_fields(BasicDevice, device),
            **{name: getattr(device, name) for name in _BASIC_FIELDS},
        ),
    )


def _unknown_fields(target: type[Struct], *sources: Struct) -> UnknownFields | UnsetType:
    """What of the sources' unknown fields the target does not know either.

    A member that one version declares must not get into the other by the back door of being
    unknown here: v1beta1 ignores `exactly`, and a v1 server must not see it then.
    """
    members: dict[str, Any] = {}
    for source in sources:
        if isinstance(source.unknown_fields, UnknownFields):
            members |= source.unknown_fields.members
    for name in target.__struct_encode_fields__:
        members.pop(name, None)
    return UnknownFields(members) if members else UNSET


def _with(struct: Struct, **changes: Any) -> dict[str, Any]:
    """The fields of a struct by name, some of them changed."""
    return msgspec.structs.asdict(struct) | changes


def _each(items: tuple[Any, ...] | None, convert: Any) -> Any:
    return None if items is None else tuple(convert(item) for item in items)
