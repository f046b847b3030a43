"""Conversions between types: `int("5")`, `string(1.5)`, `timestamp("…")`, `type(x)`, `dyn(x)`.

Upstream counterparts: ConvertToType of the types in cel-go common/types, Go's strconv and time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final, TypeAlias

from dray.cel import _types as types
from dray.cel._failures import Failure
from dray.cel._library.table import FunctionTable
from dray.cel._types import Type
from dray.cel._values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, UInt, Value, type_of

__all__ = ["FUNCTIONS", "convert", "is_conversion"]

_SECONDS_MIN: Final = -62135596800
_SECONDS_MAX: Final = 253402300799
"""Year 1 to year 9999, in seconds since 1970."""


def is_conversion(function: str) -> bool:
    return function in ("dyn", "type") or function in _CONVERSIONS


def convert(function: str, value: Value) -> Value:
    """What a conversion function makes of a constant."""
    if function == "dyn":
        return value
    source = type_of(value)
    if function == "type":
        return source
    target, conversions = _CONVERSIONS[function]
    conversion = conversions.get(source.name)
    if conversion is None:
        raise Failure(f"no such overload: {function}({source.name})")
    try:
        return conversion(value)
    except _Unconvertible:
        raise Failure(f"type conversion error from '{source.name}' to '{target.name}'") from None


class _Unconvertible(Exception):
    """The value is of a type that converts, but not this one."""


def _same(value: Value) -> Value:
    return value


# Numbers


def _text_to_int(value: Value) -> Value:
    assert isinstance(value, str)
    return _ranged(_whole(value, "[+-]?[0-9]+"), INT_MIN, INT_MAX)


def _text_to_uint(value: Value) -> Value:
    assert isinstance(value, str)
    return UInt(_ranged(_whole(value, "[0-9]+"), 0, UINT_MAX))


def _whole(text: str, pattern: str) -> int:
    if not re.fullmatch(pattern, text, re.ASCII):
        raise _Unconvertible
    sign = -1 if text[0] == "-" else 1
    # Python refuses to convert thousands of digits; no number this long is in range anyway.
    return sign * int(text.lstrip("+-").lstrip("0")[:21] or "0")


def _ranged(number: int, least: int, most: int) -> int:
    if not least <= number <= most:
        raise _Unconvertible
    return number


def _double_to_int(value: Value) -> Value:
    assert isinstance(value, float)
    # The bounds themselves are not exact as doubles, so they are out.
    if math.isnan(value) or not float(INT_MIN) < value < float(INT_MAX):
        raise Failure("integer overflow")
    return int(value)


def _double_to_uint(value: Value) -> Value:
    assert isinstance(value, float)
    if math.isnan(value) or not 0 <= value < float(UINT_MAX):
        raise Failure("unsigned integer overflow")
    return UInt(int(value))


def _uint_to_int(value: Value) -> Value:
    assert isinstance(value, UInt)
    if value > INT_MAX:
        raise Failure("integer overflow")
    return int(value)


def _int_to_uint(value: Value) -> Value:
    assert isinstance(value, int)
    if value < 0:
        raise Failure("unsigned integer overflow")
    return UInt(value)


def _duration_to_int(value: Value) -> Value:
    assert isinstance(value, Duration)
    return value.nanoseconds


def _timestamp_to_int(value: Value) -> Value:
    assert isinstance(value, Timestamp)
    return value.seconds


def _number_to_double(value: Value) -> Value:
    assert isinstance(value, int)
    return float(value)


_DOUBLE: Final = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|[+-]?(?i:inf(?:inity)?)|(?i:nan)"
)
_HEXADECIMAL_DOUBLE: Final = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
)


_SEPARATOR: Final = re.compile(r"(?<=[0-9])_(?=[0-9])")
_HEXADECIMAL_SEPARATOR: Final = re.compile(r"(?<=[0-9a-fA-FxX])_(?=[0-9a-fA-F])")


def _text_to_double(value: Value) -> Value:
    assert isinstance(value, str)
    if "_" in value:
        hexadecimal = value.lstrip("+-")[:2] in ("0x", "0X")
        value = (_HEXADECIMAL_SEPARATOR if hexadecimal else _SEPARATOR).sub("", value)
    try:
        if _HEXADECIMAL_DOUBLE.fullmatch(value):
            number = float.fromhex(value)
        elif _DOUBLE.fullmatch(value):
            number = float(value)
        else:
            raise _Unconvertible
    except OverflowError:
        raise _Unconvertible from None
    if math.isinf(number) and "n" not in value.lower():
        raise _Unconvertible
    return number


# Texts, bytes and truth


def _text_to_bool(value: Value) -> Value:
    if value in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if value in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise _Unconvertible


def _text_to_bytes(value: Value) -> Value:
    assert isinstance(value, str)
    # A text may hold single bytes that are no UTF-8, as surrogate escapes.
    return value.encode("utf-8", "surrogateescape")


def _bytes_to_text(value: Value) -> Value:
    assert isinstance(value, bytes)
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Failure("invalid UTF-8 in bytes, cannot convert to string") from None


def _bool_to_text(value: Value) -> Value:
    return "true" if value else "false"


def _number_to_text(value: Value) -> Value:
    assert isinstance(value, int)
    return str(int(value))


def _double_to_text(value: Value) -> Value:
    """As Go's %g: the shortest digits, with an exponent from a million up."""
    assert isinstance(value, float)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    shown = "".join(map(str, digits))
    power = len(shown) - 1 + exponent
    minus = "-" if sign else ""
    if -4 <= power < 6:
        plain = format(Decimal((0, digits, exponent)), "f")
        return minus + (plain.rstrip("0").rstrip(".") if "." in plain else plain)
    mantissa = shown[0] + (f".{shown[1:]}" if len(shown) > 1 else "")
    return f"{minus}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


