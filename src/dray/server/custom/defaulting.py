"""Objects with the defaults that their schema has, and without nulls that mean nothing.

Values are changed in place; a default is copied each time it is used. Most schemas have no default
in most of their parts, so what there is to do is found out once per schema. Upstream counterpart:
apiextensions-apiserver pkg/apiserver/schema/defaulting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dray.server.custom.structural import Structural

__all__ = ["copied", "defaulter", "drop_nulls"]

Defaulter = Callable[[Any], None]


def copied(value: Any) -> Any:
    """JSON values that share nothing with these."""
    if type(value) is dict:
        return {name: copied(member) for name, member in value.items()}
    if type(value) is list:
        return [copied(item) for item in value]
    return value


def defaulter(schema: Structural) -> Defaulter | None:
    """What fills in the defaults of a schema, or None if it has none."""
    own = [
        (name, copied(part.default), part.nullable)
        for name, part in schema.properties.items()
        if part.has_default
    ]
    below: dict[str, Defaulter] = {}
    for name, part in schema.properties.items():
        of_part = defaulter(part)
        if of_part is not None:
            below[name] = of_part
    values = _of_elements(schema.values)
    items = _of_elements(schema.items)
    if not own and not below and values is None and items is None:
        return None
    known = frozenset(schema.properties)

    def fill(value: Any) -> None:
        if type(value) is dict:
            for name, default, nullable in own:
                if name not in value or (value[name] is None and not nullable):
                    value[name] = copied(default)
            for name, fill_member in below.items():
                if name in value:
                    fill_member(value[name])
            if values is not None:
                for name in value:
                    if name not in known:
                        value[name] = values(value[name])
        elif type(value) is list and items is not None:
            for index, item in enumerate(value):
                value[index] = items(item)

    return fill


def _of_elements(schema: Structural | None) -> Callable[[Any], Any] | None:
    """What gives an element of a list or a map its defaults, and a null its value."""
    if schema is None:
        return None
    inside = defaulter(schema)
    if inside is None and not schema.has_default:
        return None
    fill_inside = inside or _nothing

    def element(value: Any) -> Any:
        if value is None and not schema.nullable and schema.has_default:
            value = copied(schema.default)
        fill_inside(value)
        return value

    return element


def _nothing(_value: Any) -> None:
    """Fill in nothing."""


def drop_nulls(value: Any, schema: Structural | None) -> None:
    """Drop members that are null though they may not be, and have no default to become."""
    if type(value) is dict:
        dropped = []
        for name, member in value.items():
            part = None
            if schema is not None:
                part = schema.properties.get(name) or schema.values
            if member is None:
                if part is not None and not part.nullable and not part.has_default:
                    dropped.append(name)
            elif type(member) is dict or type(member) is list:
                drop_nulls(member, part)
        for name in dropped:
            del value[name]
    elif type(value) is list:
        items = None if schema is None else schema.items
        for item in value:
            if type(item) is dict or type(item) is list:
                drop_nulls(item, items)
