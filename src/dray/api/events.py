"""events.k8s.io/v1: the newer face of events; `dray.api.core.Event` is the older one.

Both show the same stored events under different names. Upstream counterpart:
k8s.io/api/events/v1.
"""

from __future__ import annotations

from dray.api.core import EventSource, ObjectReference
from dray.api.meta import ListMeta, Object
from dray.api.wire import Int32, MicroTime, Struct, Time, always

__all__ = ["Event", "EventList", "EventSeries"]


class EventSeries(Struct):
    """How often it happened, and when last."""

    count: Int32 = always(0)
    last_observed_time: MicroTime | None = always(None)


class Event(Object):
    """Something that a controller did, or saw, regarding an object."""

    api_version: str = always("events.k8s.io/v1")
    kind: str = always("Event")
    event_time: MicroTime | None = always(None)
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = always(ObjectReference)
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
    deprecated_source: EventSource = always(EventSource)
    deprecated_first_timestamp: Time | None = always(None)
    deprecated_last_timestamp: Time | None = always(None)
    deprecated_count: Int32 = 0


class EventList(Struct):
    """Several events."""

    api_version: str = always("events.k8s.io/v1")
    kind: str = always("EventList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[Event, ...] | None = always(None)