# Times

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_TERM: Final = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]+)")


def _text_to_duration(value: Value) -> Value:
    assert isinstance(value, str)
    negative = value.startswith("-")
    rest = value[1:] if value[:1] in ("+", "-") else value
    if rest == "0":
        return Duration(0)
    total = 0
    position = 0
    while position < len(rest):
        term = _TERM.match(rest, position)
        if term is None or not (term[1] or term[3]) or term[4] not in _UNITS:
            raise _Unconvertible
        total += _nanoseconds(term[1], term[3] or "", _UNITS[term[4]])
        if total > 2**63:
            raise _Unconvertible
        position = term.end()
    if not rest or (total == 2**63 and not negative):
        raise _Unconvertible
    return Duration(-total if negative else total)


def _nanoseconds(whole: str, fraction: str, unit: int) -> int:
    if len(whole.lstrip("0")) > 19:
        raise _Unconvertible
    number = int(whole or "0") * unit
    if number > 2**63:
        raise _Unconvertible
    # Beyond eighteen digits a fraction changes nothing that is left after rounding down.
    digits = fraction[:18]
    if digits:
        number += int(float(int(digits)) * (float(unit) / float(10 ** len(digits))))
    return number


_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)


def _text_to_timestamp(value: Value) -> Value:
    assert isinstance(value, str)
    match = _TIMESTAMP.fullmatch(value)
    if match is None:
        raise _Unconvertible
    year, month, day, hour, minute, second = (int(match[index]) for index in range(1, 7))
    offset = 0
    if match[8]:
        hours, minutes = int(match[9]), int(match[10])
        if hours > 24 or minutes > 60:
            raise _Unconvertible
        offset = (hours * 60 + minutes) * 60 * (-1 if match[8] == "-" else 1)
    try:
        # Year 0 exists in the notation, and has as many days as year 4.
        moment = datetime(year or 4, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise _Unconvertible from None
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - offset
    if year == 0 or not _SECONDS_MIN <= seconds <= _SECONDS_MAX:
        raise Failure("timestamp overflow")
    return Timestamp(seconds, int((match[7] or "0")[:9].ljust(9, "0")), offset)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _int_to_timestamp(value: Value) -> Value:
    assert isinstance(value, int)
    if not _SECONDS_MIN <= value <= _SECONDS_MAX:
        raise Failure("timestamp overflow")
    return Timestamp(value, 0)


def _duration_to_text(value: Value) -> Value:
    assert isinstance(value, Duration)
    seconds, rest = divmod(abs(value.nanoseconds), 1_000_000_000)
    number = float(seconds) + float(rest) / 1e9
    plain = format(Decimal(repr(number)), "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return f"{'-' if value.nanoseconds < 0 else ''}{plain}s"


def _timestamp_to_text(value: Value) -> Value:
    assert isinstance(value, Timestamp)
    year, moment = _local(value.seconds + value.offset_seconds)
    fraction = f".{value.nanoseconds:09d}".rstrip("0").rstrip(".")
    return f"{year:04d}-{moment:%m-%dT%H:%M:%S}{fraction}{_zone(value.offset_seconds)}"


def _local(seconds: int) -> tuple[int, datetime]:
    """The year, and a moment that is right but for it: a zone may lead out of Python's years."""
    cycle, rest = divmod(seconds - _SECONDS_MIN, _CYCLE_SECONDS)
    moment = _EPOCH + timedelta(seconds=_SECONDS_MIN + rest)
    return moment.year + cycle * 400, moment


def _zone(offset_seconds: int) -> str:
    if offset_seconds == 0:
        return "Z"
    hours, minutes = divmod(abs(offset_seconds) // 60, 60)
    return f"{'-' if offset_seconds < 0 else '+'}{hours:02d}:{minutes:02d}"


_CYCLE_SECONDS: Final = 146_097 * 24 * 60 * 60
"""Four hundred years, after which the calendar repeats."""


_Conversion: TypeAlias = Callable[[Value], Value]

_CONVERSIONS: Final[dict[str, tuple[Type, dict[str, _Conversion]]]] = {
    "bool": (types.BOOL, {"bool": _same, "string": _text_to_bool}),
    "bytes": (types.BYTES, {"bytes": _same, "string": _text_to_bytes}),
    "double": (
        types.DOUBLE,
        {
            "double": _same,
            "int": _number_to_double,
            "string": _text_to_double,
            "uint": _number_to_double,
        },
    ),
    "duration": (
        types.DURATION,
        {types.DURATION.name: _same, "string": _text_to_duration},
    ),
    "int": (
        types.INT,
        {
            "int": _same,
            "double": _double_to_int,
            types.DURATION.name: _duration_to_int,
            "string": _text_to_int,
            types.TIMESTAMP.name: _timestamp_to_int,
            "uint": _uint_to_int,
        },
    ),
    "string": (
        types.STRING,
        {
            "string": _same,
            "bool": _bool_to_text,
            "bytes": _bytes_to_text,
            "double": _double_to_text,
            types.DURATION.name: _duration_to_text,
            "int": _number_to_text,
            types.TIMESTAMP.name: _timestamp_to_text,
            "uint": _number_to_text,
        },
    ),
    "timestamp": (
        types.TIMESTAMP,
        {
            types.TIMESTAMP.name: _same,
            "int": _int_to_timestamp,
            "string": _text_to_timestamp,
        },
    ),
    "uint": (
        types.UINT,
        {
            "uint": _same,
            "double": _double_to_uint,
            "int": _int_to_uint,
            "string": _text_to_uint,
        },
    ),
}

_SOURCES: Final[dict[str, type]] = {
    "bool": bool,
    "bytes": bytes,
    "double": float,
    types.DURATION.name: Duration,
    "int": int,
    "string": str,
    types.TIMESTAMP.name: Timestamp,
    "uint": UInt,
}

FUNCTIONS: Final[FunctionTable] = {
    "dyn": {object: _same},
    "type": {object: type_of},
    **{
        function: {_SOURCES[source]: partial(convert, function) for source in conversions}
        for function, (_, conversions) in _CONVERSIONS.items()
    },
}
