"""Reading what objects carry as JSON, and writing it back.

Most of what looks at a pod never looks at its volumes, probes or security contexts, so they stay
JSON until somebody asks. What they hold is declared where they are (`dray.api.wire.Holds`); the
exact decoder has looked at it by then, and names what is unknown or misplaced. `is_plain` asks the
same of an object that came the quick way.

A part is read again for every rule that looks at it, and pods made from one template carry the
same bytes: the last few thousand small parts are remembered. Values are frozen, so sharing them is
safe. Upstream has no counterpart: it decodes everything, always.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final, TypeVar, get_args

import msgspec
from msgspec import Raw

from dray.api.codec import encode, parse_json, read_quickly
from dray.api.shapes import REFUSED, Notes, shape_for
from dray.api.wire import Carried, Holds, Struct, is_null
from dray.errors import DecodeError, ParseError

__all__ = [
    "REMEMBERED_BYTES_MAX",
    "REMEMBERED_PARTS_MAX",
    "held_by",
    "is_plain",
    "read_part",
    "write_part",
]

T = TypeVar("T")

# Templates repeat, and parts are mostly a few hundred bytes: this holds what a busy cluster writes
# within minutes. Longer parts are read each time, which bounds what is remembered.
REMEMBERED_PARTS_MAX: Final = 4096
REMEMBERED_BYTES_MAX: Final = 4096

_UNREADABLE: Final = object()


def read_part(carried: Carried, kind: type[T]) -> T | None:
    """What the JSON says, or None if there is none.

    Nothing is refused here: what does not fit its type is left out, for the decoder has told of it
    if anybody wanted to know. Unknown fields are kept, as in any struct.
    """
    if carried is None:
        return None
    data = bytes(carried)
    if data == b"null":
        return None
    found = _read_quick(kind, data)
    part: T = _read_exactly(kind, data) if found is _UNREADABLE else found
    return part


def write_part(value: Any) -> Carried:
    """The value as carried JSON. An empty list is left out, as it is wherever it may be."""
    if value is None or value == ():
        return None
    return Raw(encode(value))


def is_plain(obj: Struct) -> bool:
    """Whether everything the object carries is as its types say: nothing unknown, nothing odd."""
    return all(_plain(obj, step) for step in _steps(type(obj)))


@cache
def held_by(kind: type[Struct]) -> Mapping[str, Any]:
    """The fields of a struct that carry what has a type, and the types."""
    found = {}
    for field in msgspec.structs.fields(kind):
        for argument in get_args(field.type):
            if isinstance(argument, Holds):
                found[field.name] = argument.kind
    return found


# Reading ---------------------------------------------------------------------------------------


def _read_quick(kind: Any, data: bytes) -> Any:
    return _remembered(kind, data) if len(data) <= REMEMBERED_BYTES_MAX else _decode(kind, data)


def _decode(kind: Any, data: bytes) -> Any:
    try:
        return _decoder(kind).decode(data)
    except (msgspec.MsgspecError, RecursionError, ParseError, TypeError):
        # A TypeError is a list or an object where a quantity belongs: it has no hash.
        return _UNREADABLE


_remembered = lru_cache(maxsize=REMEMBERED_PARTS_MAX)(_decode)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=read_quickly)


def _read_exactly(kind: Any, data: bytes) -> Any:
    shape = shape_for(kind)
    try:
        found = shape.read(parse_json(data), Notes())
    except (DecodeError, RecursionError):
        return shape.zero
    return shape.zero if found is REFUSED else found


# Walking ---------------------------------------------------------------------------------------

# The name of a field, and what it carries or else None: then parts are further down.
_Step = tuple[str, Any]


@cache
def _steps(kind: type[Struct]) -> tuple[_Step, ...]:
    """Where in a struct there are parts."""
    held = held_by(kind)
    above = (
        (field.name, None)
        for field in msgspec.structs.fields(kind)
        if field.name not in held and any(_steps(below) for below in _structs(field.type))
    )
    return (*held.items(), *above)


def _structs(annotation: Any) -> list[type[Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _structs(argument)]


def _plain(struct: Struct, step: _Step) -> bool:
    name, kind = step
    value = getattr(struct, name)
    if kind is not None:
        return is_null(value) or _read_quick(kind, bytes(value)) is not _UNREADABLE
    if isinstance(value, tuple):
        return all(is_plain(item) for item in value)
    return value is None or is_plain(value)
