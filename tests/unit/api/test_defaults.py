from __future__ import annotations

from typing import Any

import pytest

from dray.api.defaults import POOL_STATUS_LIMIT_DEFAULT, default
from dray.api.resource import (
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
    ResourcePoolStatusRequest,
    ResourcePoolStatusRequestSpec,
    ResourceSlice,
    ResourceSliceSpec,
    v1beta1,
)
from dray.api.wire import Time

NOW = Time.parse("2026-02-03T04:05:06Z")
EARLIER = Time.parse("2025-01-01T00:00:00Z")


def claim(*requests: DeviceRequest) -> ResourceClaim:
    return ResourceClaim(spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)))


def v1beta1_claim(*requests: v1beta1.DeviceRequest) -> v1beta1.ResourceClaim:
    devices = v1beta1.DeviceClaim(requests=requests)
    return v1beta1.ResourceClaim(spec=v1beta1.ResourceClaimSpec(devices=devices))


def slice_of(*taints: DeviceTaint) -> ResourceSlice:
    return ResourceSlice(spec=ResourceSliceSpec(devices=(Device(taints=taints),)))


@pytest.mark.parametrize(
    ("mode", "count", "mode_after", "count_after"),
    [
        pytest.param("", 0, "ExactCount", 1, id="nothing-said"),
        pytest.param("", 3, "ExactCount", 3, id="only-a-count"),
        pytest.param("ExactCount", 0, "ExactCount", 1, id="only-a-mode"),
        pytest.param("All", 0, "All", 0, id="all-has-no-count"),
        pytest.param("Some", 0, "Some", 0, id="an-unknown-mode-is-left-to-validation"),
        pytest.param("ExactCount", -1, "ExactCount", -1, id="a-bad-count-is-left-to-validation"),
    ],
)
def test_a_request_is_for_one_device_unless_it_says_otherwise(
    mode: str, count: int, mode_after: str, count_after: int
) -> None:
    before = claim(
        DeviceRequest(exactly=ExactDeviceRequest(allocation_mode=mode, count=count)),
        DeviceRequest(first_available=(DeviceSubRequest(allocation_mode=mode, count=count),)),
    )
    exact, choice = default(before, now=NOW).spec.devices.requests or ()
    assert exact.exactly is not None
    assert (exact.exactly.allocation_mode, exact.exactly.count) == (mode_after, count_after)
    alternative = choice.first_available[0]
    assert (alternative.allocation_mode, alternative.count) == (mode_after, count_after)


def test_a_toleration_compares_values_unless_it_says_otherwise() -> None:
    tolerations = (DeviceToleration(key="a"), DeviceToleration(key="b", operator="Exists"))
    results = (DeviceRequestAllocationResult(tolerations=tolerations),)
    before = ResourceClaim(
        spec=ResourceClaimSpec(
            devices=DeviceClaim(
                requests=(
                    DeviceRequest(
                        exactly=ExactDeviceRequest(tolerations=tolerations),
                        first_available=(DeviceSubRequest(tolerations=tolerations),),
                    ),
                )
            )
        ),
        status=ResourceClaimStatus(
            allocation=AllocationResult(devices=DeviceAllocationResult(results=results))
        ),
    )
    after = default(before, now=NOW)
    (request,) = after.spec.devices.requests or ()
    assert request.exactly is not None
    assert after.status.allocation is not None
    for found in (
        request.exactly.tolerations,
        request.first_available[0].tolerations,
        after.status.allocation.devices.results[0].tolerations,
    ):
        assert [toleration.operator for toleration in found] == ["Equal", "Exists"]


def test_a_template_gets_the_defaults_of_its_claims() -> None:
    spec = claim(DeviceRequest(exactly=ExactDeviceRequest())).spec
    template = ResourceClaimTemplate(spec=ResourceClaimTemplateSpec(spec=spec))
    defaulted = default(ResourceClaim(spec=spec), now=NOW).spec
    assert default(template, now=NOW).spec.spec == defaulted
    assert defaulted != spec


