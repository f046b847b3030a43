"""events.k8s.io: another face of the events that core/v1 has, over the same stored objects.

What is stored is always the core form. Upstream counterpart: the conversions in
pkg/apis/events/v1.
"""

from __future__ import annotations

from typing import Any, Final

from dray.api import core, events
from dray.api.codec import encode
from dray.api.meta import Object
from dray.api.scheme import KINDS
from dray.server.models.model import STORED_START
from dray.server.models.typed import TypedModel
from dray.server.resources import Resource

__all__ = ["EventsModel", "from_core", "to_core"]


class EventsModel(TypedModel):
    """Events as events.k8s.io has them."""

    def __init__(self) -> None:
        super().__init__(KINDS["events.k8s.io", "Event"])
        self._core = TypedModel(KINDS["", "Event"])

    def new(self) -> Object:
        return events.Event()

    def load(self, value: bytes, revision: int) -> Any:
        return from_core(self._core.load(value, revision))

    def store(self, obj: Any) -> bytes:
        return self._core.store(to_core(obj))

    def show(self, value: bytes, revision: int, resource: Resource, *, typed: bool = True) -> bytes:
        del resource  # there is one version
        data = encode(self.load(value, revision))
        if typed:
            return data
        return STORED_START + data[len(_START) :]


_START: Final = b'{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{'


def from_core(event: core.Event) -> events.Event:
    """The event under its newer names."""
    series = event.series
    return events.Event(
        metadata=event.metadata,
        event_time=event.event_time,
        series=None
        if series is None
        else events.EventSeries(count=series.count, last_observed_time=series.last_observed_time),
        reporting_controller=event.reporting_component,
        reporting_instance=event.reporting_instance,
        action=event.action,
        reason=event.reason,
        regarding=event.involved_object,
        related=event.related,
        note=event.message,
        type=event.type,
        deprecated_source=event.source,
        deprecated_first_timestamp=event.first_timestamp,
        deprecated_last_timestamp=event.last_timestamp,
        deprecated_count=event.count,
    )


def to_core(event: events.Event) -> core.Event:
    """The event under its older names."""
    series = event.series
    return core.Event(
        metadata=event.metadata,
        event_time=event.event_time,
        series=None
        if series is None
        else core.EventSeries(count=series.count, last_observed_time=series.last_observed_time),
        reporting_component=event.reporting_controller,
        reporting_instance=event.reporting_instance,
        action=event.action,
        reason=event.reason,
        involved_object=event.regarding,
        related=event.related,
        message=event.note,
        type=event.type,
        source=event.deprecated_source,
        first_timestamp=event.deprecated_first_timestamp,
        last_timestamp=event.deprecated_last_timestamp,
        count=event.deprecated_count,
    )
