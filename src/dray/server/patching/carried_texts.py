"""What a patch leaves alone stays written as it was.

A patch is applied to the values of an object, so that what the object carries as text (parameters,
a device's data) is written anew: 1.10 becomes 1.1, and the escapes of other encoders go. But that
text counts where it must not change (dray.api.equality), and there such a patch would be refused
for what it never spoke of. So what says the same as before gets its former text back.

Upstream counterpart: none is needed, as evanphx/json-patch copies the text of what it passes by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import is_
from typing import Any, Final, TypeVar, get_args

import msgspec

from dray.api.codec import carried_values, encode
from dray.api.resource import (
    AllocatedDeviceStatus,
    DeviceClass,
    OpaqueDeviceConfiguration,
    ResourceClaim,
    ResourceClaimTemplate,
)
from dray.api.wire import Carried, Struct, replace

__all__ = ["with_texts_of"]

T = TypeVar("T")

_KINDS: Final = (ResourceClaim, ResourceClaimTemplate, DeviceClass)

# The fields whose text counts.
_CARRIED: Final[Mapping[type[Struct], str]] = {
    OpaqueDeviceConfiguration: "parameters",
    AllocatedDeviceStatus: "data",
}


def with_texts_of(old: Any, new: T) -> T:
    """The new object, with the texts of the old one where they say the same."""
    if not isinstance(old, _KINDS):
        return new
    texts: dict[bytes, Carried] = {}
    meanings: dict[bytes, Carried] = {}

    def note(carried: Carried) -> Carried:
        if carried is not None:
            texts[bytes(carried)] = carried
        return carried

    def restore(carried: Carried) -> Carried:
        if carried is None or bytes(carried) in texts:
            return carried
        if not meanings:
            meanings.update((_meaning(text), former) for text, former in texts.items())
        return meanings.get(_meaning(bytes(carried)), carried)

    _each(old, note)
    return _each(new, restore) if texts else new


def _meaning(text: bytes) -> bytes:
    return encode(carried_values(text), ordered=True)


def _each(value: Any, change: Callable[[Carried], Carried]) -> Any:
    """A value with every text changed, or the value itself if each came back as it was."""
    if value is None:
        return None
    if isinstance(value, tuple):
        items = tuple([_each(item, change) for item in value])
        return value if all(map(is_, items, value)) else items
    kind: type[Struct] = type(value)
    parts = {name: _each(getattr(value, name), change) for name in _ways(kind)}
    carried = _CARRIED.get(kind)
    if carried is not None:
        parts[carried] = change(getattr(value, carried))
    changed = {name: part for name, part in parts.items() if part is not getattr(value, name)}
    return replace(value, **changed) if changed else value


@cache
def _ways(kind: type[Struct]) -> tuple[str, ...]:
    """The fields of a struct that lead to such texts."""
    return tuple(
        field.name
        for field in msgspec.structs.fields(kind)
        if any(below in _CARRIED or _ways(below) for below in _structs(field.type))
    )


def _structs(annotation: Any) -> list[type[Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _structs(argument)]
