"""What rules can see of objects that a schema describes.

A part without a type, unless it is an integer or a text, cannot be seen at all, and neither can a
list or a map of such parts, or a field whose name cannot be written in an expression. Upstream
counterpart: SchemaDeclType in apiserver pkg/cel/common.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from dray.cel.objects import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    Declared,
    binary,
    date,
    date_time,
    duration,
    int_or_string,
    list_of,
    map_of,
    object_of,
    text,
)
from dray.server.custom.structural import Structural

__all__ = ["declared", "escaped", "with_type_and_metadata"]

# The largest body a server takes: nothing in it can be larger.
BODY_BYTES_MAX: Final = 3 * 1024 * 1024

NAME_LENGTH_MAX: Final = 253

# A character of a text may take this many bytes.
_BYTES_PER_CHARACTER: Final = 4

_RESERVED: Final = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    )
)
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED: Final = re.compile(r"__|[-./]")
_NAME: Final = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*", re.ASCII)


def escaped(name: str) -> str | None:
    """A field's name as expressions write it, or None if they cannot."""
    if not _NAME.fullmatch(name):
        return None
    if name in _RESERVED:
        return f"__{name}__"
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name)


def with_type_and_metadata(schema: Structural) -> Structural:
    """The schema of an object with what every object has: rules see its names, and no more."""
    metadata = schema.properties.get("metadata", Structural())
    name, generate_name = (
        metadata.properties.get(each, Structural()) for each in ("name", "generateName")
    )
    return replace(
        schema,
        type=schema.type or "object",
        properties={
            **schema.properties,
            "kind": Structural(type="string"),
            "apiVersion": Structural(type="string"),
            "metadata": Structural(
                type="object",
                properties={
                    "name": _capped(name, NAME_LENGTH_MAX),
                    "generateName": _capped(generate_name, NAME_LENGTH_MAX - 1),
                },
            ),
        },
    )


def _capped(schema: Structural, length_max: int) -> Structural:
    length = length_max if schema.max_length is None else min(schema.max_length, length_max)
    return Structural(type="string", max_length=length)


def declared(schema: Structural, name: str, *, is_resource: bool = False) -> Declared | None:
    """What rules see of a part, or None if they cannot see it. `name` is that of its type."""
    if schema.int_or_string:
        return int_or_string(_text_size(schema))
    if is_resource:
        schema = with_type_and_metadata(schema)
    match schema.type:
        case "array":
            return _list(schema, name)
        case "object" if schema.values is not None:
            return _map(schema, schema.values, name)
        case "object":
            return _object(schema, name)
        case "string":
            return _text(schema)
        case "boolean":
            return BOOLEAN
        case "number":
            return NUMBER
        case "integer":
            return INTEGER
    return None


def _list(schema: Structural, name: str) -> Declared | None:
    if schema.items is None:
        return None
    element = declared(schema.items, f"{name}.@idx", is_resource=schema.items.embedded)
    if element is None:
        return None
    size = schema.max_items
    if size is None:
        size = (BODY_BYTES_MAX - 2) // (element.size_min + 1)
    keys = tuple(escaped(key) or key for key in schema.list_keys)
    return list_of(
        element,
        max(size, 0),
        is_set=schema.list_type == "set",
        keys=keys if schema.list_type == "map" else (),
    )


def _map(schema: Structural, values: Structural, name: str) -> Declared | None:
    element = declared(values, f"{name}.@elem", is_resource=values.embedded)
    if element is None:
        return None
    size = schema.max_properties
    if size is None:
        # The shortest key still takes its quotes, a colon and a comma.
        size = (BODY_BYTES_MAX - 2) // (element.size_min + 6)
    return map_of(element, max(size, 0))


def _object(schema: Structural, name: str) -> Declared:
    fields = {}
    size_min = 2
    for field, part in schema.properties.items():
        found = declared(part, f"{name}.{field}", is_resource=part.embedded)
        if found is None:
            continue
        known_as = escaped(field)
        if known_as is not None:
            fields[field] = (known_as, found)
        if field in schema.required and not part.has_default:
            size_min += len(field) + found.size_min + 4
    return object_of(name, fields, size_min)


def _text(schema: Structural) -> Declared:
    match schema.format:
        case "byte":
            size = schema.max_length
            return binary(BODY_BYTES_MAX - 2 if size is None else max(size, 0))
        case "duration":
            return duration()
        case "date":
            return date()
        case "date-time":
            return date_time()
    return text(_text_size(schema))


def _text_size(schema: Structural) -> int:
    if schema.max_length is not None:
        return max(schema.max_length, 0) * _BYTES_PER_CHARACTER
    if schema.enum and not schema.int_or_string:
        return max((len(each.encode()) for each in schema.enum if isinstance(each, str)), default=0)
    return BODY_BYTES_MAX - 2
