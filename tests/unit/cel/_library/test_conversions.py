from __future__ import annotations

import pytest

from dray.cel import _types as types
from dray.cel._failures import Failure
from dray.cel._library.conversions import FUNCTIONS, convert, is_conversion
from dray.cel._values import Duration, Timestamp, UInt, Value, type_of


@pytest.mark.parametrize(
    ("function", "value", "result"),
    [
        ("int", "-7", -7),
        ("int", 2.9, 2),
        ("int", Duration(5), 5),
        ("double", "1_0", 10.0),
        ("double", "0x1p4", 16.0),
        ("double", "-Inf", float("-inf")),
        ("bool", "True", True),
        ("bytes", "é", b"\xc3\xa9"),
        ("string", b"abc", "abc"),
        ("string", 1234567.0, "1.234567e+06"),
        ("string", 0.0001, "0.0001"),
        ("string", Duration(1_500_000_000), "1.5s"),
        ("string", Timestamp(0, 5), "1970-01-01T00:00:00.000000005Z"),
        ("duration", "1h30m", Duration(5_400_000_000_000)),
        ("duration", "-1.5µs", Duration(-1500)),
        ("timestamp", "1970-01-01T1:00:00,5+01:00", Timestamp(0, 500_000_000)),
        ("dyn", None, None),
        ("type", 1, types.INT),
    ],
)
def test_a_constant_is_converted(function: str, value: Value, result: Value) -> None:
    assert convert(function, value) == result


def test_unsigned_integers_stay_apart_from_integers() -> None:
    converted = convert("uint", 3)
    assert isinstance(converted, UInt)
    assert converted == 3


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        ("int", "abc", "type conversion error from 'string' to 'int'"),
        ("int", "9" * 5000, "type conversion error from 'string' to 'int'"),
        ("int", 1e30, "integer overflow"),
        ("int", UInt(2**64 - 1), "integer overflow"),
        ("uint", -1, "unsigned integer overflow"),
        ("double", "1e400", "type conversion error from 'string' to 'double'"),
        ("string", b"\xff", "invalid UTF-8 in bytes, cannot convert to string"),
        ("duration", "1x", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        (
            "duration",
            "9223372036854775808ns",
            "type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        ("timestamp", 253402300800, "timestamp overflow"),
        ("int", [], "no such overload: int(list)"),
        ("string", None, "no such overload: string(null_type)"),
    ],
)
def test_what_cannot_be_converted_says_so_as_upstream_does(
    function: str, value: Value, message: str
) -> None:
    with pytest.raises(Failure) as refused:
        convert(function, value)
    assert str(refused.value) == message


def test_only_conversions_are_conversions() -> None:
    assert is_conversion("dyn")
    assert not is_conversion("size")


def test_a_bool_is_not_an_int() -> None:
    assert type_of(True) == types.BOOL


def test_the_year_of_a_timestamp_has_four_digits() -> None:
    assert convert("string", Timestamp(-62135596800, 0)) == "0001-01-01T00:00:00Z"


def test_bytes_that_are_no_utf_8_survive_as_such() -> None:
    assert convert("bytes", "a\udcff") == b"a\xff"


def test_the_functions_are_listed_by_what_they_convert() -> None:
    assert FUNCTIONS["int"][str]("5") == 5
    assert bool not in FUNCTIONS["int"]
    assert FUNCTIONS["dyn"][object](None) is None
    assert FUNCTIONS["type"][object](1) is types.INT
