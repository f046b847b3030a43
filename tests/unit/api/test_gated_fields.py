from __future__ import annotations

from typing import Any

import pytest

from dray.api.core._node_selector import NodeSelector
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.gated_fields import drop_disabled_fields, drop_disabled_status_fields
from dray.api.quantity import Quantity
from dray.api.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    CapacityRequestPolicy,
    CapacityRequirements,
    CounterSet,
    Device,
    DeviceAllocationResult,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    NodeAllocatableResource,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
    ResourcePoolStatusRequest,
    ResourcePoolStatusRequestSpec,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.wire import replace

ONE = Quantity.parse("1")


def off(*names: str) -> FeatureGates:
    return FeatureGates(dict.fromkeys(names, False))


def claim_spec(*, constraint: DeviceConstraint | None = None, **fields: Any) -> ResourceClaimSpec:
    """A spec with the fields in both forms of request."""
    return ResourceClaimSpec(
        devices=DeviceClaim(
            requests=(
                DeviceRequest(name="exact", exactly=ExactDeviceRequest(**fields)),
                DeviceRequest(name="any", first_available=(DeviceSubRequest(**fields),)),
            ),
            constraints=(constraint,) if constraint else (),
        )
    )


def slice_of(device: Device, **fields: Any) -> ResourceSlice:
    return ResourceSlice(spec=ResourceSliceSpec(devices=(device, Device(name="plain")), **fields))


def allocated(*, share_id: str | None = None, **fields: Any) -> ResourceClaim:
    """A claim with the fields in an allocation result."""
    result = DeviceRequestAllocationResult(device="gpu", share_id=share_id, **fields)
    return ResourceClaim(
        status=ResourceClaimStatus(
            allocation=AllocationResult(devices=DeviceAllocationResult(results=(result,))),
            devices=(AllocatedDeviceStatus(device="gpu", share_id=share_id),),
        )
    )


SPECS = [
    pytest.param(
        off("DRADeviceTaints", "DRADeviceTaintRules"),
        claim_spec(tolerations=(DeviceToleration(key="a"),)),
        claim_spec(),
        id="tolerations",
    ),
    pytest.param(
        off("DRAConsumableCapacity", "DRAFractionalCapacityRange"),
        claim_spec(capacity=CapacityRequirements(requests={"memory": ONE})),
        claim_spec(),
        id="capacity",
    ),
    pytest.param(
        off("DRAConsumableCapacity", "DRAFractionalCapacityRange"),
        claim_spec(constraint=DeviceConstraint(distinct_attribute="a/b")),
        claim_spec(constraint=DeviceConstraint()),
        id="distinct-attribute",
    ),
    pytest.param(
        DEFAULT_GATES,
        claim_spec(derived_attributes=(DeviceDerivedAttribute(name="a/b"),)),
        claim_spec(),
        id="derived-attributes",
    ),
]

ATTRIBUTE_LISTS: list[dict[str, Any]] = [
    {"int_values": (1,)},
    {"bool_values": (True,)},
    {"string_values": ("a",)},
    {"version_values": ("1.0.0",)},
]

SLICE_PARTITIONS: dict[str, dict[str, Any]] = {
    "shared-counters": {"shared_counters": (CounterSet(name="a"),)},
    "per-device-node-selection": {"per_device_node_selection": False},
}

SLICES = [
    pytest.param(
        off("DRADeviceTaints", "DRADeviceTaintRules"),
        slice_of(Device(taints=(DeviceTaint(key="a"),))),
        slice_of(Device()),
        id="taints",
    ),
    *(
        pytest.param(
            off("DRAPartitionableDevices"),
            slice_of(Device(), **fields),
            slice_of(Device()),
            id=name,
        )
        for name, fields in SLICE_PARTITIONS.items()
    ),
    *(
        pytest.param(off("DRAPartitionableDevices"), slice_of(device), slice_of(Device()), id=name)
        for name, device in {
            "counters": Device(consumes_counters=(DeviceCounterConsumption(counter_set="a"),)),
            "device-node-name": Device(node_name="node"),
            "device-node-selector": Device(node_selector=NodeSelector()),
            "device-all-nodes": Device(all_nodes=True),
        }.items()
    ),
    *(
        pytest.param(
            off("DRADeviceBindingConditions"), slice_of(device), slice_of(Device()), id=name
        )
        for name, device in {
            "binds-to-node": Device(binds_to_node=False),
            "binding-conditions": Device(binding_conditions=("a",)),
            "binding-failure-conditions": Device(binding_failure_conditions=("a",)),
        }.items()
    ),
    pytest.param(
        off("DRAConsumableCapacity", "DRAFractionalCapacityRange"),
        slice_of(Device(allow_multiple_allocations=False)),
        slice_of(Device()),
        id="multiple-allocations",
    ),
    pytest.param(
        off("DRAConsumableCapacity", "DRAFractionalCapacityRange"),
        slice_of(
            Device(
                capacity={
                    "cut": DeviceCapacity(value=ONE, request_policy=CapacityRequestPolicy()),
                    "whole": DeviceCapacity(value=ONE),
                }
            )
        ),
        slice_of(
            Device(capacity={"cut": DeviceCapacity(value=ONE), "whole": DeviceCapacity(value=ONE)})
        ),
        id="request-policy",
    ),
    pytest.param(
        DEFAULT_GATES,
        slice_of(
            Device(
                consumes_counters=(
                    DeviceCounterConsumption(counter_set="a", compatibility_groups=("x",)),
                )
            )
        ),
        slice_of(Device(consumes_counters=(DeviceCounterConsumption(counter_set="a"),))),
        id="compatibility-groups",
    ),
    pytest.param(
        DEFAULT_GATES,
        slice_of(Device(node_allocatable_resources={"cpu": NodeAllocatableResource()})),
        slice_of(Device()),
        id="node-allocatable-resources",
    ),
    *(
        pytest.param(
            DEFAULT_GATES,
            slice_of(Device(attributes={"a": DeviceAttribute(**lists)})),
            slice_of(Device(attributes={"a": DeviceAttribute()})),
            id=next(iter(lists)),
        )
        for lists in ATTRIBUTE_LISTS
    ),
    pytest.param(
        DEFAULT_GATES,
        slice_of(Device(), partition_type_attribute="a/b"),
        slice_of(Device()),
        id="partition-type",
    ),
    pytest.param(
        DEFAULT_GATES,
        slice_of(Device(), skip_node_operations=("*",)),
        slice_of(Device()),
        id="skip-node-operations",
    ),
]

