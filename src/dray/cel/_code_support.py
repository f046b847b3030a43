"""What generated code calls: the small functions that either know or are surprised.

They are for ordinary values only. Whatever is missing, of another type, or large, raises Surprise,
and the exact program decides.
"""

from __future__ import annotations

from typing import Final

from dray.cel._attributes import look_up
from dray.cel._library.bounds import CONTAINERS, weight
from dray.cel._library.table import Implementation
from dray.cel._values import (
    LISTS,
    MAPS,
    NONE,
    Key,
    MutableList,
    MutableMap,
    Optional,
    UInt,
    Value,
    decode_key,
)

__all__ = [
    "PARTS_MAX",
    "TEXT_MAX",
    "Surprise",
    "bindable",
    "elements",
    "entries",
    "get",
    "has",
    "of_light",
    "optional",
    "settled",
    "surprise",
]

PARTS_MAX: Final = 64
TEXT_MAX: Final = 256
"""Parts of a list or map, and characters of a text, that are given to a function. A device's own
values stay far below."""


class Surprise(Exception):
    """A value is not of the type the code was made for."""


_KEY_TYPES: Final = frozenset({str, bool, int, UInt, float})


def surprise() -> Value:
    raise Surprise


def get(value: Value, key: Value) -> Value:
    if type(value) is Optional or type(key) not in _KEY_TYPES:
        raise Surprise
    found, present = look_up(value, key)
    if not present:
        raise Surprise
    return found


def has(value: Value, key: str) -> bool:
    if type(value) is Optional:
        raise Surprise
    return look_up(value, key, tolerant=True)[1]


def optional(domain: dict[Key, Value], key: str) -> Optional:
    return Optional(domain[key]) if key in domain else NONE


def settled(value: Value) -> Value:
    if type(value) is MutableList:
        return list(value)
    return dict(value) if type(value) is MutableMap else value


def of_light(called: Implementation) -> Implementation:
    """The function, for values that are small enough."""

    def call(*values: Value) -> Value:
        for value in values:
            kind = type(value)
            if kind is str:
                if len(value) > TEXT_MAX:
                    raise Surprise
            elif kind in CONTAINERS and weight(value, PARTS_MAX) > PARTS_MAX:
                raise Surprise
        return called(*values)

    return call


def bindable(value: Value) -> Value:
    if type(value) in LISTS and not value:
        raise Surprise
    return value


def elements(ranged: Value) -> list[tuple[Value, Value]]:
    if type(ranged) in LISTS:
        return [(element, None) for element in ranged]
    if type(ranged) in MAPS:
        return [(decode_key(key), None) for key in ranged]
    raise Surprise


def entries(ranged: Value) -> list[tuple[Value, Value]]:
    if type(ranged) in LISTS:
        return list(enumerate(ranged))
    if type(ranged) in MAPS:
        return [(decode_key(key), value) for key, value in ranged.items()]
    raise Surprise
