"""Events of events.k8s.io, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.events import Event, EventList
from tests.unit.api.core.golden import METADATA, OBJECT_REFERENCE, Document, KindSuite


class TestEvent(KindSuite):
    kind = Event
    list_kind = EventList
    document: ClassVar[Document] = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": METADATA,
        "eventTime": "2026-01-31T12:00:00.000250Z",
        "series": {"count": 3, "lastObservedTime": "2026-01-31T12:05:00.000001Z"},
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-0",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "regarding": OBJECT_REFERENCE,
        "related": OBJECT_REFERENCE | {"kind": "Node", "name": "node-1"},
        "note": "0/3 nodes are available",
        "type": "Warning",
        "deprecatedSource": {"component": "scheduler", "host": "node-1"},
        "deprecatedFirstTimestamp": "2026-01-31T12:00:00Z",
        "deprecatedLastTimestamp": "2026-01-31T12:05:00Z",
        "deprecatedCount": 3,
    }
    empty: ClassVar[Document] = {
        "eventTime": None,
        "regarding": {},
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    }
