"""Structs: what is left out, what is kept, what is merged, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.schema import (
    AnyForm,
    Anything,
    Field,
    ListOf,
    MapOf,
    Primitive,
    Scalar,
    StructOf,
)
from dray.api.schemas import schema_of
from dray.errors import InternalError
from dray.server.protobuf.decoding import Plan
from dray.server.protobuf.readers import NESTING_MAX
from dray.server.protobuf.wire import Malformed

TEXT = Scalar(Primitive.STRING)


def struct(*fields: Field) -> StructOf:
    return StructOf("", dict, declare=lambda: fields)


def read(schema: StructOf, message: bytes) -> dict[str, Any]:
    return Plan(schema).read(message, 0, len(message))


def test_fields_that_json_always_has_are_there_when_nothing_came() -> None:
    schema = struct(
        Field("text", TEXT, 1, omit_empty=False),
        Field("amount", Scalar(Primitive.QUANTITY), 2, omit_empty=False),
        Field("list", ListOf(TEXT), 3, omit_empty=False),
        Field("pointer", TEXT, 4, omit_empty=False, pointer=True),
        Field("absent", TEXT, 5),
    )
    assert read(schema, b"") == {"text": "", "amount": "0", "list": None, "pointer": None}


def test_a_pointer_keeps_its_zero() -> None:
    schema = struct(Field("a", TEXT, 1), Field("b", TEXT, 2, pointer=True))
    assert read(schema, b"\x0a\x00\x12\x00") == {"b": ""}


def test_objects_made_for_absent_structs_are_not_shared() -> None:
    inner = StructOf("decoding.Inner", dict, declare=lambda: (Field("a", TEXT, 1),))
    outer = Plan(struct(Field("inner", inner, 1, omit_empty=False)))
    first, second = outer.read(b"", 0, 0), outer.read(b"", 0, 0)
    assert first == {"inner": {}}
    assert first["inner"] is not second["inner"]


def test_a_message_in_pieces_is_put_together() -> None:
    inner = StructOf(
        "decoding.Pieces", dict, declare=lambda: (Field("a", TEXT, 1), Field("b", TEXT, 2))
    )
    schema = struct(Field("inner", inner, 1, pointer=True))
    pieces = b"\x0a\x03\x0a\x01x\x0a\x03\x12\x01y"
    assert read(schema, pieces) == {"inner": {"a": "x", "b": "y"}}


def test_an_embedded_struct_fills_its_owner() -> None:
    inner = StructOf(
        "decoding.Embedded",
        dict,
        declare=lambda: (Field("a", TEXT, 1), Field("kept", TEXT, 2, omit_empty=False)),
    )
    schema = struct(Field("name", TEXT, 1), Field("", inner, 2, inline=True))
    assert read(schema, b"") == {"kept": ""}
    assert read(schema, b"\x0a\x01n\x12\x03\x0a\x01x") == {"name": "n", "a": "x", "kept": ""}


def test_only_structs_are_embedded() -> None:
    with pytest.raises(InternalError, match="embeds"):
        read(struct(Field("", TEXT, 1, inline=True)), b"")


def test_fields_nobody_knows_are_skipped() -> None:
    schema = struct(Field("a", TEXT, 1))
    assert read(schema, b"\x9a\x06\x01z\x0a\x01x\x28\x07") == {"a": "x"}


def test_lists_and_maps_hold_anything_protobuf_can() -> None:
    schema = struct(
        Field("numbers", ListOf(Scalar(Primitive.INT32)), 1),
        Field("counts", MapOf(Scalar(Primitive.INT64)), 2),
        Field("raw", ListOf(Anything(AnyForm.JSON)), 3),
        Field("data", MapOf(Scalar(Primitive.BYTES)), 4),
        Field("verbs", ListOf(TEXT, message=True), 5),
        Field("extra", MapOf(ListOf(TEXT, message=True)), 6),
    )
    message = (
        b"\x08\x01\x0a\x01\x02"
        b"\x12\x05\x0a\x01k\x10\x05"
        b"\x1a\x04\x0a\x02[]"
        b"\x22\x06\x0a\x01k\x12\x01\xff"
        b"\x2a\x03\x0a\x01v"
        b"\x32\x08\x0a\x01k\x12\x03\x0a\x01e"
    )
    assert read(schema, message) == {
        "numbers": [1, 2],
        "counts": {"k": 5},
        "raw": [[]],
        "data": {"k": "/w=="},
        "verbs": ["v"],
        "extra": {"k": ["e"]},
    }


def test_a_list_of_lists_has_no_protobuf() -> None:
    with pytest.raises(InternalError, match="list or map of"):
        read(struct(Field("a", ListOf(ListOf(TEXT)), 1)), b"")


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (b"\x08\x01", "must not have wire type 0"),
        (b"\x02\x00", "no field 0"),
        (b"\x0a\x05x", "beyond the end"),
        (b"\x14", "no wire type 4"),
    ],
)
def test_a_malformed_message_is_refused(message: bytes, rule: str) -> None:
    with pytest.raises(Malformed, match=rule):
        read(struct(Field("a", TEXT, 1)), message)


def json_schema() -> StructOf:
    crd = schema_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    place: Any = crd
    for name in ("spec", "versions", "schema", "openAPIV3Schema"):
        place = place.fields[name].schema
        place = place.items if isinstance(place, ListOf) else place
    assert isinstance(place, StructOf)
    return place


def nested(depth: int) -> bytes:
    """A JSON schema that is the `not` of a JSON schema, and so on."""
    number = json_schema().fields["not"].number << 3 | 2
    tag = bytes([number & 0x7F | 0x80, number >> 7])
    message = b""
    for _ in range(depth):
        size = len(message)
        length = bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])
        message = tag + length + message
    return message


def test_schemas_within_schemas_are_read_so_deep_and_no_deeper() -> None:
    assert read(json_schema(), nested(NESTING_MAX - 1))["not"]
    with pytest.raises(Malformed, match="nested deeper than 100"):
        read(json_schema(), nested(NESTING_MAX))


@pytest.mark.slow
def test_a_flood_of_empty_messages_is_refused() -> None:
    pods = schema_of("", "v1", "PodList")
    with pytest.raises(Malformed, match="messages"):
        read(pods, b"\x12\x00" * 200_001)
