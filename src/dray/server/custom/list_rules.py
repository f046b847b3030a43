"""Lists that are sets or maps have no item twice.

Upstream counterpart: apiextensions-apiserver pkg/apiserver/schema/listtype.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dray.errors import FieldError, FieldErrorType
from dray.server.custom.structural import Structural

__all__ = ["duplicate_items", "has_list_rules"]


def has_list_rules(schema: Structural | None) -> bool:
    """Whether any list in the schema is a set or a map."""
    if schema is None:
        return False
    if schema.list_type in ("set", "map"):
        return True
    inner = (schema.items, schema.values, *schema.properties.values())
    return any(has_list_rules(part) for part in inner)


def duplicate_items(value: Any, schema: Structural, path: str = "") -> Iterator[FieldError]:
    """Every item that is in a set or a map for the second time."""
    if type(value) is dict:
        values = schema.values
        for name, member in value.items():
            part = schema.properties.get(name)
            if part is not None:
                yield from duplicate_items(member, part, f"{path}.{name}" if path else name)
            elif values is not None:
                yield from duplicate_items(member, values, f"{path}[{name}]")
    elif type(value) is list:
        if schema.list_type == "set":
            yield from _repeated(value, value, path)
        elif schema.list_type == "map":
            yield from _repeated_keys(value, schema, path)
        if schema.items is not None:
            for index, item in enumerate(value):
                yield from duplicate_items(item, schema.items, f"{path}[{index}]")


def _repeated(items: list[Any], shown: list[Any], path: str) -> Iterator[FieldError]:
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        text = json.dumps(item, sort_keys=True)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield FieldError(FieldErrorType.DUPLICATE, f"{path}[{index}]", shown[index])


def _repeated_keys(items: list[Any], schema: Structural, path: str) -> Iterator[FieldError]:
    for index, item in enumerate(items):
        if item is not None and type(item) is not dict:
            told = "must be an object for an array of list-type map"
            yield FieldError(FieldErrorType.INVALID, f"{path}[{index}]", item, told)
            return
    keys = [
        {name: item[name] for name in schema.list_keys if name in item} if item else {}
        for item in items
    ]
    yield from _repeated(keys, keys, path)
