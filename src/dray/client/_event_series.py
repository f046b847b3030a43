"""Repetitions of an event as a series within it, as events.k8s.io has them.

The first time something happens its event is created; what happens again within six minutes is
counted in that event's `series`. The second time is written at once, so that readers see that it
repeats; what follows is written together, half a minute after the first that was not. Upstream
writes the second, and then the count of every half hour and the last one: readers of a pod that has
been pending for ten minutes are told a time that is nine minutes old. A patch every half minute for
each thing that goes on happening costs little.

Same means: same object and part of it, related object, type, reason, note, action and reporter.
Upstream leaves out the note, which then stays the first one, and takes in the object's
resourceVersion, so that whoever also writes to an object starts a series with each write.

What is remembered is bounded, and a source that says too much about one object is not listened to.
Upstream counterpart: client-go tools/events.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from dray.api.core import Event, EventSeries
from dray.api.wire import MicroTime, replace
from dray.client._correlator import Correlated, SpamFilter
from dray.clock import Clock

__all__ = ["SeriesCorrelator"]

# Upstream's: what has not happened for so long and happens then is a new event.
FINISHED_SECONDS: Final = 360.0

# How far behind a count may be.
REFRESH_SECONDS: Final = 30.0

# Events whose repetitions are recognized: half a minute of 500 pods scheduled a second, which never
# repeat, may go by before what does is forgotten.
REMEMBERED_MAX: Final = 16_384

_Key = tuple[str, ...]


@dataclass(slots=True)
class _Series:
    event: Event  # as it was created
    count: int
    last_observed_time: MicroTime | None
    last_seconds: float

    def correlated(self) -> Correlated:
        series = EventSeries(count=self.count, last_observed_time=self.last_observed_time)
        patch = {"series": {"count": self.count, "lastObservedTime": str(self.last_observed_time)}}
        return Correlated(replace(self.event, series=series), patch)


class SeriesCorrelator:
    """Remembers what happened lately."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._spam = SpamFilter(clock)
        # Those that happened last at the end.
        self._series: OrderedDict[_Key, _Series] = OrderedDict()
        self._unwritten: dict[_Key, _Series] = {}
        self._counted = asyncio.Event()  # something is unwritten

    def correlate(self, event: Event) -> Correlated | None:
        """What to write of an event now, if anything."""
        now = self._clock.monotonic()
        self._forget(now)
        key = _key(event)
        series = self._series.get(key)
        if series is None:
            if not self._spam.allows(event):
                return None
            if len(self._series) >= REMEMBERED_MAX:
                forgotten, _ = self._series.popitem(last=False)
                self._unwritten.pop(forgotten, None)
            self._series[key] = _Series(event, 1, event.event_time, now)
            return Correlated(event)
        self._series.move_to_end(key)
        series.count += 1
        series.last_observed_time = event.event_time
        series.last_seconds = now
        if series.count == 2:
            return series.correlated()
        self._unwritten[key] = series
        self._counted.set()
        return None

    def stored(self, event: Event) -> None:
        """What a server makes of an event changes nothing about when it repeats."""

    async def refresh(self) -> None:
        """Return when counts are to be written that are not."""
        await self._counted.wait()
        await self._clock.sleep(REFRESH_SECONDS)

    def unwritten(self) -> list[Correlated]:
        """The counts that were not written; from now on they count as written."""
        found = [series.correlated() for series in self._unwritten.values()]
        self._unwritten.clear()
        self._counted.clear()
        return found

    def _forget(self, now: float) -> None:
        """What has not happened for long is over."""
        while self._series:
            key, oldest = next(iter(self._series.items()))
            if now - oldest.last_seconds <= FINISHED_SECONDS:
                return
            del self._series[key]


def _key(event: Event) -> _Key:
    about, related = event.involved_object, event.related
    return (
        about.kind,
        about.namespace,
        about.name,
        about.uid,
        about.field_path,
        event.type,
        event.reason,
        event.message,
        event.action,
        event.reporting_component,
        event.reporting_instance,
        *((related.kind, related.namespace, related.name, related.uid) if related else ()),
    )
