"""Devices and selectors for tests."""

from __future__ import annotations

from typing import Any

from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.cel import DeviceView, Environment, Selector, compile_selector

STORED = Environment(stored=True)
DRIVER = "gpu.example.com"
D = f'device.attributes["{DRIVER}"]'
K = f'device.capacity["{DRIVER}"]'


def attribute(value: Any) -> DeviceAttribute:
    """An attribute with this value; a list is one of texts unless it holds something else."""
    match value:
        case DeviceAttribute():
            return value
        case bool():
            return DeviceAttribute(bool_value=value)
        case int():
            return DeviceAttribute(int_value=value)
        case str():
            return DeviceAttribute(string_value=value)
        case [bool(), *_]:
            return DeviceAttribute(bool_values=tuple(value))
        case [int(), *_]:
            return DeviceAttribute(int_values=tuple(value))
        case _:
            return DeviceAttribute(string_values=tuple(value))


def version(text: str) -> DeviceAttribute:
    return DeviceAttribute(version_value=text)


def view(
    attributes: dict[str, Any] | None = None,
    capacity: dict[str, str] | None = None,
    *,
    driver: str = DRIVER,
    shared: bool | None = None,
) -> DeviceView:
    """A device with these attributes (plain values will do) and capacities."""
    device = Device(
        name="device",
        attributes={name: attribute(value) for name, value in (attributes or {}).items()},
        capacity={
            name: DeviceCapacity(value=Quantity.parse(text))
            for name, text in (capacity or {}).items()
        },
        allow_multiple_allocations=shared,
    )
    return DeviceView.of(driver, device)


def selector(text: str) -> Selector:
    """The selector, with D and K standing for the attributes and capacity of DRIVER."""
    return Selector(compile_selector(text.replace("$D", D).replace("$K", K), STORED))
