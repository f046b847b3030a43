"""Lists that are sets or maps have no item twice.

Of a schema only the ways that lead to such lists are kept, so that everything else in an object is
not even looked at. Upstream counterpart: apiextensions-apiserver pkg/apiserver/schema/listtype.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from typing import Any

from dray.errors import FieldError, FieldErrorType
from dray.server.custom.structural import Structural

__all__ = ["ListRules"]


class ListRules:
    """Where in a schema lists are sets or maps."""

    __slots__ = ("_items", "_keys", "_list_type", "_parts", "_values")

    def __init__(self, schema: Structural) -> None:
        self._list_type = schema.list_type
        self._keys = schema.list_keys
        self._items = ListRules.of(schema.items)
        self._values = ListRules.of(schema.values)
        found = {name: ListRules.of(part) for name, part in schema.properties.items()}
        self._parts = {name: part for name, part in found.items() if part is not None}

    @staticmethod
    def of(schema: Structural | None) -> ListRules | None:
        """The rules of a schema, or None if it has no such list."""
        if schema is None:
            return None
        rules = ListRules(schema)
        return None if rules.is_empty else rules

    @property
    def is_empty(self) -> bool:
        is_plain = self._list_type not in ("set", "map")
        return is_plain and not self._items and not self._values and not self._parts

    def duplicates(self, value: Any, path: str = "") -> Iterator[FieldError]:
        """Every item that is in a set or a map for the second time."""
        if type(value) is dict:
            for name, part in self._parts.items():
                if name in value:
                    where = f"{path}.{name}" if path else name
                    yield from part.duplicates(value[name], where)
            if self._values is not None:
                for name, member in value.items():
                    yield from self._values.duplicates(member, f"{path}[{name}]")
        elif type(value) is list:
            if self._list_type == "set":
                yield from _repeated(value, path)
            elif self._list_type == "map":
                yield from self._repeated_keys(value, path)
            if self._items is not None:
                for index, item in enumerate(value):
                    yield from self._items.duplicates(item, f"{path}[{index}]")

    def _repeated_keys(self, items: list[Any], path: str) -> Iterator[FieldError]:
        for index, item in enumerate(items):
            if item is not None and type(item) is not dict:
                told = "must be an object for an array of list-type map"
                yield FieldError(FieldErrorType.INVALID, f"{path}[{index}]", item, told)
                return
        if len(items) > 1:
            names = self._keys
            yield from _repeated(
                [
                    {name: item[name] for name in names if name in item} if item else {}
                    for item in items
                ],
                path,
            )


def _repeated(items: list[Any], path: str) -> Iterator[FieldError]:
    seen: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        key = _key(item)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 2:
            yield FieldError(FieldErrorType.DUPLICATE, f"{path}[{index}]", item)


def _key(item: Any) -> Hashable:
    """What is equal for equal items only: 1 is not true, whatever Python says."""
    if type(item) is str:
        return item
    if type(item) is dict and len(item) == 1:
        ((name, value),) = item.items()
        if type(value) is str:
            return name, value
    return b"", json.dumps(item, sort_keys=True)
