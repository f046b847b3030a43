"""What a YAML scalar means: the JSON value kubectl would send for it.

kubectl reads YAML 1.1 in one library's interpretation and sends the result as JSON, so `yes` is
a boolean, `0o17` a number, `1:30` a string and `1.50` the number 1.5. A manifest means here what
it means there; test_scalars holds the table recorded from that library. Not here: structure,
anchors, merge keys (composer). Upstream counterpart: go.yaml.in/yaml/v2 resolve.go with the JSON
conversion of sigs.k8s.io/yaml.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from decimal import Decimal
from typing import Any, Final

from dray.api.shapes import JSONNumber
from dray.errors import ParseError

__all__ = ["read_key", "read_scalar"]

_CORE: Final = "tag:yaml.org,2002:"
_STR: Final = _CORE + "str"
_BOOL: Final = _CORE + "bool"
_INT: Final = _CORE + "int"
_FLOAT: Final = _CORE + "float"
_NULL: Final = _CORE + "null"
_TIMESTAMP: Final = _CORE + "timestamp"
_BINARY: Final = _CORE + "binary"

# Tags that say how to read the text. Any other tag leaves it a string.
_RESOLVED: Final = frozenset({_STR, _BOOL, _INT, _FLOAT, _NULL, _TIMESTAMP})

_WORDS: Final[dict[str, Any]] = {
    form: value
    for value, words in (
        (True, ("y", "yes", "true", "on")),
        (False, ("n", "no", "false", "off")),
        (None, ("null",)),
    )
    for word in words
    for form in (word, word.capitalize(), word.upper())
} | {"": None, "~": None}

_SPECIAL_FLOATS: Final[dict[str, float]] = {
    sign + form: value
    for value, sign, forms in (
        (math.nan, "", (".nan", ".NaN", ".NAN")),
        (math.inf, "", (".inf", ".Inf", ".INF")),
        (math.inf, "+", (".inf", ".Inf", ".INF")),
        (-math.inf, "-", (".inf", ".Inf", ".INF")),
    )
    for form in forms
}

# The first character tells most strings from everything else.
_MAY_BE_NUMBER: Final = frozenset("+-.0123456789")
_MAY_BE_OTHER: Final = _MAY_BE_NUMBER | {word[:1] for word in _WORDS}

_INTEGER: Final = re.compile(
    r"(?P<sign>[-+]?)"
    r"(?:0[xX](?P<hexadecimal>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)"
    r"|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]*))"
)
_BASES: Final = {"hexadecimal": 16, "binary": 2, "octal": 8, "decimal": 10}
_DECIMAL_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# Here underscores may only stand between digits; elsewhere they may stand anywhere.
_POINT_FIRST: Final = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?", re.DOTALL)

# No number worth reading is longer; int() and float() stay linear.
_NUMBER_CHARACTERS_MAX: Final = 400

_INT64_MIN: Final = -(2**63)
_UINT64_MAX: Final = 2**64 - 1


def read_scalar(text: str, tag: str | None, *, plain: bool) -> Any:
    """The JSON value of a scalar: None, bool, int, JSONNumber or str. Raises ParseError.

    `plain` is whether the text stood without quotes and without a tag of its own.
    """
    if tag is None and (not plain or text[:1] not in _MAY_BE_OTHER):
        return text
    value = _resolve(text, tag)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ParseError(text, "JSON has no such number")
        return _json_number(value)
    return value


def read_key(text: str, tag: str | None, *, plain: bool) -> str:
    """The member name a scalar gives as a mapping's key. Raises ParseError.

    `on:` names the member "true" and `1:` the member "1", as in kubectl.
    """
    if tag is None and (not plain or text[:1] not in _MAY_BE_OTHER):
        return text
    value = _resolve(text, tag)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value < 2**63:
        return str(value)
    if isinstance(value, float):
        return _key_of_float(value)
    raise ParseError(text, "must be a string as a key: put it in quotes")


def _resolve(text: str, tag: str | None) -> Any:
    if tag is None:
        return _resolve_plain(text)
    if tag == _BINARY:
        return _read_binary(text)
    if tag not in _RESOLVED or tag == _STR:
        return text
    value = _resolve_plain(text)
    if tag == _FLOAT and type(value) is int and value < 2**63:
        return float(value)
    if tag == _tag_of(value, text):
        return value
    raise ParseError(text, f"is not a !!{tag.removeprefix(_CORE)}")


def _resolve_plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_BE_NUMBER or len(text) > _NUMBER_CHARACTERS_MAX:
        return text
    if text in _SPECIAL_FLOATS:
        return _SPECIAL_FLOATS[text]
    if text[0] == ".":
        return _read_float(text.replace("_", "")) if _POINT_FIRST.fullmatch(text) else text
    return _read_number(text)


def _read_number(text: str) -> Any:
    digits = text.replace("_", "")
    match = _INTEGER.fullmatch(digits)
    if match is not None:
        kind = str(match.lastgroup)
        value = int(match["sign"] + match[kind], _BASES[kind])
        # Unsigned numbers go further, but have no room for a sign.
        if _INT64_MIN <= value < 2**63 or (not match["sign"] and value <= _UINT64_MAX):
            return value
    number = _read_float(digits)
    return text if isinstance(number, str) else number


def _read_float(text: str) -> Any:
    if _DECIMAL_FLOAT.fullmatch(text):
        value = float(text)
        # What overflows is no number to the library either.
        if math.isfinite(value):
            return value
    return text


def _read_binary(text: str) -> str:
    try:
        return base64.b64decode(text.replace("\n", ""), validate=True).decode("utf-8")
    except ValueError as error:
        raise ParseError(text, "is not text in base64, as !!binary must be here") from error


def _tag_of(value: Any, text: str) -> str:
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return _BOOL
    if isinstance(value, int):
        return _INT
    if isinstance(value, float):
        return _FLOAT
    return _TIMESTAMP if _TIME.fullmatch(text) else _STR


# Floats as Go writes them -----------------------------------------------------------------------


def _json_number(value: float) -> int | JSONNumber:
    """The number Go's JSON encoder writes: the shortest digits, an exponent only far out."""
    if value == 0:
        return 0
    size = abs(value)
    if 1e-6 <= size < 1e21:
        text = format(Decimal(repr(value)), "f")
        text = text.removesuffix(".0")
    else:
        text = _with_exponent(repr(value), exponent_digits=1)
    return int(text) if text.lstrip("-").isdigit() else JSONNumber(text)


