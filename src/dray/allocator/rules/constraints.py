"""What the devices of a claim must have in common, and what must tell them apart.

A constraint looks at one attribute of the devices given to the requests in its scope. Devices come
and go while the search tries them, always in the order of a stack, so a constraint's state is a
stack too: `add` pushes if the device is acceptable, `remove` pops.

With list attributes a value is a set and a scalar a set of one: matching devices share an element,
distinct ones share none. Upstream counterpart: constraint.go and matchAttributeConstraint.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Protocol, TypeAlias

from dray.api.resource import Device, DeviceAttribute, DeviceConstraint

__all__ = [
    "ABSENT",
    "UNKNOWN",
    "Constraint",
    "DistinctAttribute",
    "DistinctLists",
    "MatchAttribute",
    "MatchLists",
    "Value",
    "attribute_of",
    "constraint_of",
    "element_values",
    "published",
    "value_of",
]

# A value as constraints compare it: (type, value), or a set of those with list attributes.
Value: TypeAlias = Hashable

ABSENT: Final = None
"""The device lacks the attribute, or its list is empty: no constraint accepts it."""

UNKNOWN: Final = ("unknown",)
"""There is an attribute, of a type that cannot be compared."""


def published(driver: str, device: Device, name: str) -> DeviceAttribute | None:
    """The attribute of a fully qualified name; in the driver's own domain the bare name will do."""
    found = device.attributes.get(name)
    if found is None:
        domain, slash, identifier = name.partition("/")
        if slash and domain == driver:
            found = device.attributes.get(identifier)
    return found


def attribute_of(constraint: DeviceConstraint) -> str:
    """The name of the attribute that a constraint compares."""
    if constraint.match_attribute is not None:
        return constraint.match_attribute
    return constraint.distinct_attribute or ""


def value_of(attribute: DeviceAttribute | None, *, lists: bool) -> Value:
    """What constraints compare of an attribute."""
    if attribute is None:
        return ABSENT
    return _elements(attribute) if lists else _scalar(attribute)


def element_values(value: Value) -> frozenset[Value]:
    """The single values in a value, scalar or set."""
    if value is ABSENT:
        return frozenset()
    return value if isinstance(value, frozenset) else frozenset((value,))


def _scalar(attribute: DeviceAttribute) -> Value:
    if attribute.string_value is not None:
        return ("string", attribute.string_value)
    if attribute.int_value is not None:
        return ("int", attribute.int_value)
    if attribute.bool_value is not None:
        return ("bool", attribute.bool_value)
    if attribute.version_value is not None:
        return ("version", attribute.version_value)
    return UNKNOWN


def _elements(attribute: DeviceAttribute) -> Value:
    for kind, held in (
        ("int", attribute.int_values),
        ("bool", attribute.bool_values),
        ("string", attribute.string_values),
        ("version", attribute.version_values),
    ):
        if held:
            return frozenset((kind, element) for element in held)
    for kind, single in (
        ("int", attribute.int_value),
        ("bool", attribute.bool_value),
        ("string", attribute.string_value),
        ("version", attribute.version_value),
    ):
        if single is not None:
            return frozenset(((kind, single),))
    return ABSENT


class Constraint(Protocol):
    """The state of one constraint in a search."""

    def add(self, value: Value) -> bool:
        """Take in a device with this value, or refuse it and change nothing."""

    def remove(self) -> None:
        """Undo the last `add` that was not refused."""

    def key(self) -> Hashable:
        """All that the next answers depend on."""

    @property
    def narrowed(self) -> frozenset[Value] | None:
        """The single values that devices to come may match; None while any may.

        Always None where values must be distinct.
        """


def constraint_of(constraint: DeviceConstraint, *, lists: bool) -> Constraint:
    """A constraint in its first state."""
    if constraint.match_attribute is not None:
        return MatchLists() if lists else MatchAttribute()
    return DistinctLists() if lists else DistinctAttribute()


class MatchAttribute:
    """All devices have the value of the first one."""

    def __init__(self) -> None:
        self._value: Value = ABSENT
        self._count = 0

    def add(self, value: Value) -> bool:
        if value is ABSENT:
            return False
        if not self._count:
            # Upstream looks at the type only when there is something to compare with.
            self._value = value
        elif value is UNKNOWN or value != self._value:
            return False
        self._count += 1
        return True

    def remove(self) -> None:
        self._count -= 1

    def key(self) -> Hashable:
        return self._value if self._count else ABSENT

    @property
    def narrowed(self) -> frozenset[Value] | None:
        if not self._count:
            return None
        return frozenset() if self._value is UNKNOWN else frozenset((self._value,))


class DistinctAttribute:
    """No two devices have the same value."""

    def __init__(self) -> None:
        self._values: list[Value] = []

    def add(self, value: Value) -> bool:
        if value is ABSENT or (self._values and (value is UNKNOWN or value in self._values)):
            return False
        self._values.append(value)
        return True

    def remove(self) -> None:
        self._values.pop()

    def key(self) -> Hashable:
        return frozenset(self._values)

    @property
    def narrowed(self) -> None:
        return None


class MatchLists:
    """There is an element that all devices have."""

    def __init__(self) -> None:
        self._common: list[frozenset[Value]] = []

    def add(self, value: Value) -> bool:
        if value is ABSENT:
            return False
        assert isinstance(value, frozenset)
        common = self._common[-1] & value if self._common else value
        if not common:
            return False
        self._common.append(common)
        return True

    def remove(self) -> None:
        self._common.pop()

    def key(self) -> Hashable:
        return self._common[-1] if self._common else ABSENT

    @property
    def narrowed(self) -> frozenset[Value] | None:
        return self._common[-1] if self._common else None


class DistinctLists:
    """No two devices have an element in common."""

    def __init__(self) -> None:
        self._values: list[frozenset[Value]] = []

    def add(self, value: Value) -> bool:
        if value is ABSENT:
            return False
        assert isinstance(value, frozenset)
        if any(not value.isdisjoint(other) for other in self._values):
            return False
        self._values.append(value)
        return True

    def remove(self) -> None:
        self._values.pop()

    def key(self) -> Hashable:
        return frozenset().union(*self._values)

    @property
    def narrowed(self) -> None:
        return None
