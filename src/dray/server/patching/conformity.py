"""Whether an applied object is what its schema says: known fields, right types, distinct items.

Applying is stricter than decoding, which drops unknown fields. Upstream counterpart:
structured-merge-diff's typed Validate; the messages are its.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dray.api.schema import Primitive, StructOf
from dray.errors import quote
from dray.server.patching.go_text import printed
from dray.server.patching.paths import show_path
from dray.server.patching.shapes import Kind, Shape, Untypable, shape_of

__all__ = ["misfits"]

_NUMBERS: Final = frozenset({Primitive.INT32, Primitive.INT64, Primitive.NUMBER})
_STRINGS: Final = frozenset({Primitive.STRING, Primitive.BYTES})
_GO_TYPES: Final[Mapping[type, str]] = {
    str: "string",
    bool: "bool",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def misfits(document: Any, schema: StructOf, *, duplicates: bool = False) -> str:
    """What is wrong with the document, empty if nothing is.

    With `duplicates`, a list may name an item more than once, as stored objects may.
    """
    found = list(_misfits(shape_of(schema), document, duplicates=duplicates))
    lines = [f"{path}: {message}" if path else message for path, message in found]
    if len(lines) < 2:
        return "".join(lines)
    return "\n".join(["errors:", *(f"  {line}" for line in lines)])


def _misfits(shape: Shape, value: Any, *, duplicates: bool) -> Iterator[tuple[str, str]]:
    if value is None or shape.kind in (Kind.ANYTHING, Kind.DEDUCED):
        return
    if shape.kind is Kind.SCALAR:
        wrong = _wrong_scalar(shape.primitive, value)
        if wrong:
            yield "", wrong
        return
    if shape.kind is Kind.OBJECT:
        if not isinstance(value, dict):
            yield "", f"expected map, got {_go_value(value)}"
            return
        for name in sorted(value):
            known = shape.fields.get(name)
            part = known[1] if known is not None else shape.below
            if part is None:
                yield f".{name}", "field not declared in schema"
                return
            for path, message in _misfits(part, value[name], duplicates=duplicates):
                yield f".{name}{path}", message
        return
    if not isinstance(value, list):
        yield "", f"expected list, got {_go_value(value)}"
        return
    yield from _misfit_items(shape, value, duplicates=duplicates)


def _misfit_items(shape: Shape, items: list[Any], *, duplicates: bool) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    assert shape.below is not None
    for index, item in enumerate(items):
        step = f"i:{index}"
        if shape.kind is not Kind.LIST:
            try:
                step = shape.step_of(item)
            except Untypable as error:
                yield "", f"element {index}: {error}"
                return
            if step in seen and not duplicates:
                yield "", f"duplicate entries for key {show_path([step])}"
            seen.add(step)
        for path, message in _misfits(shape.below, item, duplicates=duplicates):
            yield show_path([step]) + path, message


def _wrong_scalar(primitive: Primitive | None, value: Any) -> str:
    if primitive in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"expected numeric (int or float), got {_GO_TYPES[type(value)]}"
    elif primitive in _STRINGS:
        if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{_go_literal(value)}}}"
    elif primitive is Primitive.BOOLEAN:
        if not isinstance(value, bool):
            return f"expected boolean, got {_go_value(value)}"
    elif isinstance(value, (dict, list)):
        return f"expected any scalar, got {_go_value(value)}"
    return ""


def _go_value(value: Any) -> str:
    return f"&{{{printed(value)}}}"


def _go_literal(value: Any) -> str:
    """A value in Go's syntax, as far as one may turn up where a string belongs."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        parts = (f"{quote(name)}:{_go_literal(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(parts)}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_literal, value))}}}"
    return "interface {}(nil)" if value is None else printed(value)
