"""The parts of timestamps and durations: `getFullYear`, `getHours` and the like.

A timestamp is read in UTC, or in the zone that is named by an argument: a name of the time zone
database, or hours and minutes from UTC. Months, days of the year and days of the month count from
zero, `getDate` from one. A duration answers how many whole hours, minutes, seconds or milliseconds
it has altogether.

The names are those of the host's time zone database, as upstream's are of its own host; `Local` is
UTC, because nothing here may depend on where it runs. Whatever is no zone is unknown, also where
upstream's file system has more to say of it (`Europe` is a directory there).

Upstream counterparts: inTimeZone and its callers in cel-go common/stdlib/standard.go, the accessors
in common/types/duration.go, Go's time.LoadLocation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dray.cel._failures import Failure, no_such_overload
from dray.cel._library.table import FunctionTable, Implementation
from dray.cel._values import INT_MAX, INT_MIN, Duration, Timestamp, Value
from dray.errors import quote

__all__ = ["FUNCTIONS"]

_DAY: Final = 86_400
_CYCLE: Final = 146_097
"""Days after which the calendar repeats: 400 years."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_SECONDS_MIN: Final = -62135596800 + 2 * _DAY
_SECONDS_MAX: Final = 253402300799 - 2 * _DAY
"""The years that Python's calendar has, less the days a zone can be away from UTC."""


# Zones


def _shift(moment: Timestamp, zone: str) -> int:
    """Seconds to add to UTC for the clocks of a zone at that moment."""
    hours, colon, minutes = zone.partition(":")
    if not colon:
        return _named_shift(moment, zone)
    return _fixed_shift(_whole(hours), _whole(minutes), backward=zone.startswith("-"))


def _named_shift(moment: Timestamp, name: str) -> int:
    if name in ("", "UTC", "Local"):
        return 0
    if ".." in name or name[0] in "/\\":
        raise Failure("time: invalid location name")
    # Upstream hands the name to the file system, to which these make no difference.
    path = "/".join(part for part in name.split("/") if part not in ("", "."))
    try:
        zone = ZoneInfo(path)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Failure(f"unknown time zone {name}") from None
    seconds = min(max(moment.seconds, _SECONDS_MIN), _SECONDS_MAX)
    offset = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone).utcoffset()
    assert offset is not None
    return offset // timedelta(seconds=1)


def _fixed_shift(hours: int, minutes: int, *, backward: bool) -> int:
    """As upstream computes it, wrapping around and rounding where the hours are absurd."""
    total = _wrapped(_wrapped(hours * 60) + (-minutes if backward else minutes))
    nanoseconds = _wrapped(_wrapped(total) * 60_000_000_000)
    return int(_in_units(nanoseconds, 1_000_000_000))


def _wrapped(number: int) -> int:
    return (number - INT_MIN) % 2**64 + INT_MIN


def _whole(text: str) -> int:
    if not re.fullmatch("[+-]?[0-9]+", text, re.ASCII):
        raise Failure(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    # Python refuses to read thousands of digits; none as long as this is in range anyway.
    digits = text.lstrip("+-").lstrip("0")
    number = int(digits[:20] or "0") * (-1 if text[0] == "-" else 1)
    if not INT_MIN <= number <= INT_MAX:
        raise Failure(f"strconv.Atoi: parsing {quote(text)}: value out of range")
    return number


# Timestamps


def _of_timestamp(function: str, part: Callable[[int, int], int]) -> Callable[..., Value]:
    """The accessor for a part that follows from the day since 1970 and the second of that day."""

    def accessor(moment: Value, zone: Value = "UTC", *more: Value) -> Value:
        if type(zone) is not str or more:
            raise no_such_overload(function, moment, zone, *more)
        shift = 0 if zone == "UTC" else _shift(moment, zone)
        return part(*divmod(moment.seconds + shift, _DAY))

    return accessor


def _date(day: int) -> tuple[date, int]:
    """The date of a day of any year, and how many years to add to it."""
    cycles, rest = divmod(day, _CYCLE)
    return date.fromordinal(_EPOCH_ORDINAL + rest), 400 * cycles


def _full_year(day: int, _: int) -> int:
    found, years = _date(day)
    return found.year + years


def _month(day: int, _: int) -> int:
    return _date(day)[0].month - 1


def _day_of_year(day: int, _: int) -> int:
    found, _years = _date(day)
    return (found - found.replace(month=1, day=1)).days


def _day_of_month(day: int, _: int) -> int:
    return _date(day)[0].day


def _day_before_of_month(day: int, _: int) -> int:
    return _date(day)[0].day - 1


def _day_of_week(day: int, _: int) -> int:
    """Sunday is 0; 1970 began with a Thursday."""
    return (day + 4) % 7


def _hours(_: int, second: int) -> int:
    return second // 3600


def _minutes(_: int, second: int) -> int:
    return second // 60 % 60


def _seconds(_: int, second: int) -> int:
    return second % 60


def _milliseconds(moment: Value, zone: Value = "UTC", *more: Value) -> Value:
    if type(zone) is not str or more:
        raise no_such_overload("getMilliseconds", moment, zone, *more)
    _shift(moment, zone)
    return moment.nanoseconds // 1_000_000


# Durations


def _of_duration(function: str, unit: int) -> Implementation:
    def accessor(duration: Value, *more: Value) -> Value:
        if more:
            raise no_such_overload(function, duration, *more)
        return int(_in_units(duration.nanoseconds, unit))

    return accessor


def _in_units(nanoseconds: int, unit: int) -> float:
    """Through doubles, as upstream: what is a nanosecond short of a unit may round up to it."""
    sign = -1 if nanoseconds < 0 else 1
    whole, rest = divmod(abs(nanoseconds), unit)
    return sign * (float(whole) + float(rest) / float(unit))


def _duration_milliseconds(duration: Value, *more: Value) -> Value:
    if more:
        raise no_such_overload("getMilliseconds", duration, *more)
    amount = abs(duration.nanoseconds) // 1_000_000
    return amount if duration.nanoseconds >= 0 else -amount


def _accessors(
    function: str, part: Callable[[int, int], int], unit: int | None = None
) -> dict[type, Implementation]:
    found: dict[type, Implementation] = {Timestamp: _of_timestamp(function, part)}
    if unit is not None:
        found[Duration] = _of_duration(function, unit)
    return found


FUNCTIONS: Final[FunctionTable] = {
    "getFullYear": _accessors("getFullYear", _full_year),
    "getMonth": _accessors("getMonth", _month),
    "getDayOfYear": _accessors("getDayOfYear", _day_of_year),
    "getDate": _accessors("getDate", _day_of_month),
    "getDayOfMonth": _accessors("getDayOfMonth", _day_before_of_month),
    "getDayOfWeek": _accessors("getDayOfWeek", _day_of_week),
    "getHours": _accessors("getHours", _hours, 3_600_000_000_000),
    "getMinutes": _accessors("getMinutes", _minutes, 60_000_000_000),
    "getSeconds": _accessors("getSeconds", _seconds, 1_000_000_000),
    "getMilliseconds": {Timestamp: _milliseconds, Duration: _duration_milliseconds},
}
