"""Numbers and lengths on the wire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.server.protobuf.wire import (
    BYTES,
    VARINT,
    Malformed,
    put_varint,
    read_length,
    read_varint,
    skip,
    to_int32,
    to_int64,
    walk,
)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_number_survives_the_wire(number: int) -> None:
    out = bytearray(b"x")
    put_varint(out, number)
    value, end = read_varint(bytes(out), 1)
    assert (to_int64(value), end) == (number, len(out))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (2**31 - 1, 2**31 - 1), (2**31, -(2**31)), (2**64 - 1, -1), (2**32, 0)],
)
def test_an_int32_is_the_lowest_32_bits(value: int, expected: int) -> None:
    assert to_int32(value) == expected


def test_a_number_of_more_than_ten_bytes_is_refused() -> None:
    with pytest.raises(Malformed, match="64 bits"):
        read_varint(b"\xff" * 10 + b"\x01", 0)


def test_a_length_beyond_the_buffer_is_refused() -> None:
    assert read_length(b"\x02ab", 0) == (1, 3)
    with pytest.raises(Malformed, match="3 bytes"):
        read_length(b"\x03ab", 0)


@pytest.mark.parametrize(
    ("wire_type", "value"),
    [
        (0, b"\x96\x01"),
        (1, b"12345678"),
        (2, b"\x02ab"),
        (3, b"\x08\x01\x12\x01a\x1b\x08\x02\x1c\x0c"),
        (5, b"1234"),
    ],
    ids=["varint", "fixed64", "bytes", "nested-groups", "fixed32"],
)
def test_what_nobody_knows_is_stepped_over(wire_type: int, value: bytes) -> None:
    assert skip(value + b"rest", 0, wire_type) == len(value)


@pytest.mark.parametrize("wire_type", [4, 6, 7])
def test_wire_types_that_do_not_exist_are_refused(wire_type: int) -> None:
    with pytest.raises(Malformed, match=f"wire type {wire_type}"):
        skip(b"\x00", 0, wire_type)


def test_groups_within_groups_end() -> None:
    with pytest.raises(Malformed, match="nested"):
        skip(b"\x0b" * 1000, 0, 3)


def test_a_walk_tells_where_every_field_lies() -> None:
    assert list(walk(b"x\x08\x05\x12\x01a", 1, 6)) == [(1, VARINT, 2, 3), (2, BYTES, 5, 6)]


def test_a_field_must_end_where_its_message_does() -> None:
    with pytest.raises(Malformed, match="beyond the end"):
        list(walk(b"\x12\x03abc", 0, 4))


def test_a_path_grows_from_the_inside() -> None:
    assert Malformed("wrong").within("containers[0]").within("spec").path == (
        "spec",
        "containers[0]",
    )
