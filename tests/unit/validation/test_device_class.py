"""Device classes: selectors, configuration, extended resource names."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dray.api.meta import ObjectMeta
from dray.api.resource import (
    CELDeviceSelector,
    DeviceClass,
    DeviceClassConfiguration,
    DeviceClassSpec,
    DeviceSelector,
    OpaqueDeviceConfiguration,
)
from dray.validation import validate_create, validate_update
from tests.unit.validation.builders import texts

BROKEN = (DeviceSelector(cel=CELDeviceSelector(expression="nonsense")),)


def device_class(name: str = "gpu", **spec: Any) -> DeviceClass:
    metadata = ObjectMeta(name=name, resource_version="1", uid="u")
    return DeviceClass(metadata=metadata, spec=DeviceClassSpec(**spec))


def config(driver: str, parameters: bytes = b"{}") -> DeviceClassConfiguration:
    opaque = OpaqueDeviceConfiguration(driver=driver, parameters=msgspec.Raw(parameters))
    return DeviceClassConfiguration(opaque=opaque)


def fields(class_: DeviceClass, old: DeviceClass | None = None) -> list[str]:
    errors = validate_create(class_) if old is None else validate_update(class_, old)
    return [error.field for error in errors]


def test_an_empty_class_passes() -> None:
    assert fields(device_class()) == []


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"selectors": BROKEN}, ["spec.selectors[0].cel.expression"]),
        ({"selectors": BROKEN * 33}, ["spec.selectors"]),
        ({"config": (DeviceClassConfiguration(),)}, ["spec.config[0].opaque"]),
        ({"config": (config("-"),)}, ["spec.config[0].opaque.driver"]),
        ({"config": (config("d", b"[]"),)}, ["spec.config[0].opaque.parameters"]),
        ({"config": (config(""),) * 33}, ["spec.config"]),
        ({"extended_resource_name": "gpu"}, ["spec.extendedResourceName"]),
    ],
    ids=["selector", "selectors", "nothing", "driver", "parameters", "configs", "resource"],
)
def test_a_class_is_checked_in_every_part(spec: dict[str, Any], wrong: list[str]) -> None:
    assert fields(device_class(**spec)) == wrong


@pytest.mark.parametrize(
    "spec",
    [
        {"selectors": BROKEN},
        {"config": (config("d", b'{"a":"' + b"x" * 10240 + b'"}'),)},
    ],
    ids=["selectors", "parameters"],
)
def test_what_is_stored_stays_unless_the_list_changes(spec: dict[str, Any]) -> None:
    stored = device_class(**spec)
    assert fields(stored, stored) == []
    doubled = {name: items * 2 for name, items in spec.items()}
    assert len(fields(device_class(**doubled), stored)) == 2


def test_the_name_of_a_class_is_told_by_the_declared_rule_alone() -> None:
    class_ = device_class("-", selectors=BROKEN)
    assert fields(class_) == ["spec.selectors[0].cel.expression", "metadata.name"]


def test_a_stored_name_is_told_by_the_handwritten_rule() -> None:
    stored = device_class("-")
    assert fields(stored, stored) == ["metadata.name"]


def test_the_declared_rule_says_what_is_wrong_with_an_extended_resource_name() -> None:
    errors = validate_create(device_class(extended_resource_name="requests.kubernetes.io/gpu"))
    assert texts(errors) == [
        (
            'spec.extendedResourceName: Invalid value: "requests.kubernetes.io/gpu":'
            ' must not have "kubernetes.io/" domain'
        ),
        (
            'spec.extendedResourceName: Invalid value: "requests.kubernetes.io/gpu":'
            ' must not have "requests." prefix'
        ),
    ]


def test_a_stored_extended_resource_name_is_told_by_the_handwritten_rule() -> None:
    stored = device_class(extended_resource_name="gpu")
    assert texts(validate_update(stored, stored)) == [
        'spec.extendedResourceName: Invalid value: "gpu": must be a valid extended resource name'
    ]


@pytest.mark.parametrize(
    ("version", "order"),
    [(None, ["Invalid", "TooLong"]), ("v1beta2", ["TooLong", "Invalid"])],
    ids=["v1", "v1beta2"],
)
def test_an_older_version_counts_before_it_reads(version: str | None, order: list[str]) -> None:
    class_ = device_class(config=(config("-" * 64),))
    types = [error.type.value for error in validate_create(class_, version=version)]
    assert types == [f"FieldValue{name}" for name in order]
