"""Events of core/v1, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.core import Event, EventList
from tests.unit.api.core.golden import METADATA, OBJECT_REFERENCE, Document, KindSuite


class TestEvent(KindSuite):
    kind = Event
    list_kind = EventList
    document: ClassVar[Document] = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": METADATA,
        "involvedObject": OBJECT_REFERENCE,
        "reason": "FailedScheduling",
        "message": "0/3 nodes are available",
        "source": {"component": "scheduler", "host": "node-1"},
        "firstTimestamp": "2026-01-31T12:00:00Z",
        "lastTimestamp": "2026-01-31T12:05:00Z",
        "count": 3,
        "type": "Warning",
        "eventTime": "2026-01-31T12:00:00.000250Z",
        "series": {"count": 3, "lastObservedTime": "2026-01-31T12:05:00.000001Z"},
        "action": "Scheduling",
        "related": OBJECT_REFERENCE | {"kind": "Node", "name": "node-1"},
        "reportingComponent": "default-scheduler",
        "reportingInstance": "default-scheduler-0",
    }
    empty: ClassVar[Document] = {
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }
