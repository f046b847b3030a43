"""Every metric there is: name, kind, labels, and what it says.

Names are upstream's where upstream has one, so that dashboards and alerts work as they are; what
only dray has begins with `dray_`. The reference page is held to this table.
"""

from __future__ import annotations

from typing import Final

from dray.server.operations.text_format import Family

__all__ = ["FAMILIES"]

_RESOURCE: Final = ("group", "version", "resource")
_SORT: Final = ("verb", *_RESOURCE, "subresource", "scope", "component")
_FLOW: Final = ("priority_level", "flow_schema")


def _counter(name: str, text: str, *labels: str) -> Family:
    return Family(name, "counter", text, labels)


def _gauge(name: str, text: str, *labels: str) -> Family:
    return Family(name, "gauge", text, labels)


def _histogram(name: str, text: str, *labels: str) -> Family:
    return Family(name, "histogram", text, labels)


FAMILIES: Final = {
    family.name: family
    for family in (
        _counter(
            "apiserver_request_total",
            "Requests that were answered, by what they asked for and the code of the answer.",
            *("verb", "dry_run", *_RESOURCE, "subresource", "scope", "component", "code"),
        ),
        _histogram(
            "apiserver_request_duration_seconds",
            "How long requests took, from being read to being answered; streams, to their end.",
            *("verb", "dry_run", *_RESOURCE, "subresource", "scope", "component"),
        ),
        _histogram("apiserver_response_sizes", "Bytes of answers to GET and LIST.", *_SORT),
        _gauge(
            "apiserver_current_inflight_requests",
            "Requests under way, streams not counted once they run.",
            "request_kind",
        ),
        _gauge("apiserver_longrunning_requests", "Streams that are open.", *_SORT),
        _counter(
            "apiserver_request_terminations_total",
            "Requests that the server gave up on: 429 for too many, 504 for too long.",
            *(*_SORT, "code"),
        ),
        _gauge(
            "apiserver_registered_watchers", "Watches that are open.", "group", "version", "kind"
        ),
        _counter("apiserver_watch_events_total", "Events sent to watches.", *_RESOURCE),
        _counter("dray_watch_event_bytes_total", "Bytes of events sent to watches.", *_RESOURCE),
        _counter("dray_watch_dropped_total", "Watches dropped because their client did not read."),
        _gauge("apiserver_storage_objects", "Objects that are stored.", "resource"),
        _gauge("apiserver_resource_objects", "Objects that are stored.", "group", "resource"),
        _counter(
            "authentication_attempts", "Requests by whether they proved who sent them.", "result"
        ),
        _counter(
            "authorization_attempts_total", "Requests by what the authorizers said.", "result"
        ),
        _histogram(
            "apiserver_admission_step_admission_duration_seconds",
            "How long admission took, all plugins of a step together.",
            *("type", "operation", "rejected"),
        ),
        _counter("apiserver_audit_event_total", "Audit events that were handed to the log."),
        _counter("apiserver_audit_error_total", "Audit events that were lost.", "plugin"),
        _counter(
            "apiserver_audit_level_total", "Requests by the level they are audited at.", "level"
        ),
        _gauge(
            "apiserver_flowcontrol_nominal_limit_seats",
            "Requests of a level that may be under way, whatever the other levels do.",
            "priority_level",
        ),
        _gauge("apiserver_flowcontrol_current_executing_requests", "Requests under way.", *_FLOW),
        _gauge("apiserver_flowcontrol_current_inqueue_requests", "Requests that wait.", *_FLOW),
        _counter("apiserver_flowcontrol_dispatched_requests_total", "Requests started.", *_FLOW),
        _counter(
            "apiserver_flowcontrol_rejected_requests_total",
            "Requests refused with 429.",
            *(*_FLOW, "reason"),
        ),
        _histogram(
            "apiserver_flowcontrol_request_wait_duration_seconds",
            "How long those requests waited that could not start at once.",
            *_FLOW,
        ),
        _gauge("dray_store_revision", "The newest durable revision."),
        _gauge("dray_store_oldest_revision", "The oldest revision that can still be watched from."),
        _histogram(
            "dray_store_write_duration_seconds",
            "How long writes took to be durable, waits included.",
        ),
        _counter("dray_store_write_errors_total", "Writes that the disk did not take."),
        _counter(
            "dray_allocation_refusals_total",
            "Allocations refused because other claims have the devices, by what was too little.",
            "reason",
        ),
        _histogram("dray_store_commit_writes", "How many writes shared a commit, and its sync."),
        _gauge("dray_http_connections", "Connections that are open."),
        _counter("dray_http_connections_total", "Connections that were opened."),
        _counter(
            "dray_http_connections_refused_total", "Connections beyond the most there may be."
        ),
        _counter(
            "dray_http_requests_refused_total", "Requests too malformed, large or late to read."
        ),
        _gauge("dray_http_streams", "Connections that stream."),
        _gauge("dray_http_websockets", "Connections that became websockets."),
        _counter("dray_http_received_bytes_total", "Bytes received, inside TLS."),
        _counter("dray_http_sent_bytes_total", "Bytes sent, inside TLS."),
    )
}
