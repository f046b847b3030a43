"""Events, in both of their faces.

An event written as core/v1 may be nearly anything, for the sake of old clients: even its metadata
is left to the registry. One written as events.k8s.io/v1 must be whole, and stays as it is but for
its series. Either way errors name the fields of core/v1, as upstream's do. Upstream counterpart:
pkg/apis/core/validation/events.go.
"""

from __future__ import annotations

from typing import Final

from dray.api import events
from dray.api.core import (
    EVENT_TYPE_NORMAL,
    EVENT_TYPE_WARNING,
    Event,
    EventSeries,
)
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import byte_length, check_immutable, check_label_key

__all__ = ["CORE_EVENT", "EVENT"]

# Enough to tell what happened; more belongs into a log.
INSTANCE_BYTES_MAX: Final = 128
ACTION_BYTES_MAX: Final = 128
REASON_BYTES_MAX: Final = 128
NOTE_BYTES_MAX: Final = 1024

NAMESPACE_DEFAULT: Final = "default"
NAMESPACE_SYSTEM: Final = "kube-system"

# In the order upstream compares them.
_FIXED: Final = (
    ("involvedObject", "involved_object"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "first_timestamp"),
    ("lastTimestamp", "last_timestamp"),
    ("count", "count"),
    ("type", "type"),
    ("eventTime", "event_time"),
    ("action", "action"),
    ("related", "related"),
    ("reportingController", "reporting_component"),
    ("reportingInstance", "reporting_instance"),
)


# core/v1 ---------------------------------------------------------------------------------------


def _create_core(new: Event, _context: Context) -> Verdict:
    found = Findings()
    _check_event(found, new, "reportingComponent")
    return Verdict(found, Findings())


def _update_core(new: Event, _old: Event, context: Context) -> Verdict:
    return _create_core(new, context)


# events.k8s.io/v1 ------------------------------------------------------------------------------


def _create(new: events.Event, _context: Context) -> Verdict:
    found = Findings()
    event = _as_core(new)
    _check_event(found, event, "reportingController")
    found.extend(validate_object_meta(event.metadata, namespaced=True))
    _check_series(found, event.series)
    if event.event_time is None:
        found.required("eventTime")
    if event.type not in (EVENT_TYPE_NORMAL, EVENT_TYPE_WARNING):
        found.invalid("type", "", f"has invalid value: {event.type}")
    for name, is_set in (
        ("firstTimestamp", event.first_timestamp is not None),
        ("lastTimestamp", event.last_timestamp is not None),
        ("count", event.count != 0),
        ("source", bool(event.source.component or event.source.host)),
    ):
        if is_set:
            found.invalid(name, "", "needs to be unset")
    return Verdict(found, Findings())


def _update(new: events.Event, old: events.Event, _context: Context) -> Verdict:
    found = Findings()
    ours, theirs = _as_core(new), _as_core(old)
    _check_event(found, ours, "reportingController")
    found.extend(validate_object_meta_update(ours.metadata, theirs.metadata))
    if ours.series != theirs.series:
        _check_series(found, ours.series)
    for path, name in _FIXED:
        check_immutable(found, getattr(ours, name), getattr(theirs, name), path)
    return Verdict(found, Findings())


def _as_core(event: events.Event) -> Event:
    """The same event under its older names."""
    series = event.series
    older = None
    if series is not None:
        older = EventSeries(count=series.count, last_observed_time=series.last_observed_time)
    return Event(
        metadata=event.metadata,
        involved_object=event.regarding,
        reason=event.reason,
        message=event.note,
        source=event.deprecated_source,
        first_timestamp=event.deprecated_first_timestamp,
        last_timestamp=event.deprecated_last_timestamp,
        count=event.deprecated_count,
        type=event.type,
        event_time=event.event_time,
        series=older,
        action=event.action,
        related=event.related,
        reporting_component=event.reporting_controller,
        reporting_instance=event.reporting_instance,
    )


def _check_series(found: Findings, series: EventSeries | None) -> None:
    if series is None:
        return
    if series.count < 2:
        found.invalid("series.count", "", "should be at least 2")
    if series.last_observed_time is None:
        found.required("series.lastObservedTime")


# Both ------------------------------------------------------------------------------------------


def _check_event(found: Findings, event: Event, controller_field: str) -> None:
    """What makes sense of an event; one without a time is of the old sort."""
    regarding, namespace = event.involved_object.namespace, event.metadata.namespace
    if event.event_time is None:
        homes = (regarding,) if regarding else ("", NAMESPACE_DEFAULT)
        if namespace not in homes:
            _refuse_namespace(found, regarding)
        return
    if not regarding and namespace not in (NAMESPACE_DEFAULT, NAMESPACE_SYSTEM):
        _refuse_namespace(found, regarding)
    if not event.reporting_component:
        found.required(controller_field)
    check_label_key(found, event.reporting_component, controller_field)
    for path, text, bytes_max, required in (
        ("reportingInstance", event.reporting_instance, INSTANCE_BYTES_MAX, True),
        ("action", event.action, ACTION_BYTES_MAX, True),
        ("reason", event.reason, REASON_BYTES_MAX, True),
        ("message", event.message, NOTE_BYTES_MAX, False),
    ):
        if required and not text:
            found.required(path)
        if byte_length(text) > bytes_max:
            found.invalid(path, "", f"can have at most {bytes_max} characters")


def _refuse_namespace(found: Findings, namespace: str) -> None:
    found.invalid("involvedObject.namespace", namespace, "does not match event.namespace")


CORE_EVENT: Final = Rulebook(namespaced=True, create=_create_core, update=_update_core)
EVENT: Final = Rulebook(namespaced=True, create=_create, update=_update)
