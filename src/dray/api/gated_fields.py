"""Fields that a feature gate switches off, and their removal from what clients send.

The rule is upstream's: with the gate off, the fields of a feature are silently removed from a new
object, unless the stored object already uses any of them; then all are kept, also newly added
ones, so that switching a gate off never damages what is there. Removing happens before validation:
what is left must be valid by itself.

Gates that are locked on have nothing to remove and do not appear here. Upstream counterpart:
dropDisabledFields in pkg/registry/resource/<kind>/strategy.go and pkg/api/resourceclaimspec.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from dray.api._edit import edit, edit_items, edit_values
from dray.api.features import FeatureGates
from dray.api.resource import (
    Device,
    DeviceAttribute,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourceSlice,
)
from dray.api.shared import deriving

__all__ = ["drop_disabled_fields", "drop_disabled_status_fields"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Feature(Generic[T]):
    """The fields one gate stands for: whether an object uses them, and the object without them."""

    gate: str
    in_use: Callable[[T], bool]
    without: Callable[[T], T]


def drop_disabled_fields(new: T, old: T | None, *, gates: FeatureGates) -> T:
    """The object without the fields of its main part (all but the status) that are off."""
    if isinstance(new, ResourceClaim) and old is None:
        return edit(new, spec=_allowed_spec(new.spec, gates))
    features: tuple[_Feature[T], ...] = _MAIN.get(type(new), ())
    return _drop(features, new, old, gates)


@deriving
def _allowed_spec(spec: ResourceClaimSpec, gates: FeatureGates) -> ResourceClaimSpec:
    """The spec of a new claim, without the fields that are off."""
    return _drop(_CLAIM_SPEC, spec, None, gates)


def drop_disabled_status_fields(
    new: ResourceClaim, old: ResourceClaim, *, gates: FeatureGates
) -> ResourceClaim:
    """The claim without the fields of its status that are off."""
    return _drop(_CLAIM_STATUS, new, old, gates)


def _drop(features: tuple[_Feature[T], ...], new: T, old: T | None, gates: FeatureGates) -> T:
    for feature in features:
        if feature.gate not in gates and (old is None or not feature.in_use(old)):
            new = feature.without(new)
    return new


# Claim specs -----------------------------------------------------------------------------------

_AnyRequest = ExactDeviceRequest | DeviceSubRequest


def _asks(spec: ResourceClaimSpec, asks: Callable[[_AnyRequest], bool]) -> bool:
    """Whether any request or alternative asks for this."""
    return any(
        (request.exactly is not None and asks(request.exactly))
        or any(asks(alternative) for alternative in request.first_available)
        for request in spec.devices.requests or ()
    )


def _each_request(spec: ResourceClaimSpec, **fields: Any) -> ResourceClaimSpec:
    """The spec with these fields in every request and alternative."""

    def within(request: DeviceRequest) -> DeviceRequest:
        return edit(
            request,
            exactly=request.exactly and edit(request.exactly, **fields),
            first_available=edit_items(request.first_available, lambda item: edit(item, **fields)),
        )

    requests = spec.devices.requests
    if not requests:
        return spec
    return edit(spec, devices=edit(spec.devices, requests=edit_items(requests, within)))


def _spec_shares_capacity(spec: ResourceClaimSpec) -> bool:
    return any(
        constraint.distinct_attribute is not None for constraint in spec.devices.constraints
    ) or _asks(spec, lambda request: request.capacity is not None)


def _spec_without_shared_capacity(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    constraints = edit_items(
        spec.devices.constraints, lambda constraint: edit(constraint, distinct_attribute=None)
    )
    spec = edit(spec, devices=edit(spec.devices, constraints=constraints))
    return _each_request(spec, capacity=None)


_CLAIM_SPEC: Final[tuple[_Feature[ResourceClaimSpec], ...]] = (
    _Feature(
        "DRADeviceTaints",
        lambda spec: _asks(spec, lambda request: bool(request.tolerations)),
        lambda spec: _each_request(spec, tolerations=()),
    ),
    _Feature("DRAConsumableCapacity", _spec_shares_capacity, _spec_without_shared_capacity),
    _Feature(
        "DRADerivedAttributes",
        lambda spec: _asks(spec, lambda request: bool(request.derived_attributes)),
        lambda spec: _each_request(spec, derived_attributes=()),
    ),
)


def _in_claim(feature: _Feature[ResourceClaimSpec]) -> _Feature[ResourceClaim]:
    return _Feature(
        feature.gate,
        lambda claim: feature.in_use(claim.spec),
        lambda claim: edit(claim, spec=feature.without(claim.spec)),
    )


def _in_template(feature: _Feature[ResourceClaimSpec]) -> _Feature[ResourceClaimTemplate]:
    return _Feature(
        feature.gate,
        lambda template: feature.in_use(template.spec.spec),
        lambda template: edit(
            template, spec=edit(template.spec, spec=feature.without(template.spec.spec))
        ),
    )


# Claim status ----------------------------------------------------------------------------------


def _results(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    allocation = claim.status.allocation
    return () if allocation is None else allocation.devices.results


def _each_result(
    claim: ResourceClaim,
    change: Callable[[DeviceRequestAllocationResult], DeviceRequestAllocationResult],
) -> ResourceClaim:
    allocation = claim.status.allocation
    if allocation is None:
        return claim
    results = edit_items(allocation.devices.results, change)
    allocation = edit(allocation, devices=edit(allocation.devices, results=results))
    return edit(claim, status=edit(claim.status, allocation=allocation))


def _result_shares_capacity(result: DeviceRequestAllocationResult) -> bool:
    return result.share_id is not None or bool(result.consumed_capacity)


def _result_without_shared_capacity(
    result: DeviceRequestAllocationResult,
) -> DeviceRequestAllocationResult:
    return edit(result, share_id=None, consumed_capacity=result.consumed_capacity and {})


def _claim_shares_capacity(claim: ResourceClaim) -> bool:
    return (
        _spec_shares_capacity(claim.spec)
        or any(map(_result_shares_capacity, _results(claim)))
        or any(device.share_id is not None for device in claim.status.devices)
    )


def _claim_without_shared_capacity(claim: ResourceClaim) -> ResourceClaim:
    devices = edit_items(claim.status.devices, lambda device: edit(device, share_id=None))
    claim = edit(claim, status=edit(claim.status, devices=devices))
    return _each_result(claim, _result_without_shared_capacity)


_CLAIM_STATUS: Final[tuple[_Feature[ResourceClaim], ...]] = (
    _Feature("DRAConsumableCapacity", _claim_shares_capacity, _claim_without_shared_capacity),
    _Feature(
        "DRADeviceBindingConditions",
        lambda claim: any(
            result.binding_conditions or result.binding_failure_conditions
            for result in _results(claim)
        ),
        lambda claim: _each_result(
            claim,
            lambda result: edit(result, binding_conditions=(), binding_failure_conditions=()),
        ),
    ),
    _Feature(
        "DRAOptionalNodeOperations",
        lambda claim: any(result.skip_node_operations for result in _results(claim)),
        lambda claim: _each_result(claim, lambda result: edit(result, skip_node_operations=())),
    ),
)


# Slices ----------------------------------------------------------------------------------------


def _any_device(slice_: ResourceSlice, uses: Callable[[Device], bool]) -> bool:
    return any(uses(device) for device in slice_.spec.devices or ())


def _each_device(slice_: ResourceSlice, change: Callable[[Device], Device]) -> ResourceSlice:
    devices = slice_.spec.devices
    if not devices:
        return slice_
    return edit(slice_, spec=edit(slice_.spec, devices=edit_items(devices, change)))


def _device_is_partition(device: Device) -> bool:
    return (
        bool(device.consumes_counters)
        or device.node_name is not None
        or device.node_selector is not None
        or device.all_nodes is not None
    )


def _slice_has_partitions(slice_: ResourceSlice) -> bool:
    return (
        bool(slice_.spec.shared_counters)
        or slice_.spec.per_device_node_selection is not None
        or _any_device(slice_, _device_is_partition)
    )


def _slice_without_partitions(slice_: ResourceSlice) -> ResourceSlice:
    spec = edit(slice_.spec, shared_counters=None, per_device_node_selection=None)
    return _each_device(
        edit(slice_, spec=spec),
        lambda device: edit(
            device, consumes_counters=(), node_name=None, node_selector=None, all_nodes=None
        ),
    )


def _device_is_shared(device: Device) -> bool:
    return device.allow_multiple_allocations is not None or any(
        capacity.request_policy is not None for capacity in device.capacity.values()
    )


def _device_without_sharing(device: Device) -> Device:
    capacity = edit_values(device.capacity, lambda value: edit(value, request_policy=None))
    return edit(device, allow_multiple_allocations=None, capacity=capacity)


def _device_without_compatibility_groups(device: Device) -> Device:
    consumes = edit_items(
        device.consumes_counters, lambda consumed: edit(consumed, compatibility_groups=())
    )
    return edit(device, consumes_counters=consumes)


def _attribute_is_list(attribute: DeviceAttribute) -> bool:
    return (
        attribute.int_values is not None
        or attribute.bool_values is not None
        or attribute.string_values is not None
        or attribute.version_values is not None
    )


def _attribute_without_lists(attribute: DeviceAttribute) -> DeviceAttribute:
    return edit(
        attribute, int_values=None, bool_values=None, string_values=None, version_values=None
    )


def _on_devices(
    gate: str, in_use: Callable[[Device], bool], without: Callable[[Device], Device]
) -> _Feature[ResourceSlice]:
    return _Feature(
        gate,
        lambda slice_: _any_device(slice_, in_use),
        lambda slice_: _each_device(slice_, without),
    )


_SLICE: Final[tuple[_Feature[ResourceSlice], ...]] = (
    _on_devices(
        "DRADeviceTaints",
        lambda device: bool(device.taints),
        lambda device: edit(device, taints=()),
    ),
    _Feature("DRAPartitionableDevices", _slice_has_partitions, _slice_without_partitions),
    _on_devices(
        "DRADeviceBindingConditions",
        lambda device: (
            bool(device.binding_conditions)
            or bool(device.binding_failure_conditions)
            or device.binds_to_node is not None
        ),
        lambda device: edit(
            device, binding_conditions=(), binding_failure_conditions=(), binds_to_node=None
        ),
    ),
    _on_devices("DRAConsumableCapacity", _device_is_shared, _device_without_sharing),
    _on_devices(
        "DRADeviceCompatibilityGroups",
        lambda device: any(consumed.compatibility_groups for consumed in device.consumes_counters),
        _device_without_compatibility_groups,
    ),
    _on_devices(
        "DRANodeAllocatableResources",
        lambda device: bool(device.node_allocatable_resources),
        lambda device: edit(
            device, node_allocatable_resources=device.node_allocatable_resources and {}
        ),
    ),
    _on_devices(
        "DRAListTypeAttributes",
        lambda device: any(map(_attribute_is_list, device.attributes.values())),
        lambda device: edit(
            device, attributes=edit_values(device.attributes, _attribute_without_lists)
        ),
    ),
    _Feature(
        "DRAPartitionableDevicesType",
        lambda slice_: slice_.spec.partition_type_attribute is not None,
        lambda slice_: edit(slice_, spec=edit(slice_.spec, partition_type_attribute=None)),
    ),
    _Feature(
        "DRAOptionalNodeOperations",
        lambda slice_: bool(slice_.spec.skip_node_operations),
        lambda slice_: edit(slice_, spec=edit(slice_.spec, skip_node_operations=())),
    ),
)


# All of them -----------------------------------------------------------------------------------

_POOL_STATUS_REQUEST: Final[tuple[_Feature[ResourcePoolStatusRequest], ...]] = (
    _Feature(
        "DRAPartitionableDevicesType",
        lambda request: request.spec.default_partition_type_attribute is not None,
        lambda request: edit(
            request, spec=edit(request.spec, default_partition_type_attribute=None)
        ),
    ),
)

_MAIN: Final[dict[type[Any], tuple[_Feature[Any], ...]]] = {
    ResourceClaim: tuple(map(_in_claim, _CLAIM_SPEC)),
    ResourceClaimTemplate: tuple(map(_in_template, _CLAIM_SPEC)),
    ResourceSlice: _SLICE,
    ResourcePoolStatusRequest: _POOL_STATUS_REQUEST,
}
