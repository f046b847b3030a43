"""What there is to say about types and their fields, all in dray's own words.

A type is described by the words kept for it or else by those of dray's own type, a field only by
words kept for it. Upstream's prose stays upstream's: what is merely carried has no description.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from dray.api import scheme
from dray.api.schema import ListOf, MapOf, Schema, StructOf
from dray.api.schemas import find_schema
from dray.server.openapi.words import words_about

__all__ = ["describe", "describe_field"]

# What protobuf leaves to the envelope, and so has no number: only kinds have them like that.
_TYPE_FIELDS: Final = ("apiVersion", "kind")

# Whose words are those of every kind, and of every list of objects.
_ANY_KIND: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.*"
_ANY_LIST: Final = f"{_ANY_KIND}List"


def describe(name: str) -> str:
    """What dray says about a definition, empty if nothing."""
    return words_about(name) or _descriptions().get(name, "")


def describe_field(struct: StructOf, field: str) -> str:
    """What dray says about a field of a definition, empty if nothing."""
    if not struct.name:
        return ""
    text = words_about(struct.name, field)
    if text or not _is_kind(struct):
        return text
    if "items" in struct.fields and struct.name.endswith("List"):
        text = words_about(_ANY_LIST, field)
    return text or words_about(_ANY_KIND, field)


def _is_kind(struct: StructOf) -> bool:
    fields = struct.fields
    return all(name in fields and not fields[name].number for name in _TYPE_FIELDS)


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
