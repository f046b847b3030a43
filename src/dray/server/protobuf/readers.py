"""Readers of fields, lists and maps that know nothing of structs.

A field's reader takes the buffer, the position behind the tag, the object to fill and what is left
of the body's budget, and returns the position behind the value. An item's reader takes the bounds
of a value in a list or map and returns the value. Closures over positions in one buffer, because a
call and a copy for every byte are what makes Python slow.

A field that is not `kept` is absent from JSON while it is zero, even if a zero comes after another
value: the last one counts.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Callable
from math import isfinite
from typing import Any, Final

from dray.api.schema import Primitive
from dray.server.protobuf.values import Reader, read_text
from dray.server.protobuf.wire import (
    BYTES,
    FIXED64,
    VARINT,
    Malformed,
    read_length,
    read_varint,
    skip,
    to_int32,
    to_int64,
    walk,
)

__all__ = [
    "MESSAGES_MAX",
    "NESTING_MAX",
    "NUMBERS",
    "Budget",
    "FieldReader",
    "ItemReader",
    "bytes_field",
    "bytes_item",
    "item_field",
    "list_field",
    "map_field",
    "number_field",
    "number_item",
    "numbers_field",
    "plain_item",
    "text_field",
    "text_item",
    "value_field",
    "wrapped_item",
]

# JSON schemas nest without end; the same bound as protobuf's own libraries have.
NESTING_MAX: Final = 100

# An empty message takes two bytes and becomes an object of hundreds: without a bound, a body of
# three megabytes could take half a gigabyte. Real objects of that size have far fewer.
MESSAGES_MAX: Final = 200_000


class Budget:
    """What a body may still take: messages, and how deep they are at the moment."""

    __slots__ = ("depth", "messages")

    def __init__(self) -> None:
        self.messages = MESSAGES_MAX
        self.depth = 0

    def refuse(self) -> Malformed:
        if self.messages < 0:
            return Malformed(f"the body has more than {MESSAGES_MAX} messages")
        return Malformed(f"messages are nested deeper than {NESTING_MAX}")


FieldReader = Callable[[bytes, int, dict[str, Any], Budget], int]
ItemReader = Callable[[bytes, int, int, Budget], Any]

_DOUBLE: Final = struct.Struct("<d")

# Wire type of the numbers, and what makes a JSON value of the unsigned number.
NUMBERS: Final[dict[Primitive, tuple[int, Callable[[int], Any]]]] = {
    Primitive.BOOLEAN: (VARINT, bool),
    Primitive.INT32: (VARINT, to_int32),
    Primitive.INT64: (VARINT, to_int64),
    Primitive.NUMBER: (FIXED64, int),
}


def text_field(name: str, *, kept: bool) -> FieldReader:
    def read(buffer: bytes, position: int, out: dict[str, Any], _: Budget) -> int:
        length = buffer[position]
        position += 1
        if length:
            if length >= 0x80:
                position, end = read_length(buffer, position - 1)
            else:
                end = position + length
            try:
                out[name] = str(buffer[position:end], "utf-8")
            except UnicodeDecodeError as error:
                raise Malformed("a text is not UTF-8").within(name) from error
            return end
        if kept:
            out[name] = ""
        elif name in out:
            del out[name]
        return position

    return read


def bytes_field(name: str, *, kept: bool) -> FieldReader:
    def read(buffer: bytes, position: int, out: dict[str, Any], _: Budget) -> int:
        position, end = read_length(buffer, position)
        if kept or position < end:
            out[name] = b64encode(buffer[position:end]).decode()
        else:
            out.pop(name, None)
        return end

    return read


def number_field(name: str, primitive: Primitive, *, kept: bool) -> FieldReader:
    wire_type, convert = NUMBERS[primitive]

    def read(buffer: bytes, position: int, out: dict[str, Any], _: Budget) -> int:
        value = buffer[position]
        if value < 0x80:
            position += 1
        else:
            value, position = read_varint(buffer, position)
        if value or kept:
            out[name] = convert(value)
        elif name in out:
            del out[name]
        return position

    def read_double(buffer: bytes, position: int, out: dict[str, Any], _: Budget) -> int:
        value = _double(buffer, position)
        if value or kept:
            out[name] = value
        else:
            out.pop(name, None)
        return position + 8

    return read if wire_type == VARINT else read_double


def value_field(name: str, value_of: Reader, *, kept: bool) -> FieldReader:
    """A scalar that is a message; null is its zero, if it has one."""

    def read(buffer: bytes, position: int, out: dict[str, Any], _: Budget) -> int:
        position, end = read_length(buffer, position)
        try:
            value = value_of(buffer, position, end)
        except Malformed as error:
            raise error.within(name) from None
        if value is not None or kept:
            out[name] = value
        else:
            out.pop(name, None)
        return end

    return read


def item_field(name: str, item: ItemReader) -> FieldReader:
    """A field that is read as if it were an item of a list."""

    def read(buffer: bytes, position: int, out: dict[str, Any], budget: Budget) -> int:
        position, end = read_length(buffer, position)
        try:
            out[name] = item(buffer, position, end, budget)
        except Malformed as error:
            raise error.within(name) from None
        return end

    return read


def list_field(name: str, item: ItemReader) -> FieldReader:
    def read(buffer: bytes, position: int, out: dict[str, Any], budget: Budget) -> int:
        position, end = read_length(buffer, position)
        items = out.get(name)
        if items is None:
            items = out[name] = []
        try:
            items.append(item(buffer, position, end, budget))
        except Malformed as error:
            raise error.within(f"{name}[{len(items)}]") from None
        return end

    return read


def numbers_field(name: str, primitive: Primitive, *, packed: bool) -> FieldReader:
    """A list of numbers: one at a time, or packed into one value."""
    wire_type, convert = NUMBERS[primitive]

    def read(buffer: bytes, position: int, out: dict[str, Any], _: Budget) -> int:
        end = position + 1
        if packed:
            position, end = read_length(buffer, position)
        items = out.get(name) or []
        while position < end:
            if wire_type == VARINT:
                value, position = read_varint(buffer, position)
                items.append(convert(value))
            else:
                items.append(_double(buffer, position))
                position += 8
        if items:
            out[name] = items
        return position

    return read


def map_field(name: str, item: ItemReader, wire_type: int = BYTES) -> FieldReader:
    """A map by text: every entry is a message of its key and its value."""

    def read(buffer: bytes, position: int, out: dict[str, Any], budget: Budget) -> int:
        position, end = read_length(buffer, position)
        budget.messages -= 1
        if budget.messages < 0:
            raise budget.refuse().within(name)
        entries = out.get(name)
        if entries is None:
            entries = out[name] = {}
        key = ""
        try:
            # Nearly all entries are a short key and a short value, in this order: where the
            # whole takes one byte to measure, its parts do as well.
            short = 3 < end - position < 0x80
            key_end = position + 2 + buffer[position + 1] if short else end
            start = key_end + 2
            if (
                start <= end
                and buffer[position] == 0x0A
                and buffer[key_end] == 0x12
                and start + buffer[key_end + 1] == end
            ):
                key, after = str(buffer[position + 2 : key_end], "utf-8"), end
            else:
                key, start, after = _read_entry(buffer, position, end, wire_type)
            entries[key] = item(buffer, start, after, budget)
        except Malformed as error:
            raise error.within(f"{name}[{key}]") from None
        except UnicodeDecodeError as error:
            raise Malformed("a key is not UTF-8").within(name) from error
        return end

    return read


def _read_entry(buffer: bytes, position: int, end: int, wire_type: int) -> tuple[str, int, int]:
    """An entry's key, and where its value begins and ends: nowhere if it has the zero value."""
    key, start, after = "", end, end
    for number, found, first, last in walk(buffer, position, end):
        if number not in (1, 2):
            continue
        if found != (BYTES if number == 1 else wire_type):
            raise Malformed(f"an entry must not have wire type {found}")
        if number == 1:
            key = read_text(buffer, first, last)
        else:
            start, after = first, last
    return key, start, after


