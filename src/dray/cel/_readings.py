"""What a device has in a place that an expression reads, in words people use.

Values are shown the way an expression would write them, quantities and versions the way a slice
does: `24Gi`, `"A100"`, `1.2.3`, `["a", "b"]`. Everything shown is short, whatever a driver
published.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._builder import INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT
from dray.cel._device import DeviceView
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._nodes import (
    Call,
    Comprehension,
    Identifier,
    Literal,
    Node,
    Select,
)
from dray.cel._references import MAPS_BY_DOMAIN, Reference
from dray.cel._values import (
    LISTS,
    MAPS,
    NONE,
    DerivedQuantity,
    Optional,
    UInt,
    Value,
    decode_key,
    type_of,
)
from dray.errors import quote, shorten

__all__ = ["MISSING", "Reading", "look", "name_of", "read", "reference_of", "show"]

MISSING: Final = "missing"

_ITEMS_SHOWN_MAX: Final = 6
"""Of a list or map; the rest is counted. Lists of a device have up to 48."""

_CHARACTERS_SHOWN_MAX: Final = 80
"""Of one text. A device's own are at most 64 long; an expression can make longer ones."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One place of a device, and what is there."""

    reference: Reference
    shown: str
    missing: bool = False


def read(view: DeviceView, reference: Reference) -> Reading:
    """What the device has in this place."""
    value, present = look(view, reference)
    return Reading(reference, show(value) if present else MISSING, missing=not present)


def look(view: DeviceView, reference: Reference) -> tuple[Value, bool]:
    """The value in this place, and whether there is one."""
    value = view.value
    for key in (reference.field, reference.domain, reference.name):
        if key is None:
            break
        if type(value) not in MAPS or key not in value:
            return None, False
        value = value[key]
    return value, value is not None


def name_of(reference: Reference, driver: str) -> str:
    """What to call a place when speaking of a device of this driver."""
    if reference.domain is None:
        return reference.field
    if reference.name is None:
        noun = "attributes" if reference.field == "attributes" else "capacity"
        return f"{noun} of {reference.domain}"
    return reference.name if reference.domain == driver else f"{reference.domain}/{reference.name}"


def show(value: Value) -> str:
    """A value in short."""
    kind = type(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is str:
        return quote(shorten(value, characters_max=_CHARACTERS_SHOWN_MAX))
    if kind in (int, float, UInt, Quantity, Semver):
        return shorten(str(value), characters_max=_CHARACTERS_SHOWN_MAX)
    if kind is DerivedQuantity:
        return str(value.quantity)
    if kind is Optional:
        return "none" if value is NONE else show(value.value)
    if kind in LISTS:
        return f"[{_some(show(item) if type(item) not in LISTS else '[…]' for item in value)}]"
    if kind in MAPS:
        return f"{{{_some(str(decode_key(key)) for key in value)}}}"
    return f"a {type_of(value).name}"


def _some(items: Iterable[str]) -> str:
    shown: list[str] = []
    more = 0
    for item in items:
        if len(shown) < _ITEMS_SHOWN_MAX:
            shown.append(shorten(item, characters_max=_CHARACTERS_SHOWN_MAX))
        else:
            more += 1
    return ", ".join([*shown, f"… {more} more"] if more else shown)


def reference_of(node: Node, binds: tuple[Comprehension, ...]) -> Reference | None:
    """The place of a device that a node names, also through variables of `cel.bind`.

    `binds` are the `cel.bind` around it, outermost first. None for anything else than one
    attribute, one capacity, one domain of them, or a field of the device.
    """
    path: list[str] = []
    while True:
        match node:
            case Select(test_only=False):
                path.append(node.field)
                node = node.operand
            case Call(function=function, arguments=(operand, Literal(value=str() as key))) if (
                function in (INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT)
            ):
                path.append(key)
                node = operand
            case Identifier():
                bound = _bound(node.name, binds)
                if bound is None:
                    break
                node, binds = binds[bound].initial, binds[:bound]
            case _:
                return None
    if node.name.removeprefix(".") != DEVICE_VARIABLE or not path:
        return None
    path.reverse()
    longest = 3 if path[0] in MAPS_BY_DOMAIN else 1
    return Reference(*path) if len(path) <= longest else None


def _bound(name: str, binds: tuple[Comprehension, ...]) -> int | None:
    for index in reversed(range(len(binds))):
        if binds[index].accumulator == name:
            return index
    return None
