"""The proto2 wire format: varints, tags, and how to step over what nobody knows.

Readers take the whole buffer and a position and return the new one; they neither copy nor check
against the end of the message they are in, because whoever walks a message sees in the end whether
it was left exactly at its end. Reading past the buffer raises IndexError, which the face turns into
an answer. Upstream counterpart: the code gogo-protobuf generates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

__all__ = [
    "BYTES",
    "FIXED32",
    "FIXED64",
    "VARINT",
    "Malformed",
    "put_varint",
    "read_length",
    "read_varint",
    "skip",
    "to_int32",
    "to_int64",
    "walk",
]

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
_START_GROUP: Final = 3
_END_GROUP: Final = 4
FIXED32: Final = 5

# Ten bytes hold the 64 bits of any number.
_VARINT_BITS_MAX: Final = 63

# Groups are a form nobody writes any more; deeper than this is an attack on the stack.
_GROUP_DEPTH_MAX: Final = 16


class Malformed(ValueError):
    """Bytes that are not the message they should be; gathers the path on its way up."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.path: tuple[str, ...] = ()

    def within(self, name: str) -> Malformed:
        self.path = (name, *self.path)
        return self


def read_varint(buffer: bytes, position: int) -> tuple[int, int]:
    """An unsigned number of up to 64 bits, and where it ends."""
    byte = buffer[position]
    position += 1
    if byte < 0x80:
        return byte, position
    value, shift = byte & 0x7F, 7
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
        if shift > _VARINT_BITS_MAX:
            raise Malformed("a number has more than 64 bits")


def read_length(buffer: bytes, position: int) -> tuple[int, int]:
    """Where a length-delimited value begins and ends."""
    length = buffer[position]
    position += 1
    if length >= 0x80:
        length, position = read_varint(buffer, position - 1)
    end = position + length
    if end > len(buffer):
        raise Malformed(f"a value of {length} bytes does not fit into the body")
    return position, end


def to_int32(value: int) -> int:
    value &= 0xFFFF_FFFF
    return value - 0x1_0000_0000 if value >= 0x8000_0000 else value


def to_int64(value: int) -> int:
    return value - 0x1_0000_0000_0000_0000 if value >= 0x8000_0000_0000_0000 else value


def skip(buffer: bytes, position: int, wire_type: int, depth: int = 0) -> int:
    """Where a value of which only the wire type is known ends."""
    if wire_type == VARINT:
        return read_varint(buffer, position)[1]
    if wire_type == BYTES:
        return read_length(buffer, position)[1]
    if wire_type == FIXED64:
        return position + 8
    if wire_type == FIXED32:
        return position + 4
    if wire_type != _START_GROUP:
        raise Malformed(f"there is no wire type {wire_type} here")
    if depth >= _GROUP_DEPTH_MAX:
        raise Malformed(f"groups are nested deeper than {_GROUP_DEPTH_MAX}")
    while True:
        tag, position = read_varint(buffer, position)
        if tag & 7 == _END_GROUP:
            return position
        position = skip(buffer, position, tag & 7, depth + 1)


def walk(buffer: bytes, position: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields of a small message: number, wire type, and where the value begins and ends.

    The value of a varint is its own: it is read again, which costs less than a second form.
    """
    while position < end:
        tag, position = read_varint(buffer, position)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise Malformed("there is no field 0")
        if wire_type == BYTES:
            position, after = read_length(buffer, position)
        else:
            after = skip(buffer, position, wire_type)
        yield number, wire_type, position, after
        position = after
    if position != end:
        raise Malformed("a field reaches beyond the end of its message")


def put_varint(out: bytearray, value: int) -> None:
    """Append a number; negative ones as the 64 bits of their two's complement."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