STATUSES = [
    pytest.param(
        off("DRAConsumableCapacity", "DRAFractionalCapacityRange"),
        allocated(share_id="s"),
        allocated(),
        id="share",
    ),
    pytest.param(
        off("DRAConsumableCapacity", "DRAFractionalCapacityRange"),
        allocated(consumed_capacity={"memory": ONE}),
        allocated(),
        id="consumed-capacity",
    ),
    pytest.param(
        off("DRADeviceBindingConditions"),
        allocated(binding_conditions=("a",)),
        allocated(),
        id="binding-conditions",
    ),
    pytest.param(
        off("DRADeviceBindingConditions"),
        allocated(binding_failure_conditions=("a",)),
        allocated(),
        id="binding-failure-conditions",
    ),
    pytest.param(
        DEFAULT_GATES,
        allocated(skip_node_operations=("*",)),
        allocated(),
        id="skip-node-operations",
    ),
]

EVERYTHING_ON = FeatureGates.parse("AllAlpha=true,AllBeta=true")


@pytest.mark.parametrize(("gates", "using", "plain"), SPECS)
def test_a_claim_loses_what_is_off_unless_it_had_it(
    gates: FeatureGates, using: ResourceClaimSpec, plain: ResourceClaimSpec
) -> None:
    new, stripped = ResourceClaim(spec=using), ResourceClaim(spec=plain)
    assert drop_disabled_fields(new, None, gates=gates) == stripped
    assert drop_disabled_fields(new, stripped, gates=gates) == stripped
    assert drop_disabled_fields(new, new, gates=gates) is new
    assert drop_disabled_fields(new, None, gates=EVERYTHING_ON) is new


@pytest.mark.parametrize(("gates", "using", "plain"), SPECS)
def test_a_template_loses_what_a_claim_would(
    gates: FeatureGates, using: ResourceClaimSpec, plain: ResourceClaimSpec
) -> None:
    new = ResourceClaimTemplate(spec=ResourceClaimTemplateSpec(spec=using))
    stripped = ResourceClaimTemplate(spec=ResourceClaimTemplateSpec(spec=plain))
    assert drop_disabled_fields(new, None, gates=gates) == stripped
    assert drop_disabled_fields(new, stripped, gates=gates) == stripped
    assert drop_disabled_fields(new, new, gates=gates) is new


@pytest.mark.parametrize(("gates", "using", "plain"), SLICES)
def test_a_slice_loses_what_is_off_unless_it_had_it(
    gates: FeatureGates, using: ResourceSlice, plain: ResourceSlice
) -> None:
    assert drop_disabled_fields(using, None, gates=gates) == plain
    assert drop_disabled_fields(using, plain, gates=gates) == plain
    assert drop_disabled_fields(using, using, gates=gates) is using
    assert drop_disabled_fields(plain, None, gates=gates) is plain


def test_a_slice_without_devices_is_left_alone() -> None:
    slice_ = ResourceSlice()
    assert drop_disabled_fields(slice_, None, gates=off("DRADeviceBindingConditions")) is slice_


@pytest.mark.parametrize(("gates", "using", "plain"), STATUSES)
def test_a_status_loses_what_is_off_unless_the_claim_had_it(
    gates: FeatureGates, using: ResourceClaim, plain: ResourceClaim
) -> None:
    assert drop_disabled_status_fields(using, ResourceClaim(), gates=gates) == plain
    assert drop_disabled_status_fields(using, using, gates=gates) is using
    assert drop_disabled_status_fields(plain, ResourceClaim(), gates=gates) is plain


def test_a_spec_that_asks_for_capacity_keeps_the_answer_in_the_status() -> None:
    gates = off("DRAConsumableCapacity", "DRAFractionalCapacityRange")
    old = ResourceClaim(spec=claim_spec(capacity=CapacityRequirements()))
    new = replace(allocated(share_id="s"), spec=old.spec)
    assert drop_disabled_status_fields(new, old, gates=gates) is new


def test_an_unallocated_claim_has_nothing_to_lose_in_its_status() -> None:
    claim = ResourceClaim()
    assert (
        drop_disabled_status_fields(claim, claim, gates=off("DRADeviceBindingConditions")) is claim
    )


def test_a_question_about_pools_loses_its_partition_type() -> None:
    using = ResourcePoolStatusRequest(
        spec=ResourcePoolStatusRequestSpec(default_partition_type_attribute="a/b")
    )
    assert drop_disabled_fields(using, None, gates=DEFAULT_GATES) == ResourcePoolStatusRequest()
    assert drop_disabled_fields(using, using, gates=DEFAULT_GATES) is using


def test_no_gate_takes_anything_from_a_device_class() -> None:
    using = DeviceClass(spec=DeviceClassSpec(extended_resource_name="example.com/gpu"))
    assert drop_disabled_fields(using, None, gates=DEFAULT_GATES) is using
