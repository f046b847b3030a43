"""The version 2 document in protobuf; a whole one is compared in tests/conformance/openapi."""

from __future__ import annotations

from typing import Any

import pytest

from dray.errors import InternalError
from dray.server.openapi.gnostic import to_protobuf


def test_members_are_written_in_the_order_of_their_numbers() -> None:
    document = {"info": {"version": "v1", "title": "t"}, "swagger": "2.0"}
    assert to_protobuf(document) == b"\x0a\x032.0\x12\x07\x0a\x01t\x12\x02v1"


def test_extensions_travel_as_json_by_name() -> None:
    document = {"definitions": {"A": {"type": "object", "x-kubernetes-map-type": "atomic"}}}
    written = to_protobuf(document)
    assert b'x-kubernetes-map-type\x12\x0a\x12\x08"atomic"' in written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"type": "string"}, b"\xaa\x01\x0d\x0a\x0b\xb2\x01\x08\x0a\x06string"),
        (True, b"\xaa\x01\x02\x10\x01"),
    ],
    ids=["schema", "boolean"],
)
def test_additional_properties_are_a_schema_or_a_boolean(value: Any, written: bytes) -> None:
    document = {"definitions": {"A": {"additionalProperties": value}}}
    assert written in to_protobuf(document)


def test_a_member_without_a_place_is_an_error() -> None:
    with pytest.raises(InternalError, match="'surprise'"):
        to_protobuf({"definitions": {"A": {"surprise": 1}}})
