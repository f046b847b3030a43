"""Small valid objects to break, and a way to read what a rule says of a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import (
    Device,
    DeviceAttribute,
    DeviceCapacity,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.errors import FieldError
from dray.validation.findings import Findings


def told(rule: Callable[..., object], *arguments: Any, **options: Any) -> list[str]:
    """The texts a rule adds to findings that were empty."""
    found = Findings()
    rule(found, *arguments, **options)
    return texts(found.errors())


def texts(errors: list[FieldError]) -> list[str]:
    return [str(error) for error in errors]


def quantity(text: str) -> Quantity:
    return Quantity.parse(text)


def text_attribute(text: str) -> DeviceAttribute:
    return DeviceAttribute(string_value=text)


def capacity(value: str, **options: Any) -> DeviceCapacity:
    return DeviceCapacity(value=quantity(value), **options)


def device(name: str = "gpu-0", **fields: Any) -> Device:
    return Device(name=name, **fields)


def resource_slice(*devices: Device, name: str = "slice", **spec: Any) -> ResourceSlice:
    """A slice of one node's pool."""
    fields: dict[str, Any] = {
        "driver": "gpu.example.com",
        "pool": ResourcePool(name="pool-1", generation=1, resource_slice_count=1),
        "node_name": "node-1",
        "devices": devices,
    }
    return ResourceSlice(
        metadata=ObjectMeta(name=name, resource_version="1", uid="u"),
        spec=ResourceSliceSpec(**{**fields, **spec}),
    )
