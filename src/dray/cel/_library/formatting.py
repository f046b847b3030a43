"""`format`: a text with its `%` clauses replaced by the values of a list.

The dialect is the older one of two that upstream knows. It prints numbers for American readers:
`%f` groups the digits of a number by thousands; `%e` writes out a power of ten in superscript, and
takes what looks like a precision for the least width. Whether the clauses of a literal fit is
checked when an expression is compiled; here the same rules meet the values.

Upstream counterparts: parseFormatString and stringFormatter in cel-go ext/formatting.go; the
printing of numbers in golang.org/x/text, whose limits show where a precision is absurd.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Final

from dray.cel._failures import Failure, no_such_overload
from dray.cel._format import CLAUSES, FormatError, read_clause
from dray.cel._library.bounds import within
from dray.cel._library.conversions import convert
from dray.cel._library.go_text import from_bytes, quoted, to_bytes
from dray.cel._library.table import FunctionTable
from dray.cel._types import Type
from dray.cel._values import (
    LISTS,
    MAPS,
    Duration,
    Key,
    Timestamp,
    UInt,
    Value,
    decode_key,
    type_of,
)

__all__ = ["FUNCTIONS"]

_PRECISION: Final = 6
"""Digits after the point where a clause does not say how many."""

_UNREADABLE_FROM: Final = 10_000_010
"""From here on a precision is one that upstream's number printer gives up on."""

_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_FAILED: Final = "error during formatting: "


def _format(template: Value, values: Value) -> Value:
    if type(values) not in LISTS:
        raise no_such_overload("format", template, values)
    text = to_bytes(template)
    pieces: list[str] = []
    size = used = start = 0
    while start < len(text):
        percent = text.find(b"%", start)
        if percent < 0:
            percent = len(text)
        if percent > start:
            piece, start = from_bytes(text[start:percent]), percent
        elif text.startswith(b"%%", percent):
            piece, start = "%", percent + 2
        else:
            if used >= len(values):
                raise Failure(f"index {used} out of range")
            if percent + 1 == len(text):
                raise Failure("unexpected end of string")
            piece, start = _clause(text, percent + 1, values[used])
            used += 1
        size = within(size + len(piece))
        pieces.append(piece)
    return "".join(pieces)


def _clause(text: bytes, position: int, value: Value) -> tuple[str, int]:
    """The value as the clause at this position wants it, and where the clause ends."""
    try:
        letter, precision, end = read_clause(text, position)
    except FormatError as error:
        raise Failure(str(error)) from None
    allowed, rule = CLAUSES[letter]
    kind = type_of(value)
    if kind.kind not in allowed or (letter in "fe" and not _is_double(value)):
        raise Failure(f"{_FAILED}{rule}, was given {kind.name}")
    if letter == "f":
        return _fixed(float(value), precision), end
    if letter == "e":
        return _scientific(float(value), precision), end
    return _PRINTERS[letter](value), end


# Numbers


def _is_double(value: Value) -> bool:
    return type(value) is float or value in ("NaN", "Infinity", "-Infinity")


