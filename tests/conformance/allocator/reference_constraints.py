"""Whether the devices of a claim may stand together.

A constraint is judged afresh for every candidate, against the attributes of all devices that are
already chosen for the claim: there is nothing to undo when the search turns back.

Upstream counterparts: matchAttributeConstraint in allocator_experimental.go and
distinctAttributeConstraint in constraint.go of the experimental allocator.
"""

from __future__ import annotations

from collections.abc import Sequence

from dray.api.resource import Device, DeviceAttribute, DeviceConstraint

__all__ = ["admits", "applies", "published_attribute"]


def applies(constraint: DeviceConstraint, request: str, parent: str | None) -> bool:
    """Whether the devices of a request, or of an alternative of `parent`, are constrained."""
    if not constraint.requests:
        return True
    if parent is None:
        return request in constraint.requests
    return parent in constraint.requests or f"{parent}/{request}" in constraint.requests


def published_attribute(driver: str, device: Device, name: str) -> DeviceAttribute | None:
    """The attribute of this qualified name; the driver's own may be published without domain."""
    if name in device.attributes:
        return device.attributes[name]
    domain, slash, identifier = name.partition("/")
    if slash and domain == driver:
        return device.attributes.get(identifier)
    return None


def admits(
    constraint: DeviceConstraint,
    chosen: Sequence[DeviceAttribute],
    candidate: DeviceAttribute | None,
    *,
    lists: bool,
) -> bool:
    """Whether a device with this attribute may join those that were chosen, in this order."""
    if candidate is None:
        return False
    if constraint.match_attribute is not None:
        return _match_sets(chosen, candidate) if lists else _match(chosen, candidate)
    return _distinct_sets(chosen, candidate) if lists else _distinct(chosen, candidate)


# One value each ---------------------------------------------------------------------------------

_SCALARS = ("string_value", "int_value", "bool_value", "version_value")


def _match(chosen: Sequence[DeviceAttribute], candidate: DeviceAttribute) -> bool:
    if not chosen:
        # Whatever it is: upstream looks at the type of the second device only.
        return True
    member = _scalar(candidate)
    return member is not None and getattr(chosen[0], member) == getattr(candidate, member)


def _distinct(chosen: Sequence[DeviceAttribute], candidate: DeviceAttribute) -> bool:
    member = _scalar(candidate)
    for other in chosen:
        if member is None or getattr(other, member) == getattr(candidate, member):
            return False
    return True


def _scalar(attribute: DeviceAttribute) -> str | None:
    """The member that is set; values of different members never are equal."""
    return next((name for name in _SCALARS if getattr(attribute, name) is not None), None)


# Sets of values ---------------------------------------------------------------------------------

# In this order, if a device wrongly publishes several; an empty list is none.
_LISTS = ("int_values", "bool_values", "string_values", "version_values")
_SINGLES = ("int_value", "bool_value", "string_value", "version_value")

_Values = frozenset[tuple[str, object]]


def _match_sets(chosen: Sequence[DeviceAttribute], candidate: DeviceAttribute) -> bool:
    """Whether all have a value in common."""
    common = _values(candidate)
    for other in chosen:
        common &= _values(other)
    return bool(common)


def _distinct_sets(chosen: Sequence[DeviceAttribute], candidate: DeviceAttribute) -> bool:
    """Whether no two have a value in common."""
    values = _values(candidate)
    return bool(values) and not any(values & _values(other) for other in chosen)


def _values(attribute: DeviceAttribute) -> _Values:
    """The values with their type: the number 1, the text "1" and true differ."""
    for name, single in zip(_LISTS, _SINGLES, strict=True):
        if getattr(attribute, name):
            return frozenset((single, value) for value in getattr(attribute, name))
    for single in _SINGLES:
        value = getattr(attribute, single)
        if value is not None:
            return frozenset({(single, value)})
    return frozenset()
