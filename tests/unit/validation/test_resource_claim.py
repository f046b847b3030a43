from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from dray.api.meta import ObjectMeta
from dray.api.resource import (
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceRequest,
    ExactDeviceRequest,
    OpaqueDeviceConfiguration,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from dray.api.wire import replace
from dray.validation import validate_create, validate_status_update, validate_update

META = ObjectMeta(name="claim", namespace="default", uid="u", resource_version="1")


def claim(name: str = "gpu", *, class_name: str = "c", **fields: Any) -> ResourceClaim:
    exactly = ExactDeviceRequest(device_class_name=class_name, allocation_mode="All")
    requests = (DeviceRequest(name=name, exactly=exactly),)
    whole: dict[str, Any] = {
        "metadata": META,
        "spec": ResourceClaimSpec(devices=DeviceClaim(requests=requests)),
    }
    return ResourceClaim(**(whole | fields))


def texts(errors: list[Any]) -> list[str]:
    return [str(error) for error in errors]


def test_metadata_comes_before_the_spec() -> None:
    bad = claim(class_name="", metadata=replace(META, name="", namespace="default"))
    assert texts(validate_create(bad)) == [
        "metadata.name: Required value: name or generateName is required",
        "spec.devices.requests[0].exactly.deviceClassName: Required value",
    ]


def test_a_changed_spec_is_the_only_complaint_about_it() -> None:
    assert texts(validate_update(claim("Bad", class_name=""), claim())) == [
        "spec: Invalid value: null: field is immutable"
    ]


@pytest.mark.parametrize("name", ["gpu", "Bad"])
def test_an_unchanged_spec_is_not_looked_at_again(name: str) -> None:
    relabelled = replace(META, labels={"a": "b"})
    assert validate_update(claim(name, metadata=relabelled), claim(name)) == []


def test_a_status_is_looked_at_when_it_is_written() -> None:
    reserved = ResourceClaimStatus(reserved_for=(ResourceClaimConsumerReference(),))
    errors = validate_status_update(claim(status=reserved), claim())
    assert {error.field for error in errors} == {
        "status.reservedFor",
        "status.reservedFor[0].name",
        "status.reservedFor[0].resource",
        "status.reservedFor[0].uid",
    }


def test_the_declared_rules_look_at_all_of_the_object() -> None:
    twice = ResourceClaimStatus(reserved_for=(ResourceClaimConsumerReference(),) * 2)
    shown = '{"resource":"","name":"","uid":""}'
    duplicate = f"status.reservedFor[1]: Duplicate value: {shown}"
    assert texts(validate_create(claim(status=twice))) == [duplicate]
    assert texts(validate_update(claim(status=twice), claim())) == [duplicate]


def test_a_request_in_v1beta1_hears_its_own_paths_from_the_declared_rules() -> None:
    bad = claim()
    (request,) = bad.spec.devices.requests or ()
    assert request.exactly is not None
    strange = replace(request, exactly=replace(request.exactly, allocation_mode="Some"))
    bad = claim(spec=ResourceClaimSpec(devices=DeviceClaim(requests=(strange,))))
    rule = 'Unsupported value: "Some": supported values: "All", "ExactCount"'
    assert texts(validate_create(bad)) == [
        f"spec.devices.requests[0].exactly.allocationMode: {rule}"
    ]
    assert texts(validate_create(bad, version="v1beta1")) == [
        f"spec.devices.requests[0].allocationMode: {rule}"
    ]


@pytest.mark.parametrize(
    ("version", "first"),
    [
        pytest.param(None, "must be no more than 253 bytes", id="v1-format-first"),
        pytest.param("v1beta1", "may not be more than 63 characters", id="v1beta1-length-first"),
        pytest.param("v1beta2", "may not be more than 63 characters", id="v1beta2-length-first"),
    ],
)
def test_older_versions_order_the_rules_of_a_driver_otherwise(
    version: str | None, first: str
) -> None:
    opaque = OpaqueDeviceConfiguration(driver="a" * 300, parameters=Raw(b"{}"))
    config = (DeviceClaimConfiguration(opaque=opaque),)
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=(), config=config))
    assert validate_create(claim(spec=spec), version=version)[0].detail == first