def _fixed(number: float, precision: int | None) -> str:
    if precision is None:
        precision = _PRECISION
    if precision >= _UNREADABLE_FROM:
        return "%!(NOVERB)"
    if not math.isfinite(number):
        return _special(number)
    # Upstream keeps the most digits in 16 bits, sign included, and the least in 8.
    least, most = precision % 2**8, precision % 2**16
    if most >= 2**15:
        shown = format(Decimal(repr(abs(number))), ",f")
    else:
        shown = format(abs(number), f",.{most}f")
    whole, _, fraction = shown.partition(".")
    fraction = fraction.rstrip("0").ljust(least, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole


def _scientific(number: float, width: int | None) -> str:
    if width is None:
        width = _PRECISION
    if width >= _UNREADABLE_FROM:
        return "%!(NOVERB)"
    if math.isfinite(number):
        mantissa, _, exponent = format(abs(number), ".6e").partition("e")
        power = exponent.removeprefix("+").translate(_SUPERSCRIPTS)
        shown = f"{'-' if number < 0 else ''}{mantissa}\u00d710{power}"
    else:
        shown = _special(number)
    # Upstream keeps a width in 16 bits.
    return shown.rjust(width % 2**16)


def _special(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "∞" if number > 0 else "-∞"


def _binary(value: Value) -> str:
    return format(int(value), "b")


def _octal(value: Value) -> str:
    return format(int(value), "o")


def _hexadecimal(value: Value) -> str:
    if type(value) in (int, UInt):
        return format(int(value), "x")
    data = to_bytes(value) if type(value) is str else value
    within(2 * len(data))
    digits: str = data.hex()
    return digits


def _capital_hexadecimal(value: Value) -> str:
    return _hexadecimal(value).upper()


# Anything


def _text(value: Value) -> str:
    kind = type(value)
    if kind in LISTS or kind in MAPS:
        return _nested(value)
    return _plain(value)


def _plain(value: Value) -> str:
    if value is None:
        return "null"
    if type(value) is Type:
        return value.name
    try:
        text: str = convert("string", value)
    except Failure as error:
        raise Failure(
            f"{_FAILED}could not convert argument {quoted(str(error))} to string"
        ) from None
    return text


class _Ready(str):
    """What stands between the parts of a value, as opposed to a text that is one."""

    __slots__ = ()


_END: Final = object()


def _nested(value: Value) -> str:
    """A list or map and all in it, as CEL would write it; without recursion, for it may be deep."""
    pieces: list[str] = []
    size = 0
    waiting: list[Iterator[Value]] = [iter((value,))]
    while waiting:
        item: Value = next(waiting[-1], _END)
        if item is _END:
            waiting.pop()
            continue
        kind = type(item)
        if kind in LISTS:
            waiting.append(_list_parts(item))
        elif kind in MAPS:
            waiting.append(_map_parts(item))
        else:
            piece = item if kind is _Ready else _literal(item)
            size = within(size + len(piece))
            pieces.append(piece)
    return "".join(pieces)


def _list_parts(elements: list[Value]) -> Iterator[Value]:
    separator = _Ready("[")
    for element in elements:
        yield separator
        yield element
        separator = _Ready(", ")
    yield _Ready("]" if elements else "[]")


def _map_parts(entries: dict[Key, Value]) -> Iterator[Value]:
    """In the order of the keys as they are written."""
    shown = [(_key(decode_key(key)), value) for key, value in entries.items()]
    shown.sort(key=lambda entry: to_bytes(entry[0]))
    separator = "{"
    for key, value in shown:
        yield _Ready(f"{separator}{key}:")
        yield value
        separator = ", "
    yield _Ready("}" if entries else "{}")


def _key(key: Value) -> str:
    if type(key) not in (str, bool, int, UInt):
        raise Failure(f"{_FAILED}no formatting function for map key of type {type_of(key).name}")
    return _literal(key)


def _literal(value: Value) -> str:
    """A value inside a list or map."""
    match value:
        case str():
            plain = value.isprintable() and '"' not in value and "\\" not in value
            return f'"{value}"' if plain else quoted(value)
        case bytes():
            return f"b{quoted(_plain(value))}"
        case float():
            return format(value, ".6f") if math.isfinite(value) else f'"{_plain(value)}"'
        case Timestamp():
            return f'timestamp("{_plain(value)}")'
        case Duration():
            return f'duration("{_plain(value)}")'
        case bool() | int() | None | Type():
            return _plain(value)
    raise Failure(f"{_FAILED}no formatting function for {type_of(value).name}")


_PRINTERS: Final[dict[str, Callable[[Value], str]]] = {
    "s": _text,
    "d": _plain,
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": _capital_hexadecimal,
}

FUNCTIONS: Final[FunctionTable] = {"format": {str: _format}}
