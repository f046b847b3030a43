"""A device as expressions see it: the variable `device`.

Attributes and capacities are grouped by domain; a name without one belongs to the driver's. A
device with one attribute that cannot be read fails every expression, even `true`, because
upstream converts all attributes before it evaluates anything.

Where a device has both `model` and `<driver>/model`, upstream's choice is random; here the name
with the domain wins.

Upstream counterpart: DeviceMatches in dynamic-resource-allocation cel/compile.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.api.semver import Semver
from dray.cel._failures import Failure
from dray.cel._values import MapWithDefault, Value
from dray.errors import ParseError

__all__ = ["DeviceView", "device_value"]

Member = TypeVar("Member", DeviceAttribute, DeviceCapacity)


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A device made ready for expressions, once, for as many as will be asked about it.

    `value` is the variable `device`. It is None when an attribute cannot be read, and `failure`
    says which and why: every expression fails on such a device, with this text.
    """

    value: Value
    failure: str | None = None

    @staticmethod
    def of(driver: str, device: Device) -> DeviceView:
        """The view of one device of a ResourceSlice of this driver."""
        try:
            value = device_value(
                driver,
                device.attributes,
                device.capacity,
                allow_multiple_allocations=bool(device.allow_multiple_allocations),
            )
        except Failure as failure:
            return DeviceView(None, str(failure))
        return DeviceView(value)


def device_value(
    driver: str,
    attributes: Mapping[str, DeviceAttribute],
    capacity: Mapping[str, DeviceCapacity],
    *,
    allow_multiple_allocations: bool = False,
) -> Value:
    """The value of `device`; a Failure if one of its attributes cannot be read."""
    by_domain = MapWithDefault()
    for name, attribute in _plain_names_first(attributes):
        try:
            value = _attribute_value(attribute)
        except Failure as failure:
            raise Failure(f"attribute {name}: {failure}") from None
        domain, identifier = _split(name, driver)
        by_domain.setdefault(domain, {})[identifier] = value
    capacity_by_domain = MapWithDefault()
    for name, amount in _plain_names_first(capacity):
        domain, identifier = _split(name, driver)
        capacity_by_domain.setdefault(domain, {})[identifier] = amount.value
    return {
        "driver": driver,
        "allowMultipleAllocations": allow_multiple_allocations,
        "attributes": by_domain,
        "capacity": capacity_by_domain,
    }


def _plain_names_first(named: Mapping[str, Member]) -> list[tuple[str, Member]]:
    """In order, but what must win a collision comes last."""
    return sorted(named.items(), key=lambda item: "/" in item[0])


def _split(name: str, driver: str) -> tuple[str, str]:
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _attribute_value(attribute: DeviceAttribute) -> Value:
    for read in _READERS:
        value = read(attribute)
        if value is not None:
            return value
    raise Failure("unsupported attribute value")


def _version(text: str | None) -> Semver | None:
    if text is None:
        return None
    try:
        return Semver.parse(text)
    except ParseError as error:
        raise Failure(f"parse semantic version: {error.rule}") from None


def _list(values: tuple[Value, ...] | None) -> list[Value] | None:
    return None if values is None else list(values)


def _versions(texts: tuple[str, ...] | None) -> list[Semver | None] | None:
    return None if texts is None else [_version(text) for text in texts]


_READERS: Final[tuple[Callable[[DeviceAttribute], Value], ...]] = (
    lambda attribute: _list(attribute.int_values),
    lambda attribute: _list(attribute.bool_values),
    lambda attribute: _list(attribute.string_values),
    lambda attribute: _versions(attribute.version_values),
    lambda attribute: attribute.int_value,
    lambda attribute: attribute.bool_value,
    lambda attribute: attribute.string_value,
    lambda attribute: _version(attribute.version_value),
)
"""In the order in which upstream looks for the one value that should be set."""
