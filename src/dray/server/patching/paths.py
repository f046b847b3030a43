"""Path elements: how one step into an object is written in FieldsV1, ordered, and shown.

A step is a text. `f:name` is a field or key of a map, `k:{"name":"a"}` the item of a keyed list
with these values, `v:"x"` a member of a set, `i:0` an item by position. The text is canonical (keys
sorted, JSON as Go writes it), so equal steps are equal strings. Upstream counterpart:
structured-merge-diff's fieldpath.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from dray.errors import ParseError
from dray.server.patching.go_text import json_of, json_string, shown

__all__ = ["SELF", "canonical", "field", "key", "member", "order", "show_path"]

# Stands, among the steps into an object, for the object itself.
SELF: Final = "."

# Names of containers, conditions and finalizers repeat without end; one entry is some 200 bytes.
_REMEMBERED_MAX: Final = 16_384
# Longer ones are not remembered, or a client could fill memory with them.
_REMEMBERED_CHARACTERS_MAX: Final = 256


def field(name: str) -> str:
    return "f:" + name


def key(values: Mapping[str, Any]) -> str:
    """The step to the item of a keyed list that has these values."""
    if len(values) == 1:
        for name, value in values.items():
            if type(value) is str:
                return f'k:{{"{name}":{json_string(value)}}}'
    return "k:" + json_of(dict(values))


def member(value: Any) -> str:
    """The step to a member of a set."""
    return "v:" + json_of(value)


def canonical(text: str) -> str | None:
    """The step a client wrote, in the one form we write; None if it is of a kind we do not know."""
    if len(text) > _REMEMBERED_CHARACTERS_MAX:
        return _canonical(text)
    return _canonical_remembered(text)


def _canonical(text: str) -> str | None:
    if len(text) < 2 or text[1] != ":":
        raise ParseError(text, "a path element starts with its kind and a colon")
    kind, rest = text[0], text[2:]
    if kind == "f":
        return text
    if kind == "i":
        try:
            return f"i:{int(rest)}"
        except ValueError as error:
            raise ParseError(text, "an index is a whole number") from error
    if kind not in "kv":
        return None
    try:
        value = json.loads(rest)
    except (ValueError, RecursionError) as error:
        raise ParseError(text, "a key or a value is JSON") from error
    if kind == "v":
        return member(value)
    if not isinstance(value, dict):
        raise ParseError(text, "a key is a JSON object")
    return "k:" + json_of(value)


_canonical_remembered = lru_cache(_REMEMBERED_MAX)(_canonical)


def order(step: str) -> tuple[Any, ...]:
    """Sorts steps as upstream does: itself, fields, keys, values, indices."""
    if len(step) > _REMEMBERED_CHARACTERS_MAX:
        return _order(step)
    return _order_remembered(step)


def _order(step: str) -> tuple[Any, ...]:
    if step == SELF:
        return (0,)
    kind, rest = step[0], step[2:]
    if kind == "f":
        return (1, rest)
    if kind == "k":
        values = json.loads(rest)
        return (2, *((name, _order_of_value(values[name])) for name in sorted(values)))
    if kind == "v":
        return (3, _order_of_value(json.loads(rest)))
    return (4, int(rest))


_order_remembered = lru_cache(_REMEMBERED_MAX)(_order)


def show_path(path: Sequence[str]) -> str:
    """The path as conflicts name it: .spec.containers[name="a"].image"""
    return "".join(map(_show_step, path))


def _show_step(step: str) -> str:
    kind, rest = step[0], step[2:]
    if kind == "f":
        return "." + rest
    if kind == "k":
        values = json.loads(rest)
        return f"[{','.join(f'{name}={shown(values[name])}' for name in sorted(values))}]"
    if kind == "v":
        return f"[={shown(json.loads(rest))}]"
    return f"[{rest}]"


def _order_of_value(value: Any) -> tuple[int, Any]:
    """Numbers, strings, booleans, then what cannot be a key at all."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, json_of(value))
