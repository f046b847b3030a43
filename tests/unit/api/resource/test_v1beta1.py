"""v1beta1 and v1 are two spellings of one object."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from dray.api.codec import decode, to_builtins
from dray.api.resource import (
    Device,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    v1beta1,
)
from dray.api.scheme import find_kind, from_hub, to_hub
from dray.api.wire import UnknownFields, replace
from dray.testing.strategies import structs

patient = settings(max_examples=60)


def hub_request(request: DeviceRequest) -> DeviceRequest:
    """The request without what v1beta1 cannot tell apart: an `exactly` with nothing in it."""
    return replace(request, exactly=None) if request.exactly == ExactDeviceRequest() else request


def with_comparable_requests(claim: ResourceClaim) -> ResourceClaim:
    devices = claim.spec.devices
    if devices.requests is None:
        return claim
    requests = tuple(hub_request(request) for request in devices.requests)
    return replace(claim, spec=replace(claim.spec, devices=replace(devices, requests=requests)))


@pytest.mark.slow
@patient
@given(structs(ResourceClaim, unknown=False))
def test_a_claim_comes_back_from_v1beta1_unchanged(claim: ResourceClaim) -> None:
    claim = with_comparable_requests(claim)
    assert to_hub(from_hub(claim, "v1beta1")) == claim


@pytest.mark.slow
@patient
@given(structs(ResourceClaimTemplate, unknown=False))
def test_a_template_comes_back_from_v1beta1_unchanged(template: ResourceClaimTemplate) -> None:
    inner = ResourceClaim(spec=template.spec.spec)
    template = replace(
        template, spec=replace(template.spec, spec=with_comparable_requests(inner).spec)
    )
    assert to_hub(from_hub(template, "v1beta1")) == template


@pytest.mark.slow
@patient
@given(structs(ResourceSlice))
def test_a_slice_comes_back_from_v1beta1_unchanged(slice_: ResourceSlice) -> None:
    # v1beta1 writes these two without null: "" and false are absent there.
    spec = replace(
        slice_.spec,
        node_name=slice_.spec.node_name or None,
        all_nodes=slice_.spec.all_nodes or None,
    )
    slice_ = replace(slice_, spec=spec)
    assert to_hub(from_hub(slice_, "v1beta1")) == slice_


@patient
@given(structs(ResourceSlice))
def test_v1beta2_differs_in_nothing_but_its_name(slice_: ResourceSlice) -> None:
    other = from_hub(slice_, "v1beta2")
    assert other.api_version == "resource.k8s.io/v1beta2"
    assert replace(other, api_version=slice_.api_version) == slice_ == to_hub(other)


@pytest.mark.parametrize(
    ("members", "exactly"),
    [
        pytest.param({}, None, id="nothing-set"),
        pytest.param({"selectors": None, "count": 0}, None, id="null-and-zero-are-not-set"),
        pytest.param({"selectors": []}, {"deviceClassName": ""}, id="empty-list-is-set"),
        pytest.param({"deviceClassName": "gpu"}, {"deviceClassName": "gpu"}, id="class"),
        pytest.param({"count": 2}, {"deviceClassName": "", "count": 2}, id="count-alone"),
        pytest.param(
            {"adminAccess": False}, {"deviceClassName": "", "adminAccess": False}, id="false-is-set"
        ),
        pytest.param(
            {"capacity": {}}, {"deviceClassName": "", "capacity": {}}, id="empty-capacity"
        ),
    ],
)
def test_exactly_exists_as_soon_as_anything_of_it_is_set(
    members: dict[str, Any], exactly: dict[str, Any] | None
) -> None:
    claim = v1beta1.claim_to_v1(
        decode(
            json.dumps({"spec": {"devices": {"requests": [{"name": "r", **members}]}}}).encode(),
            v1beta1.ResourceClaim,
        )
    )
    (request,) = claim.spec.devices.requests or ()
    assert (to_builtins(request.exactly) if request.exactly else None) == exactly


def test_a_device_without_basic_is_one_of_which_nothing_is_known() -> None:
    spec = v1beta1.ResourceSliceSpec(devices=(v1beta1.Device(name="a"),))
    slice_ = v1beta1.slice_to_v1(v1beta1.ResourceSlice(spec=spec))
    assert slice_.spec.devices == (Device(name="a"),)
    back = v1beta1.slice_from_v1(slice_)
    assert back.spec.devices == (v1beta1.Device(name="a", basic=v1beta1.BasicDevice()),)


def test_unknown_fields_are_joined_not_lost() -> None:
    request = DeviceRequest(
        name="r",
        exactly=ExactDeviceRequest(
            device_class_name="c", unknown_fields=UnknownFields({"inner": 1, "both": "inner"})
        ),
        unknown_fields=UnknownFields({"outer": 2, "both": "outer"}),
    )
    flat = v1beta1._request_from_v1(request)
    assert flat.unknown_fields == UnknownFields({"inner": 1, "both": "outer", "outer": 2})


def test_what_one_version_ignores_does_not_reach_the_other_by_another_name() -> None:
    document = (
        b'{"spec": {"devices": {"requests": [{"name": "r", "exactly": {"count": 9}, "new": 1}]}}}'
    )
    hub = v1beta1.claim_to_v1(decode(document, v1beta1.ResourceClaim))
    assert to_builtins(hub)["spec"]["devices"]["requests"] == [{"name": "r", "new": 1}]


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1beta2"])
def test_the_scheme_knows_each_version(version: str) -> None:
    kind, found = find_kind(f"resource.k8s.io/{version}", "ResourceSlice")
    assert (kind.plural, found.name) == ("resourceslices", version)
