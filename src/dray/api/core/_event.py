"""Events as core/v1 has them: something happened to an object, maybe many times.

The same stored events are read at events.k8s.io/v1 through `dray.api.events`. Upstream
counterpart: Event in k8s.io/api/core/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.core._reference import ObjectReference
from dray.api.meta import ListMeta, Object
from dray.api.wire import Int32, MicroTime, Struct, Time, always

__all__ = [
    "EVENT_TYPE_NORMAL",
    "EVENT_TYPE_WARNING",
    "Event",
    "EventList",
    "EventSeries",
    "EventSource",
]

EVENT_TYPE_NORMAL: Final = "Normal"
EVENT_TYPE_WARNING: Final = "Warning"


class EventSource(Struct):
    """Who saw it happen, in the older form."""

    component: str = ""
    host: str = ""


class EventSeries(Struct):
    """How often it happened, and when last."""

    count: Int32 = 0
    last_observed_time: MicroTime | None = always(None)


class Event(Object):
    """Something that happened to an object."""

    api_version: str = always("v1")
    kind: str = always("Event")
    involved_object: ObjectReference = always(ObjectReference)
    reason: str = ""
    message: str = ""
    source: EventSource = always(EventSource)
    first_timestamp: Time | None = always(None)
    last_timestamp: Time | None = always(None)
    count: Int32 = 0
    type: str = ""
    event_time: MicroTime | None = always(None)
    series: EventSeries | None = None
    action: str = ""
    related: ObjectReference | None = None
    reporting_component: str = always("")
    reporting_instance: str = always("")


class EventList(Struct):
    """Several events."""

    api_version: str = always("v1")
    kind: str = always("EventList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[Event, ...] | None = always(None)
