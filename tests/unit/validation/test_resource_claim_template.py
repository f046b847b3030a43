from __future__ import annotations

from typing import Any

import pytest

from dray.api.meta import ManagedFieldsEntry, ObjectMeta, OwnerReference
from dray.api.resource import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from dray.api.wire import Time, replace
from dray.validation import validate_create, validate_update

META = ObjectMeta(name="template", namespace="default", uid="u", resource_version="1")


def template(
    *, metadata: ObjectMeta | None = None, class_name: str = "c", mode: str = "All"
) -> ResourceClaimTemplate:
    exactly = ExactDeviceRequest(device_class_name=class_name, allocation_mode=mode)
    requests = (DeviceRequest(name="gpu", exactly=exactly),)
    claim = ResourceClaimSpec(devices=DeviceClaim(requests=requests))
    spec = ResourceClaimTemplateSpec(metadata=metadata or ObjectMeta(), spec=claim)
    return ResourceClaimTemplate(metadata=META, spec=spec)


def texts(errors: list[Any]) -> list[str]:
    return [str(error) for error in errors]


def test_a_template_may_label_and_annotate_its_claims() -> None:
    metadata = ObjectMeta(labels={"a": "b"}, annotations={"c": "d"})
    assert validate_create(template(metadata=metadata)) == []


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"name": "x"}, "name"),
        ({"generate_name": "x"}, "generateName"),
        ({"namespace": "x"}, "namespace"),
        ({"uid": "x"}, "uID"),
        ({"resource_version": "x"}, "resourceVersion"),
        ({"generation": 1}, "generation"),
        ({"creation_timestamp": Time.parse("2026-01-01T00:00:00Z")}, "creationTimestamp"),
        ({"finalizers": ("a/b",)}, "finalizers"),
        ({"owner_references": (OwnerReference(),)}, "ownerReferences"),
        ({"managed_fields": (ManagedFieldsEntry(),)}, "managedFields"),
    ],
)
def test_a_template_decides_nothing_else_of_its_claims(fields: dict[str, Any], path: str) -> None:
    assert texts(validate_create(template(metadata=ObjectMeta(**fields)))) == [
        f"spec.metadata.{path}: Forbidden: cannot be set"
    ]


def test_labels_and_annotations_are_checked() -> None:
    found = validate_create(template(metadata=ObjectMeta(labels={"a": "_"}, annotations={"_": ""})))
    assert [error.field for error in found] == ["spec.metadata.annotations", "spec.metadata.labels"]


def test_the_spec_follows_the_rules_of_claims() -> None:
    assert texts(validate_create(template(class_name=""))) == [
        "spec.spec.devices.requests[0].exactly.deviceClassName: Required value"
    ]


def test_a_changed_spec_is_shown_whole_and_checked_again() -> None:
    new = template(metadata=ObjectMeta(labels={"a": "b"}), class_name="", mode="Some")
    assert texts(validate_update(new, template())) == [
        "spec.spec.devices.requests[0].exactly.deviceClassName: Required value",
        (
            'spec: Invalid value: {"labels":{"a":"b"},"Spec":{"Devices":{"Requests":[{"Name":"gpu",'
            '"Exactly":{"DeviceClassName":"","Selectors":null,"AllocationMode":"Some","Count":0,'
            '"AdminAccess":null,"Tolerations":null,"Capacity":null,"DerivedAttributes":null},'
            '"FirstAvailable":null}],"Constraints":null,"Config":null}}}: field is immutable'
        ),
        (
            "spec.spec.devices.requests[0].exactly.allocationMode: "
            'Unsupported value: "Some": supported values: "All", "ExactCount"'
        ),
    ]


def test_hand_written_rules_look_at_an_unchanged_spec_too() -> None:
    bad = template(class_name="")
    relabelled = replace(bad, metadata=replace(META, labels={"a": "b"}))
    assert texts(validate_update(relabelled, bad)) == [
        "spec.spec.devices.requests[0].exactly.deviceClassName: Required value"
    ]
