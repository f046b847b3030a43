from __future__ import annotations

import pytest

from dray.cel._failures import Failure
from dray.cel._library.times import FUNCTIONS
from dray.cel._values import INT_MAX, INT_MIN, Duration, Timestamp, Value

MOMENT = Timestamp(951782399, 987654321)  # 2000-02-28T23:59:59.987654321Z, a Monday
NEW_YEAR = Timestamp(1577836800, 0)  # 2020-01-01T00:00:00Z
YEAR_1 = Timestamp(-62135596800, 0)
YEAR_9999 = Timestamp(253402300799, 0)


def call(function: str, *arguments: Value) -> Value:
    return FUNCTIONS[function][type(arguments[0])](*arguments)


@pytest.mark.parametrize(
    ("function", "in_utc", "in_tokyo"),
    [
        ("getFullYear", 2000, 2000),
        ("getMonth", 1, 1),
        ("getDayOfYear", 58, 59),
        ("getDate", 28, 29),
        ("getDayOfMonth", 27, 28),
        ("getDayOfWeek", 1, 2),
        ("getHours", 23, 8),
        ("getMinutes", 59, 59),
        ("getSeconds", 59, 59),
        ("getMilliseconds", 987, 987),
    ],
)
def test_a_timestamp_has_parts_in_every_zone(function: str, in_utc: int, in_tokyo: int) -> None:
    assert call(function, MOMENT) == in_utc
    assert call(function, MOMENT, "UTC") == in_utc
    assert call(function, MOMENT, "Asia/Tokyo") == in_tokyo
    assert call(function, MOMENT, "+09:00") == in_tokyo


@pytest.mark.parametrize(
    ("zone", "hour"),
    [
        ("", 0),
        ("Local", 0),
        ("Europe/Berlin", 1),
        ("Europe//Berlin", 1),
        ("./UTC", 0),
        ("2:00", 2),
        ("-08:00", 16),
        ("+02:60", 3),
        ("02:-30", 1),
        ("-02:-30", 22),
        ("-0:30", 23),
        ("1000000:00", 16),
        ("9223372036854775807:00", 23),
    ],
)
def test_zones_are_names_or_offsets(zone: str, hour: int) -> None:
    assert call("getHours", NEW_YEAR, zone) == hour


def test_clocks_change_with_the_season() -> None:
    july = Timestamp(1593561600, 0)
    assert call("getHours", NEW_YEAR, "America/New_York") == 19
    assert call("getHours", july, "America/New_York") == 20


def test_a_zone_reaches_beyond_the_years_of_a_timestamp() -> None:
    assert call("getFullYear", YEAR_1, "-01:00") == 0
    assert call("getFullYear", YEAR_1, "America/New_York") == 0
    assert call("getFullYear", YEAR_9999, "+01:00") == 10000
    assert call("getFullYear", YEAR_9999, "Asia/Tokyo") == 10000
    assert call("getDayOfYear", YEAR_1, "-01:00") == 365


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("Nowhere", "unknown time zone Nowhere"),
        ("europe/nowhere", "unknown time zone europe/nowhere"),
        ("/UTC", "time: invalid location name"),
        ("\\UTC", "time: invalid location name"),
        ("a..b", "time: invalid location name"),
        (":00", 'strconv.Atoi: parsing "": invalid syntax'),
        ("1:2:3", 'strconv.Atoi: parsing "2:3": invalid syntax'),
        ('"q":1', 'strconv.Atoi: parsing "\\"q\\"": invalid syntax'),
        (
            "99999999999999999999:00",
            'strconv.Atoi: parsing "99999999999999999999": value out of range',
        ),
    ],
)
@pytest.mark.parametrize("function", ["getHours", "getMilliseconds"])
def test_what_is_no_zone_fails(function: str, zone: str, text: str) -> None:
    with pytest.raises(Failure) as caught:
        call(function, NEW_YEAR, zone)
    assert str(caught.value) == text


def test_a_name_of_any_characters_is_at_most_unknown() -> None:
    for name in ("a\0b", "x" * 5000, "Europe", "é"):
        with pytest.raises(Failure, match="unknown time zone"):
            call("getHours", NEW_YEAR, name)


@pytest.mark.parametrize(
    ("function", "nanoseconds", "result"),
    [
        ("getHours", 7_199_999_999_999, 1),
        ("getHours", -5_400_000_000_000, -1),
        ("getMinutes", 90_000_000_000, 1),
        ("getSeconds", -1_999_999_999, -1),
        ("getMilliseconds", -1_999_999, -1),
        ("getMilliseconds", INT_MAX, 9223372036854),
        # A double has not enough digits for the nanosecond that is missing.
        ("getSeconds", 9223372036999999999 - 10**9, 9223372036),
        ("getSeconds", INT_MIN, -9223372036),
    ],
)
def test_a_duration_has_whole_units(function: str, nanoseconds: int, result: int) -> None:
    assert call(function, Duration(nanoseconds)) == result


@pytest.mark.parametrize(
    ("function", "arguments", "shown"),
    [
        ("getHours", (NEW_YEAR, 1), "google.protobuf.Timestamp, int"),
        ("getMilliseconds", (NEW_YEAR, 1), "google.protobuf.Timestamp, int"),
        ("getHours", (Duration(1), "UTC"), "google.protobuf.Duration, string"),
        ("getMilliseconds", (Duration(1), "UTC"), "google.protobuf.Duration, string"),
    ],
)
def test_other_arguments_are_refused(
    function: str, arguments: tuple[Value, ...], shown: str
) -> None:
    with pytest.raises(Failure) as caught:
        call(function, *arguments)
    assert str(caught.value) == f"no such overload: {function}({shown})"
