from __future__ import annotations

import pytest

from dray.cel._failures import Failure
from dray.cel._library.messages import Empty, make_message
from dray.cel._values import Duration, Timestamp, UInt, Value

P = "google.protobuf."


@pytest.mark.parametrize(
    ("name", "fields", "value"),
    [
        ("Int32Value", {"value": 7}, 7),
        ("Int64Value", {}, 0),
        ("StringValue", {"value": "a"}, "a"),
        ("FloatValue", {"value": 1e300}, float("inf")),
        ("UInt32Value", {"value": UInt(1)}, UInt(1)),
        ("Duration", {"seconds": 5, "nanos": 7}, Duration(5_000_000_007)),
        ("Timestamp", {"seconds": 5, "nanos": -1}, Timestamp(4, 999_999_999)),
        ("Value", {}, None),
        ("Value", {"number_value": 1.5}, 1.5),
        ("Value", {"null_value": 0}, None),
        ("ListValue", {"values": [1, True, None, b"a"]}, [1.0, True, None, "YQ=="]),
        (
            "Struct",
            {"fields": {"a": 2**60, "b": {(int, 1): "x"}}},
            {"a": str(2**60), "b": {"1": "x"}},
        ),
        ("Struct", {}, {}),
        ("Empty", {}, Empty()),
    ],
)
def test_a_message_is_the_value_it_stands_for(
    name: str, fields: dict[str, Value], value: Value
) -> None:
    made = make_message(P + name, fields)
    assert made == value
    assert type(made) is type(value)


@pytest.mark.parametrize(
    ("name", "fields", "why"),
    [
        ("Int32Value", {"value": 2**31}, "Int32Value.value value type: integer overflow"),
        ("UInt32Value", {"value": UInt(2**32)}, "value type: unsigned integer overflow"),
        ("Int64Value", {"value": "x"}, "unsupported native conversion from string to 'int64'"),
        ("BoolValue", {"value": 1}, "unsupported type conversion from 'int' to bool"),
        ("Value", {"bool_value": 1}, "Value.bool_value value type: unsupported type conversion"),
        ("ListValue", {"values": 1}, "unsupported field type for google.protobuf.ListValue.values"),
        ("Any", {}, "unsupported conversion to ref.Val"),
        ("Nothing", {}, "unknown type 'google.protobuf.Nothing'"),
    ],
)
def test_a_message_that_cannot_be_made_is_an_error(
    name: str, fields: dict[str, Value], why: str
) -> None:
    with pytest.raises(Failure, match=why):
        make_message(P + name, fields)


def test_nothing_equals_an_empty_message_but_another() -> None:
    assert Empty().cel_equal(Empty())
    assert not Empty().cel_equal({})
