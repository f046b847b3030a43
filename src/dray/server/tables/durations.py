"""How long ago, in the few characters a table has room for.

Two or three figures are enough for a person: `45s`, `3m20s`, `5h12m`, `9d`, `2y10d`. Upstream
counterpart: apimachinery pkg/util/duration.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from dray.api.wire import Time

__all__ = ["INVALID", "UNKNOWN", "age", "human_duration", "short_human_duration"]

UNKNOWN: Final = "<unknown>"
INVALID: Final = "<invalid>"

_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

# Up to which length a duration is told in a unit, and whether the next smaller one joins it.
_STEPS: Final = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
_SHORT_STEPS: Final = (
    (_MINUTE, 1, "s"),
    (_HOUR, _MINUTE, "m"),
    (_DAY, _HOUR, "h"),
    (_YEAR, _DAY, "d"),
)

# Clocks of different machines differ; what is this little in the future is now.
_FUTURE_SECONDS_MAX: Final = 1


def human_duration(duration: timedelta) -> str:
    """The length to two or three figures."""
    seconds = _whole_seconds(duration)
    if seconds <= 0:
        return _nearly_now(seconds)
    for limit, unit, name, finer_unit, finer_name in _STEPS:
        if seconds < limit:
            count = seconds // unit
            finer = seconds % unit // finer_unit if finer_unit else 0
            return f"{count}{name}{finer}{finer_name}" if finer else f"{count}{name}"
    return f"{seconds // _YEAR}y"


def short_human_duration(duration: timedelta) -> str:
    """The length in one unit."""
    seconds = _whole_seconds(duration)
    if seconds <= 0:
        return _nearly_now(seconds)
    for limit, unit, name in _SHORT_STEPS:
        if seconds < limit:
            return f"{seconds // unit}{name}"
    return f"{seconds // _YEAR}y"


def age(time: Time | str | None, now: datetime) -> str:
    """How long ago a time was; an object read in passing has its times as text."""
    if time is None:
        return UNKNOWN
    if isinstance(time, str):
        time = Time.parse(time)
    return human_duration(now - time.instant)


def _whole_seconds(duration: timedelta) -> int:
    """Cut off towards zero."""
    return duration // _SECOND if duration.days >= 0 else -(-duration // _SECOND)


def _nearly_now(seconds: int) -> str:
    return "0s" if seconds >= -_FUTURE_SECONDS_MAX else INVALID
