"""Values that are messages in protobuf and something else in JSON: quantities, times, raw JSON.

A reader gets the buffer and the message's bounds and returns the JSON value; a writer returns the
message of a JSON value. Upstream counterparts: the hand-written marshalling of resource.Quantity,
metav1.Time, intstr.IntOrString, runtime.RawExtension.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import msgspec

from dray.api.schema import Primitive
from dray.api.wire import MicroTime, Time
from dray.errors import ParseError
from dray.server.protobuf.wire import (
    BYTES,
    VARINT,
    Malformed,
    put_varint,
    read_varint,
    to_int32,
    to_int64,
    walk,
)

__all__ = ["READERS", "WRITERS", "Reader", "Writer", "read_raw", "read_text", "write_raw"]

Reader = Callable[[bytes, int, int], Any]
Writer = Callable[[Any], bytes]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# Go's zero time, year 1: it stands for a time that is not there.
_ZERO_TIME_SECONDS: Final = -62_135_596_800

_INTEGER, _STRING = 0, 1


def read_text(buffer: bytes, position: int, end: int) -> str:
    try:
        return str(buffer[position:end], "utf-8")
    except UnicodeDecodeError as error:
        raise Malformed("a text is not UTF-8") from error


def _read_quantity(buffer: bytes, position: int, end: int) -> str:
    # Nearly always there is one short text and nothing else.
    if (
        end - position >= 2
        and buffer[position] == 0x0A
        and position + 2 + buffer[position + 1] == end
    ):
        return read_text(buffer, position + 2, end)
    text = "0"
    for number, wire_type, start, after in walk(buffer, position, end):
        if number == 1:
            _expect(wire_type, BYTES)
            text = read_text(buffer, start, after)
    return text


def _read_int_or_string(buffer: bytes, position: int, end: int) -> int | str:
    kind, integer, text = _INTEGER, 0, ""
    for number, wire_type, start, after in walk(buffer, position, end):
        if number == 1:
            _expect(wire_type, VARINT)
            kind = read_varint(buffer, start)[0]
        elif number == 2:
            _expect(wire_type, VARINT)
            integer = to_int32(read_varint(buffer, start)[0])
        elif number == 3:
            _expect(wire_type, BYTES)
            text = read_text(buffer, start, after)
    if kind == _INTEGER:
        return integer
    if kind == _STRING:
        return text
    raise Malformed(f"must be an integer (0) or a string (1), not of type {kind}")


def _read_instant(buffer: bytes, position: int, end: int) -> tuple[int, int]:
    seconds = nanoseconds = 0
    for number, wire_type, start, _ in walk(buffer, position, end):
        if number == 1:
            _expect(wire_type, VARINT)
            seconds = to_int64(read_varint(buffer, start)[0])
        elif number == 2:
            _expect(wire_type, VARINT)
            nanoseconds = to_int32(read_varint(buffer, start)[0])
    return seconds, nanoseconds


def _read_time(buffer: bytes, position: int, end: int) -> str | None:
    if position == end:
        return None
    seconds, _ = _read_instant(buffer, position, end)
    return None if seconds == _ZERO_TIME_SECONDS else _write_seconds(seconds) + "Z"


def _read_micro_time(buffer: bytes, position: int, end: int) -> str | None:
    if position == end:
        return None
    seconds, nanoseconds = _read_instant(buffer, position, end)
    # Towards zero, as Go divides.
    microseconds = abs(nanoseconds) // 1000 * (-1 if nanoseconds < 0 else 1)
    seconds, microseconds = seconds + microseconds // 1_000_000, microseconds % 1_000_000
    if seconds == _ZERO_TIME_SECONDS and microseconds == 0:
        return None
    return f"{_write_seconds(seconds)}.{microseconds:06}Z"


# Objects repeat their times, and clients send objects back; only valid times are kept.
@lru_cache(maxsize=4096)
def _write_seconds(seconds: int) -> str:
    try:
        return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]
    except OverflowError as error:
        raise Malformed(f"{seconds} seconds since 1970 are not in the years 1 to 9999") from error


def read_raw(buffer: bytes, position: int, end: int) -> Any:
    """The JSON in a message whose field 1 it is; null if it is absent or empty."""
    raw = b""
    for number, wire_type, start, after in walk(buffer, position, end):
        if number == 1:
            _expect(wire_type, BYTES)
            raw = buffer[start:after]
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Malformed(f"holds what is not JSON: {error}") from error


def _expect(wire_type: int, expected: int) -> None:
    if wire_type != expected:
        raise Malformed(f"has wire type {wire_type}, not {expected}")


READERS: Final[Mapping[Primitive, Reader]] = {
    Primitive.QUANTITY: _read_quantity,
    Primitive.INT_OR_STRING: _read_int_or_string,
    Primitive.TIME: _read_time,
    Primitive.MICRO_TIME: _read_micro_time,
}


# And back --------------------------------------------------------------------------------------


def _write_quantity(value: Any) -> bytes:
    return _text_field(0x0A, str(value))


def _write_int_or_string(value: Any) -> bytes:
    out = bytearray(b"\x08\x00\x10")
    if isinstance(value, str):
        out[1] = _STRING
        return bytes(out) + b"\x00" + _text_field(0x1A, value)
    put_varint(out, int(value))
    return bytes(out) + b"\x1a\x00"


def _write_time(value: Any) -> bytes:
    return b"" if value is None else _write_instant(Time, value)


def _write_micro_time(value: Any) -> bytes:
    return b"" if value is None else _write_instant(MicroTime, value)


def _write_instant(kind: type[Time], text: Any) -> bytes:
    try:
        since = kind.parse(str(text)).instant - _EPOCH
    except ParseError as error:
        raise Malformed(str(error)) from error
    out = bytearray(b"\x08")
    put_varint(out, since.days * 86_400 + since.seconds)
    out += b"\x10"
    put_varint(out, since.microseconds * 1000)
    return bytes(out)


def write_raw(value: Any) -> bytes:
    return b"" if value is None else _bytes_field(0x0A, msgspec.json.encode(value))


def _text_field(tag: int, text: str) -> bytes:
    return _bytes_field(tag, text.encode())


def _bytes_field(tag: int, data: bytes) -> bytes:
    out = bytearray((tag,))
    put_varint(out, len(data))
    return bytes(out) + data


WRITERS: Final[Mapping[Primitive, Writer]] = {
    Primitive.QUANTITY: _write_quantity,
    Primitive.INT_OR_STRING: _write_int_or_string,
    Primitive.TIME: _write_time,
    Primitive.MICRO_TIME: _write_micro_time,
}
