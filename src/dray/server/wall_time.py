"""The time as objects carry it: whole seconds, so one for all requests of a second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from dray.api.wire import Time
from dray.clock import Clock

__all__ = ["WallTime"]

_SECOND: Final = timedelta(seconds=1)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class WallTime:
    """What a clock says, made into a Time once per second: each write needs one."""

    __slots__ = ("_begins", "_clock", "_ends", "_time")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begins = self._ends = _NEVER  # of the second that was asked for last
        self._time = Time(_NEVER)

    def now(self) -> Time:
        """The current second. A clock that is set back is believed."""
        instant = self._clock.now()
        if not self._begins <= instant < self._ends:
            self._time = Time(instant)
            self._begins = self._time.instant
            self._ends = self._begins + _SECOND
        return self._time