# Items of lists and maps -----------------------------------------------------------------------


def text_item(buffer: bytes, position: int, end: int, _: Budget) -> str:
    return read_text(buffer, position, end)


def bytes_item(buffer: bytes, position: int, end: int, _: Budget) -> str:
    return b64encode(buffer[position:end]).decode()


def plain_item(value_of: Reader) -> ItemReader:
    return lambda buffer, position, end, _: value_of(buffer, position, end)


def number_item(primitive: Primitive) -> ItemReader:
    wire_type, convert = NUMBERS[primitive]

    def read(buffer: bytes, position: int, end: int, _: Budget) -> Any:
        if position == end:
            return convert(0)
        if wire_type == FIXED64:
            return _double(buffer, position)
        return convert(read_varint(buffer, position)[0])

    return read


def wrapped_item(item: ItemReader) -> ItemReader:
    """A list in a message of its own."""
    gather = list_field("items", item)

    def read(buffer: bytes, position: int, end: int, budget: Budget) -> Any:
        out: dict[str, Any] = {}
        while position < end:
            tag, position = read_varint(buffer, position)
            if tag == 0x0A:
                position = gather(buffer, position, out, budget)
            else:
                position = skip(buffer, position, tag & 7)
        if position != end:
            raise Malformed("a list reaches beyond its end")
        return out.get("items", [])

    return read


def _double(buffer: bytes, position: int) -> int | float:
    try:
        value: float = _DOUBLE.unpack_from(buffer, position)[0]
    except struct.error as error:
        raise Malformed("a number is cut off") from error
    if not isfinite(value):
        raise Malformed(f"{value} is no number that JSON has")
    # JSON written by Go has no fraction where there is none.
    return int(value) if value.is_integer() and abs(value) < 1e21 else value