# Half way from the largest single-precision number to the next one there would be.
_SINGLE_OVERFLOW: Final = 2.0**128 - 2.0**103


def _key_of_float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if abs(value) >= _SINGLE_OVERFLOW:
        return ".inf" if value > 0 else "-.inf"
    digits = _shortest_single(value)
    sign, figures, exponent = Decimal(digits).as_tuple()
    assert isinstance(exponent, int)
    scale = len(figures) + exponent - 1
    if value == 0:
        return "-0" if sign else "0"
    if not -4 <= scale < 6:
        return _with_exponent(digits, exponent_digits=2)
    return format(Decimal(digits), "f")


def _shortest_single(value: float) -> str:
    """The shortest decimal digits that give the same single-precision number."""
    single = struct.unpack("<f", struct.pack("<f", value))[0]
    for precision in range(9):
        text = f"{single:.{precision}e}"
        if struct.unpack("<f", struct.pack("<f", float(text)))[0] == single:
            return text
    return repr(single)


def _with_exponent(digits: str, *, exponent_digits: int) -> str:
    sign, figures, exponent = Decimal(digits).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, figures))
    scale = len(text) + exponent - 1
    mantissa = text[0] + (f".{text[1:]}" if len(text) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{scale:+0{exponent_digits + 1}d}"
