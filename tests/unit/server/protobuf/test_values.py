"""Values that are messages on the wire and something else in JSON."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.schema import Primitive
from dray.server.protobuf.values import READERS, WRITERS, read_raw, read_text, write_raw
from dray.server.protobuf.wire import Malformed


@pytest.mark.parametrize(
    ("primitive", "value", "message"),
    [
        (Primitive.QUANTITY, "1500m", b"\x0a\x051500m"),
        (Primitive.INT_OR_STRING, -1, b"\x08\x00\x10" + b"\xff" * 9 + b"\x01\x1a\x00"),
        (Primitive.INT_OR_STRING, "25%", b"\x08\x01\x10\x00\x1a\x0325%"),
        (Primitive.TIME, "1970-01-01T00:00:01Z", b"\x08\x01\x10\x00"),
        (Primitive.TIME, None, b""),
        (Primitive.MICRO_TIME, "1970-01-01T00:00:01.000002Z", b"\x08\x01\x10\xd0\x0f"),
        (Primitive.MICRO_TIME, None, b""),
    ],
)
def test_a_value_and_its_message_are_the_same(
    primitive: Primitive, value: Any, message: bytes
) -> None:
    assert READERS[primitive](message, 0, len(message)) == value
    assert WRITERS[primitive](value) == message


def read(primitive: Primitive, message: bytes) -> Any:
    return READERS[primitive](message, 0, len(message))


def test_a_quantity_without_a_text_is_zero() -> None:
    assert read(Primitive.QUANTITY, b"") == "0"


def test_a_quantity_may_be_longer_and_have_fields_nobody_knows() -> None:
    text = b"1" * 200
    assert read(Primitive.QUANTITY, b"\x10\x01\x0a\xc8\x01" + text) == text.decode()


def test_an_integer_or_string_is_nothing_else() -> None:
    with pytest.raises(Malformed, match="type 2"):
        read(Primitive.INT_OR_STRING, b"\x08\x02")


def test_a_time_is_cut_to_seconds_and_a_micro_time_to_microseconds() -> None:
    message = b"\x08\x01\x10\xff\x93\xeb\xdc\x03"  # 999999999 nanoseconds
    assert read(Primitive.TIME, message) == "1970-01-01T00:00:01Z"
    assert read(Primitive.MICRO_TIME, message) == "1970-01-01T00:00:01.999999Z"


def test_the_first_second_of_the_year_one_is_no_time() -> None:
    message = b"\x08\x80\x92\xb8\xc3\x98\xfe\xff\xff\xff\x01"
    assert read(Primitive.TIME, message) is None
    assert read(Primitive.MICRO_TIME, message) is None


def test_a_time_outside_the_calendar_is_refused() -> None:
    with pytest.raises(Malformed, match="years 1 to 9999"):
        read(Primitive.TIME, b"\x08" + b"\xff" * 8 + b"\x7f")


def test_a_field_of_another_wire_type_is_refused() -> None:
    with pytest.raises(Malformed, match="wire type 2"):
        read(Primitive.TIME, b"\x0a\x00")


def test_raw_json_is_parsed() -> None:
    assert read_raw(b'\x0a\x07{"a":1}', 0, 9) == {"a": 1}
    assert read_raw(b"", 0, 0) is None
    assert read_raw(write_raw([None, 1.5]), 0, 12) == [None, 1.5]
    assert write_raw(None) == b""


@pytest.mark.parametrize("text", [b"{", b"k8s\0", b"[" * 5000, b'"\xff"'])
def test_raw_bytes_that_are_not_json_are_refused(text: bytes) -> None:
    message = b"\x0a" + bytes([len(text) & 0x7F | 0x80, len(text) >> 7]) + text
    with pytest.raises(Malformed, match="not JSON"):
        read_raw(message, 0, len(message))


def test_a_text_must_be_utf_8() -> None:
    assert read_text("xü".encode(), 1, 3) == "ü"
    with pytest.raises(Malformed, match="UTF-8"):
        read_text(b"\xff", 0, 1)


def test_a_time_that_is_none_is_not_written() -> None:
    with pytest.raises(Malformed, match="RFC 3339"):
        WRITERS[Primitive.TIME]("yesterday")
