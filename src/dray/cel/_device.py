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
from operator import attrgetter
from typing import Final, TypeVar

from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.api.semver import Semver
from dray.cel._failures import Failure
from dray.cel._values import MapWithDefault, TextMap, Value
from dray.errors import ParseError

__all__ = ["DeviceView", "device_value"]

Member = TypeVar("Member", DeviceAttribute, DeviceCapacity)


@dataclass(frozen=True, slots=True, eq=False)
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
    return TextMap(
        driver=driver,
        allowMultipleAllocations=allow_multiple_allocations,
        attributes=_by_domain(driver, attributes, _attribute_value),
        capacity=_by_domain(driver, capacity, _AMOUNT),
    )


def _by_domain(
    driver: str, named: Mapping[str, Member], read: Callable[[Member], Value]
) -> MapWithDefault:
    """The members' values, the driver's own domain first."""
    by_domain = MapWithDefault()
    own = TextMap()
    qualified: list[str] = []
    name = ""
    try:
        for name, member in named.items():
            if "/" in name:
                qualified.append(name)
            else:
                own[name] = read(member)
        if own:
            by_domain[driver] = own
        # These come last because they win a collision.
        for name in qualified:
            domain, _, identifier = name.partition("/")
            by_domain.setdefault(domain, TextMap())[identifier] = read(named[name])
    except Failure as failure:
        # Only an attribute can fail: a capacity is a quantity already.
        raise Failure(f"attribute {name}: {failure}") from None
    return by_domain


_AMOUNT: Final[Callable[[DeviceCapacity], Value]] = attrgetter("value")


def _attribute_value(attribute: DeviceAttribute) -> Value:
    """The one value that should be set; the order is upstream's, for when there are several."""
    # A fleet has many attributes, and asking for each member in turn is the quickest way.
    if attribute.int_values is not None:
        return list(attribute.int_values)
    if attribute.bool_values is not None:
        return list(attribute.bool_values)
    if attribute.string_values is not None:
        return list(attribute.string_values)
    if attribute.version_values is not None:
        return [_version(text) for text in attribute.version_values]
    if attribute.int_value is not None:
        return attribute.int_value
    if attribute.bool_value is not None:
        return attribute.bool_value
    if attribute.string_value is not None:
        return attribute.string_value
    if attribute.version_value is not None:
        return _version(attribute.version_value)
    raise Failure("unsupported attribute value")


def _version(text: str) -> Semver:
    try:
        return Semver.parse(text)
    except ParseError as error:
        raise Failure(f"parse semantic version: {error.rule}") from None
