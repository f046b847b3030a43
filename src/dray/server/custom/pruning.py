"""Objects without the fields that their schema does not have.

Values are changed in place. Upstream counterpart: apiextensions-apiserver
pkg/apiserver/schema/pruning.
"""

from __future__ import annotations

from typing import Any, Final

from dray.server.custom.structural import Structural

__all__ = ["prune"]

# What every object has, whatever its schema says.
_META: Final = frozenset({"apiVersion", "kind", "metadata"})


def prune(content: dict[str, Any], schema: Structural) -> list[str]:
    """Drop what the schema of an object does not have; the paths of what was dropped, sorted.

    The object's own apiVersion, kind and metadata stay, and are not looked into.
    """
    dropped: list[str] = []
    if schema.preserves_unknown:
        _look_inside(content, schema, "", dropped, embedded=True)
    else:
        _prune_object(content, schema, "", dropped, embedded=True)
    return sorted(dropped)


def _prune(value: Any, schema: Structural | None, path: str, dropped: list[str]) -> None:
    kind = type(value)
    if kind is dict:
        if schema is None:
            dropped.extend(f"{path}.{name}" for name in value)
            value.clear()
        elif schema.preserves_unknown:
            _look_inside(value, schema, path, dropped, embedded=schema.embedded)
        else:
            _prune_object(value, schema, path, dropped, embedded=schema.embedded)
    elif kind is list:
        if schema is not None and schema.preserves_unknown:
            _look_inside_list(value, schema, path, dropped)
            return
        items = None if schema is None else schema.items
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                _prune(item, items, f"{path}[{index}]", dropped)


def _prune_object(
    value: dict[str, Any], schema: Structural, path: str, dropped: list[str], *, embedded: bool
) -> None:
    properties, additional = schema.properties, schema.additional
    unknown = []
    for name, member in value.items():
        if embedded and name in _META:
            continue
        part = properties.get(name)
        if part is None and additional is None:
            unknown.append(name)
        elif type(member) is dict or type(member) is list:
            _prune(member, part or schema.values, _below(path, name), dropped)
    for name in unknown:
        del value[name]
        dropped.append(_below(path, name))


def _look_inside(
    value: dict[str, Any], schema: Structural, path: str, dropped: list[str], *, embedded: bool
) -> None:
    """Keep what is unknown, but prune what is known where its own schema wants that."""
    for name, member in value.items():
        if (embedded and name in _META) or type(member) not in (dict, list):
            continue
        part = schema.properties.get(name)
        if part is not None or schema.additional is not None:
            _prune(member, part or schema.values, _below(path, name), dropped)


def _look_inside_list(value: list[Any], schema: Structural, path: str, dropped: list[str]) -> None:
    items = schema.items
    if items is None:
        return
    for index, item in enumerate(value):
        where = f"{path}[{index}]"
        if type(item) is dict:
            _look_inside(item, items, where, dropped, embedded=items.embedded)
        elif type(item) is list:
            _look_inside_list(item, items, where, dropped)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
