"""What a device looks like to an expression that reads only some of it.

Devices with the same projection get the same answer, value or error, from every expression that
reads no more than the references. A projection is hashable and tells apart what CEL tells apart:
1, 1.0 and true, and quantities that are equal but print as whole numbers or not.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._device import DeviceView
from dray.cel._references import Reference
from dray.cel._values import MAPS, Value

__all__ = ["MISSING", "project", "reader"]


class _Missing:
    """There is nothing at this place of the device."""


MISSING: Final = _Missing()


def project(view: DeviceView, references: Iterable[Reference]) -> Hashable:
    """The device's values at the places; a device that cannot be read projects on its failure."""
    if view.failure is not None:
        return view.failure
    return tuple(reader(reference)(view.value) for reference in references)


def reader(reference: Reference) -> Callable[[Value], Hashable]:
    """A function from the variable `device` to what is at a place of it, as a hashable."""
    field, domain, name = reference.field, reference.domain, reference.name
    if domain is None:
        return lambda device: _hashable(device[field])
    if name is None:
        return lambda device: _hashable(dict.get(device[field], domain, MISSING))

    def read(device: Value) -> Hashable:
        value = device[field][domain].get(name, MISSING)
        return value if type(value) is str else _hashable(value)

    return read


def _hashable(value: Value) -> Hashable:
    kind = type(value)
    if kind is str or value is MISSING:
        plain: Hashable = value
        return plain
    if kind is Quantity:
        return (Quantity, value.identity)
    if kind is Semver:
        return (Semver, str(value))
    if kind is list:
        return (list, *map(_hashable, value))
    if kind in MAPS:
        return (dict, *((key, _hashable(held)) for key, held in value.items()))
    return (kind, value)