def test_at_v1beta1_only_a_request_with_a_class_gets_mode_and_count() -> None:
    tolerations = (DeviceToleration(),)
    before = v1beta1_claim(
        v1beta1.DeviceRequest(device_class_name="gpu"),
        v1beta1.DeviceRequest(first_available=(DeviceSubRequest(),), tolerations=tolerations),
    )
    plain, choice = default(before, now=NOW).spec.devices.requests or ()
    assert (plain.allocation_mode, plain.count) == ("ExactCount", 1)
    assert (choice.allocation_mode, choice.count) == ("", 0)
    assert choice.tolerations == (DeviceToleration(operator="Equal"),)
    assert choice.first_available[0].count == 1


def test_a_v1beta1_template_gets_the_defaults_of_its_claims() -> None:
    spec = v1beta1_claim(v1beta1.DeviceRequest(device_class_name="gpu")).spec
    template = v1beta1.ResourceClaimTemplate(spec=v1beta1.ResourceClaimTemplateSpec(spec=spec))
    defaulted = default(v1beta1.ResourceClaim(spec=spec), now=NOW).spec
    assert default(template, now=NOW).spec.spec == defaulted


def test_a_taint_without_a_time_was_added_now() -> None:
    before = slice_of(DeviceTaint(key="a"), DeviceTaint(key="b", time_added=EARLIER))
    (device,) = default(before, now=NOW).spec.devices or ()
    assert [taint.time_added for taint in device.taints] == [NOW, EARLIER]


def test_a_v1beta1_taint_without_a_time_was_added_now() -> None:
    basic = v1beta1.BasicDevice(taints=(DeviceTaint(key="a"),))
    devices = (v1beta1.Device(name="bare"), v1beta1.Device(name="gpu", basic=basic))
    before = v1beta1.ResourceSlice(spec=v1beta1.ResourceSliceSpec(devices=devices))
    bare, gpu = default(before, now=NOW).spec.devices or ()
    assert bare.basic is None
    assert gpu.basic is not None
    assert gpu.basic.taints[0].time_added == NOW


def test_a_taint_rule_without_a_time_starts_now() -> None:
    assert default(DeviceTaintRule(), now=NOW).spec.taint.time_added == NOW


def test_a_question_about_pools_has_a_limit() -> None:
    assert default(ResourcePoolStatusRequest(), now=NOW).spec.limit == POOL_STATUS_LIMIT_DEFAULT


COMPLETE: list[Any] = [
    DeviceClass(),
    ResourceClaim(),
    ResourceClaimTemplate(),
    ResourceSlice(),
    v1beta1.ResourceClaim(),
    v1beta1.ResourceClaimTemplate(),
    v1beta1.ResourceSlice(),
    slice_of(),
    slice_of(DeviceTaint(time_added=EARLIER)),
    claim(
        DeviceRequest(exactly=ExactDeviceRequest(allocation_mode="All")),
        DeviceRequest(
            first_available=(
                DeviceSubRequest(
                    allocation_mode="ExactCount",
                    count=2,
                    tolerations=(DeviceToleration(operator="Equal"),),
                ),
            )
        ),
    ),
    v1beta1_claim(v1beta1.DeviceRequest(device_class_name="gpu", allocation_mode="All")),
    ResourceClaim(
        status=ResourceClaimStatus(
            allocation=AllocationResult(
                devices=DeviceAllocationResult(results=(DeviceRequestAllocationResult(),))
            )
        )
    ),
    DeviceTaintRule(spec=DeviceTaintRuleSpec(taint=DeviceTaint(time_added=EARLIER))),
    ResourcePoolStatusRequest(spec=ResourcePoolStatusRequestSpec(limit=7)),
]


@pytest.mark.parametrize("obj", COMPLETE, ids=lambda obj: type(obj).__name__)
def test_an_object_that_lacks_nothing_is_not_copied(obj: Any) -> None:
    assert default(obj, now=NOW) is obj
