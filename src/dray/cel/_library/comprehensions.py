"""The function behind `transformMap` and `transformMapEntry`: put an entry into a new map.

Nobody can write its name; macros expand to it. A MutableMap, which a fold fills, takes the entry
itself; any other map stays as it is and a copy with the entry is the answer.

Upstream counterparts: cel-go ext/comprehensions.go, InsertMapKeyValue in common/types/map.go.
"""

from __future__ import annotations

from typing import Final

from dray.cel._failures import Failure, no_such_overload
from dray.cel._library.bounds import within
from dray.cel._library.equality import find
from dray.cel._library.go_text import shown
from dray.cel._library.table import FunctionTable, of_maps
from dray.cel._values import MAPS, Key, MutableMap, Value, decode_key, encode_key

__all__ = ["FUNCTIONS"]

_MAP_INSERT: Final = "cel.@mapInsert"


def _map_insert(target: dict[Key, Value], *arguments: Value) -> dict[Key, Value]:
    """With a key and a value, or with a map of them."""
    if len(arguments) == 2:
        inserted = _insertable(target, 1)
        _insert(inserted, *arguments)
        return inserted
    if len(arguments) != 1 or type(arguments[0]) not in MAPS:
        raise no_such_overload(_MAP_INSERT, target, *arguments)
    entries: dict[Key, Value] = arguments[0]
    if not entries:
        return target
    inserted = _insertable(target, len(entries))
    for key, value in entries.items():
        _insert(inserted, decode_key(key), value)
    return inserted


def _insertable(target: dict[Key, Value], more: int) -> dict[Key, Value]:
    within(len(target) + more)
    return target if type(target) is MutableMap else dict(target)


def _insert(target: dict[Key, Value], key: Value, value: Value) -> None:
    if find(target, key)[1]:
        raise Failure(f"insert failed: key {shown(key)} already exists")
    target[encode_key(key)] = value


FUNCTIONS: Final[FunctionTable] = {_MAP_INSERT: of_maps(_map_insert)}
