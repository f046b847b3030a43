"""Fields, lists and maps without structs."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.schema import Primitive
from dray.server.protobuf import readers
from dray.server.protobuf.readers import Budget, FieldReader
from dray.server.protobuf.wire import VARINT, Malformed


def read(reader: FieldReader, *values: bytes, into: dict[str, Any] | None = None) -> Any:
    out: dict[str, Any] = {} if into is None else into
    for value in values:
        assert reader(value, 0, out, Budget()) == len(value)
    return out


LONG = b"\xc8\x01" + b"a" * 200


@pytest.mark.parametrize(
    ("reader", "kept_reader", "zero", "json_zero"),
    [
        (
            readers.text_field("x", kept=False),
            readers.text_field("x", kept=True),
            b"\x00",
            "",
        ),
        (
            readers.bytes_field("x", kept=False),
            readers.bytes_field("x", kept=True),
            b"\x00",
            "",
        ),
        (
            readers.number_field("x", Primitive.INT64, kept=False),
            readers.number_field("x", Primitive.INT64, kept=True),
            b"\x00",
            0,
        ),
        (
            readers.number_field("x", Primitive.NUMBER, kept=False),
            readers.number_field("x", Primitive.NUMBER, kept=True),
            bytes(8),
            0,
        ),
        (
            readers.value_field("x", lambda *_: None, kept=False),
            readers.value_field("x", lambda *_: None, kept=True),
            b"\x00",
            None,
        ),
    ],
    ids=["text", "bytes", "number", "double", "time"],
)
def test_a_zero_is_left_out_unless_it_is_kept(
    reader: FieldReader, kept_reader: FieldReader, zero: bytes, json_zero: Any
) -> None:
    assert read(reader, zero) == {}
    assert read(reader, zero, into={"x": "before"}) == {}
    assert read(kept_reader, zero) == {"x": json_zero}


def test_texts_of_any_length_are_read() -> None:
    reader = readers.text_field("x", kept=False)
    assert read(reader, b"\x02hi") == {"x": "hi"}
    assert read(reader, LONG) == {"x": "a" * 200}


def test_bytes_are_base64_in_json() -> None:
    assert read(readers.bytes_field("x", kept=False), b"\x02\x00\xff") == {"x": "AP8="}


@pytest.mark.parametrize(
    ("primitive", "value", "expected"),
    [
        (Primitive.BOOLEAN, b"\x02", True),
        (Primitive.INT32, b"\xff\xff\xff\xff\x0f", -1),
        (Primitive.INT64, b"\xff\xff\xff\xff\x0f", 2**32 - 1),
        (Primitive.NUMBER, bytes.fromhex("000000000000f83f"), 1.5),
    ],
)
def test_numbers_have_their_types(primitive: Primitive, value: bytes, expected: Any) -> None:
    assert read(readers.number_field("x", primitive, kept=False), value) == {"x": expected}


def test_a_double_without_a_fraction_is_an_integer_in_json() -> None:
    out = read(
        readers.number_field("x", Primitive.NUMBER, kept=False), bytes.fromhex("0000000000000040")
    )
    assert type(out["x"]) is int


@pytest.mark.parametrize("value", ["000000000000f07f", "000000000000f87f", "0000"])
def test_what_is_no_number_is_refused(value: str) -> None:
    with pytest.raises(Malformed):
        read(readers.number_field("x", Primitive.NUMBER, kept=False), bytes.fromhex(value))


def test_lists_of_numbers_come_one_by_one_or_packed() -> None:
    single = readers.numbers_field("x", Primitive.INT64, packed=False)
    packed = readers.numbers_field("x", Primitive.INT64, packed=True)
    assert read(single, b"\x01", b"\x80\x01") == {"x": [1, 128]}
    assert read(packed, b"\x03\x01\x80\x01") == {"x": [1, 128]}
    assert read(packed, b"\x00") == {}


def test_lists_gather_their_items() -> None:
    assert read(readers.list_field("x", readers.text_item), b"\x01a", b"\x00") == {"x": ["a", ""]}


ENTRY = b"\x0a\x01k\x12\x01v"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (ENTRY, {"k": "v"}),
        (b"\x12\x01v\x0a\x01k", {"k": "v"}),
        (ENTRY + b"\x18\x05", {"k": "v"}),
        (b"\x0a\x01k", {"k": ""}),
        (b"\x12\x01v", {"": "v"}),
        (b"", {"": ""}),
        (b"\x0a\x00\x12\x00", {"": ""}),
        (b"\x0a\x01k\x12\x01w" + ENTRY[3:], {"k": "v"}),
    ],
    ids=[
        "usual",
        "value-first",
        "unknown-field",
        "no-value",
        "no-key",
        "empty",
        "zeros",
        "last-wins",
    ],
)
def test_an_entry_may_be_written_in_many_ways(entry: bytes, expected: dict[str, str]) -> None:
    reader = readers.map_field("x", readers.text_item)
    assert read(reader, bytes([len(entry)]) + entry) == {"x": expected}


def test_long_keys_and_values_are_read() -> None:
    entry = b"\x0a" + LONG + b"\x12" + LONG
    length = bytes([len(entry) & 0x7F | 0x80, len(entry) >> 7])
    reader = readers.map_field("x", readers.text_item)
    assert read(reader, length + entry) == {"x": {"a" * 200: "a" * 200}}


def test_maps_hold_numbers_as_well() -> None:
    reader = readers.map_field("x", readers.number_item(Primitive.INT32), VARINT)
    assert read(reader, b"\x05\x0a\x01k\x10\x07", b"\x03\x0a\x01z") == {"x": {"k": 7, "z": 0}}


@pytest.mark.parametrize(
    "entry", [b"\x08\x01", b"\x0a\x01k\x10\x07", b"\x0a\x01\xff\x12\x01v", b"\x0a\x09k"]
)
def test_a_malformed_entry_is_refused(entry: bytes) -> None:
    with pytest.raises(Malformed) as caught:
        read(readers.map_field("x", readers.text_item), bytes([len(entry)]) + entry)
    assert caught.value.path[0].startswith("x")


def test_a_list_in_a_map_is_a_message() -> None:
    reader = readers.map_field("x", readers.wrapped_item(readers.text_item))
    assert read(reader, b"\x0b\x0a\x01k\x12\x06\x0a\x01a\x0a\x01b") == {"x": {"k": ["a", "b"]}}
    assert read(reader, b"\x03\x0a\x01k") == {"x": {"k": []}}


def test_entries_use_up_the_budget() -> None:
    budget = Budget()
    budget.messages = 1
    reader = readers.map_field("x", readers.text_item)
    reader(b"\x00", 0, {}, budget)
    with pytest.raises(Malformed, match="200000 messages"):
        reader(b"\x00", 0, {}, budget)


def test_an_item_says_where_it_is_wrong() -> None:
    with pytest.raises(Malformed) as caught:
        read(readers.list_field("x", readers.text_item), b"\x01a", b"\x01\xff")
    assert caught.value.path == ("x[1]",)
    with pytest.raises(Malformed) as caught:
        read(readers.item_field("y", readers.text_item), b"\x01\xff")
    assert caught.value.path == ("y",)


def test_plain_and_bytes_items_are_values() -> None:
    budget = Budget()
    assert readers.plain_item(lambda *_: "value")(b"", 0, 0, budget) == "value"
    assert readers.bytes_item(b"\x00\xff", 0, 2, budget) == "AP8="
