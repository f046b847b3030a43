"""What texts can do: search, cut, replace, split, join, and change the case of ASCII letters.

Positions count code points. Nothing here formats or matches patterns; those have modules of their
own.

Upstream counterparts: StringContains, StringStartsWith and StringEndsWith in cel-go
common/types/string.go; ext/strings.go at version 2.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Final

from dray.cel._failures import Failure, no_such_overload
from dray.cel._library.bounds import within
from dray.cel._library.go_text import shown
from dray.cel._library.table import FunctionTable, Implementation, of_lists
from dray.cel._values import Value

__all__ = ["FUNCTIONS"]

_SHORT: Final = 100
"""Longer texts are looked for from behind by turning both around: Python finds a text in linear
time, but looks for the last one in time that grows with both lengths."""

_BLANK: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What Unicode calls white space. Python's own strip takes four control characters more."""

_REPAIRED: Final = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")
"""A byte that is no UTF-8 becomes the replacement character where upstream looks at code points."""

_LOWER: Final = _REPAIRED | str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER: Final = _REPAIRED | str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_QUOTED: Final = _REPAIRED | str.maketrans(
    {
        "\a": r"\a",
        "\b": r"\b",
        "\f": r"\f",
        "\n": r"\n",
        "\r": r"\r",
        "\t": r"\t",
        "\v": r"\v",
        "\\": r"\\",
        '"': r"\"",
    }
)


# Tests


def _tester(test: Callable[[str, str], bool]) -> dict[type, Implementation]:
    def apply(text: Value, part: Value) -> Value:
        if type(part) is not str:
            raise Failure("no such overload")
        return test(text, part)

    def refuse(_: Value, __: Value) -> Value:
        raise Failure("no such overload")

    return {str: apply, object: refuse}


# Positions


def _char_at(text: Value, index: Value) -> Value:
    if type(index) is not int:
        raise no_such_overload("charAt", text, index)
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return _repaired(text[index : index + 1])


def _substring(text: Value, start: Value, *stops: Value) -> Value:
    if type(start) is not int or not all(type(stop) is int for stop in stops):
        raise no_such_overload("substring", text, start, *stops)
    size = len(text)
    stop = stops[0] if stops else size
    if stops and start > stop:
        raise Failure(f"invalid substring range. start: {start}, end: {stop}")
    for position in (start, stop):
        if not 0 <= position <= size:
            raise _out_of_range(position)
    return _repaired(text[start:stop])


def _index_of(text: Value, part: Value, *offsets: Value) -> Value:
    if type(part) is not str or not all(type(offset) is int for offset in offsets):
        raise no_such_overload("indexOf", text, part, *offsets)
    offset = offsets[0] if offsets else 0
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset)


def _last_index_of(text: Value, part: Value, *offsets: Value) -> Value:
    if type(part) is not str or not all(type(offset) is int for offset in offsets):
        raise no_such_overload("lastIndexOf", text, part, *offsets)
    offset = offsets[0] if offsets else len(text)
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    if offsets and offset >= len(text):
        return -1
    stop = min(offset + len(part), len(text))
    if len(part) <= _SHORT:
        return text.rfind(part, 0, stop)
    found = text[:stop][::-1].find(part[::-1])
    return -1 if found < 0 else stop - found - len(part)


def _repaired(text: str) -> str:
    return text if text.isascii() else text.translate(_REPAIRED)


def _out_of_range(index: int) -> Failure:
    return Failure(f"index out of range: {index}")


# Whole texts


def _replace(text: Value, old: Value, new: Value, *limits: Value) -> Value:
    if (
        type(old) is not str
        or type(new) is not str
        or not all(type(limit) is int for limit in limits)
    ):
        raise no_such_overload("replace", text, old, new, *limits)
    count = text.count(old)
    if limits and 0 <= limits[0] < count:
        count = limits[0]
    within(len(text) + count * (len(new) - len(old)))
    return text.replace(old, new, count)


def _split(text: Value, separator: Value, *limits: Value) -> Value:
    if type(separator) is not str or not all(type(limit) is int for limit in limits):
        raise no_such_overload("split", text, separator, *limits)
    limit = limits[0] if limits else -1
    if limit == 0:
        return []
    if not separator:
        return _characters(text, limit)
    pieces = text.count(separator) + 1
    within(pieces if limit < 0 else min(limit, pieces))
    return text.split(separator, limit - 1 if 0 < limit < pieces else -1)


def _characters(text: str, limit: int) -> list[str]:
    within(len(text) if limit < 0 else min(limit, len(text)))
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _join(texts: Value, *separators: Value) -> Value:
    separator = separators[0] if separators else ""
    # Upstream takes a list for one of texts if its first element is a text.
    if type(separator) is not str or (texts and type(texts[0]) is not str):
        raise no_such_overload("join", texts, *separators)
    size = -len(separator)
    for text in texts:
        if type(text) is not str:
            raise Failure(f"join: invalid input: {shown(text)}")
        size = within(size + len(separator) + len(text))
    return separator.join(texts)


def _lower_ascii(text: Value) -> Value:
    return text.lower() if text.isascii() else text.translate(_LOWER)


def _upper_ascii(text: Value) -> Value:
    return text.upper() if text.isascii() else text.translate(_UPPER)


def _trim(text: Value) -> Value:
    return text.strip(_BLANK)


def _quote(text: Value) -> Value:
    within(2 * len(text) + 2)
    return f'"{text.translate(_QUOTED)}"'


FUNCTIONS: Final[FunctionTable] = {
    "contains": _tester(str.__contains__),
    "startsWith": _tester(str.startswith),
    "endsWith": _tester(str.endswith),
    "charAt": {str: _char_at},
    "substring": {str: _substring},
    "indexOf": {str: _index_of},
    "lastIndexOf": {str: _last_index_of},
    "replace": {str: _replace},
    "split": {str: _split},
    "join": of_lists(_join),
    "lowerAscii": {str: _lower_ascii},
    "upperAscii": {str: _upper_ascii},
    "trim": {str: _trim},
    "strings.quote": {str: _quote},
}
