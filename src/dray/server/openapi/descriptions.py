"""What there is to say about a type: the words of dray's own types, where it has one.

Upstream's prose stays upstream's. A definition without a type here has no description.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from dray.api import scheme
from dray.api.schema import ListOf, MapOf, Schema, StructOf
from dray.api.schemas import find_schema

__all__ = ["describe"]


def describe(name: str) -> str:
    """What dray says about a definition, empty if nothing."""
    return _descriptions().get(name, "")


@cache
def _descriptions() -> Mapping[str, str]:
    found: dict[str, str] = {}
    types = [(kind, version, version.type) for kind in scheme.kinds() for version in kind.versions]
    infos = msgspec.inspect.multi_type_info([type_ for _, _, type_ in types])
    for (kind, version, _), info in zip(types, infos, strict=True):
        schema = find_schema(kind.group, version.name, kind.name)
        if schema is not None:
            _gather(info, schema, found)
    return found


def _gather(info: Any, schema: Schema, found: dict[str, str]) -> None:
    """Note the words of a type under its schema's name, and those of the types inside it."""
    match info, schema:
        case msgspec.inspect.UnionType(types=types), _:
            for inner in types:
                _gather(inner, schema, found)
        case msgspec.inspect.StructType(cls=cls, fields=fields), StructOf(name=name):
            if name in found:
                return
            # Only words of its own: a class inherits those of its base.
            found[name] = _first_paragraph(cls.__dict__.get("__doc__") or "")
            for field in fields:
                inside = schema.fields.get(field.encode_name)
                if inside is not None:
                    _gather(field.type, inside.schema, found)
        case ((msgspec.inspect.VarTupleType() | msgspec.inspect.ListType()), ListOf(items=items)):
            _gather(info.item_type, items, found)
        case msgspec.inspect.DictType(value_type=value), MapOf(values=values):
            _gather(value, values, found)
        case _:
            pass


def _first_paragraph(text: str) -> str:
    return " ".join(inspect.cleandoc(text).split("\n\n")[0].split())
