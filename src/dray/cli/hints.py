"""What someone probably meant by a field that does not exist.

The three usual mistakes: a misspelling, a field one level too high or too low (a wrong
indentation), and a field where another version of the kind has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

import msgspec

from dray.api.wire import UNKNOWN_MEMBER, Struct, UnknownFields
from dray.errors import quote, shorten

__all__ = ["hints_for"]

# The types around a struct, outermost first, each with the path of where it is.
_Around = tuple[tuple[str, type[Struct]], ...]


def hints_for(obj: Struct) -> dict[str, str]:
    """For each unknown field of an object, by path, what it might be; not all have a hint."""
    found: dict[str, str] = {}
    for path, struct, around in _structs(obj, "", ()):
        assert isinstance(struct.unknown_fields, UnknownFields)
        for name, member in struct.unknown_fields.members.items():
            hint = _hint(type(struct), name, member, around)
            if hint:
                found[_join(path, name)] = hint
    return found


def _structs(value: Any, path: str, around: _Around) -> Iterator[tuple[str, Struct, _Around]]:
    """The structs with unknown fields."""
    if isinstance(value, Struct):
        if isinstance(value.unknown_fields, UnknownFields):
            yield path, value, around
        inside = (*around, (path, type(value)))
        for name, attribute in _names(type(value)).items():
            yield from _structs(getattr(value, attribute), _join(path, name), inside)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _structs(item, f"{path}[{index}]", around)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _structs(item, _join(path, key), around)


def _hint(kind: type[Struct], name: str, member: Any, around: _Around) -> str:
    known = _names(kind)
    for inner, attribute_type in _struct_fields(kind):
        if name in _names(attribute_type):
            return f"did you mean {inner}.{name}?"
    if isinstance(member, Mapping) and member and all(key in known for key in member):
        return f"its fields belong here directly, without {quote(name)}"
    for path, outer in reversed(around):
        if name in _names(outer):
            return f"it is a field of {path or 'the object itself'}: check the indentation"
    same = [candidate for candidate in known if candidate.lower() == name.lower()]
    near = same or get_close_matches(shorten(name), known, n=1)
    return f"did you mean {near[0]}?" if near else ""


def _names(kind: type[Struct]) -> dict[str, str]:
    """Wire names to attribute names."""
    return {
        field.encode_name: field.name
        for field in msgspec.structs.fields(kind)
        if field.encode_name != UNKNOWN_MEMBER
    }


def _struct_fields(kind: type[Struct]) -> Iterator[tuple[str, type[Struct]]]:
    for field in msgspec.structs.fields(kind):
        for candidate in (field.type, *get_args(field.type)):
            if isinstance(candidate, type) and issubclass(candidate, Struct):
                yield field.encode_name, candidate


def _join(path: str, name: str) -> str:
    return f"{path}.{shorten(name)}" if path else shorten(name)
