"""The lines of a watch: an event as one JSON document.

What a client is told depends on its selection: an object that starts to match is new to it, one
that stops matching is gone, though with the revision at which that happened. Upstream counterpart:
convertToWatchEvent of the cacher, and the watch encoders.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from dray.errors import APIError
from dray.server.selection import Reading, Selection
from dray.store.store import Event, Record

__all__ = [
    "ADDED",
    "DELETED",
    "MODIFIED",
    "Show",
    "added_line",
    "bookmark_line",
    "error_line",
    "line",
    "line_of",
]

# A stored value at a revision, as the client sees it.
Show = Callable[[bytes, int], bytes]

ADDED: Final = b"ADDED"
MODIFIED: Final = b"MODIFIED"
DELETED: Final = b"DELETED"


def line(type_: bytes, document: bytes) -> bytes:
    """One event."""
    return b'{"type":"%b","object":%b}\n' % (type_, document)


def line_of(
    event: Event, selection: Selection, show: Show, reading: Reading | None = None
) -> bytes:
    """What a client with this selection hears of the event: a line, or nothing."""
    record, previous = event.record, event.previous
    everything = selection.everything
    now = record is not None and (everything or selection.matches(record, reading))
    before = previous is not None and (everything or selection.matches(previous, reading))
    if now:
        assert record is not None
        return line(MODIFIED if before else ADDED, show(record.value, event.revision))
    if before:
        assert previous is not None
        return line(DELETED, show(previous.value, event.revision))
    return b""


def added_line(record: Record, show: Show) -> bytes:
    """An object that was there when the watch began."""
    return line(ADDED, show(record.value, record.revision))


def bookmark_line(
    kind: str, api_version: str, blank: bytes, revision: int, *, initial_events_end: bool = False
) -> bytes:
    """How far the watch has come, though nothing happened to its objects.

    `blank` is what the kind always writes, as JSON of an object.
    """
    end = b',"annotations":{"k8s.io/initial-events-end":"true"}' if initial_events_end else b""
    head = f'{{"kind":"{kind}","apiVersion":"{api_version}"'.encode()
    metadata = b'{"resourceVersion":"%d"%b}' % (revision, end)
    parts = b"," + blank[1:] if blank != b"{}" else b"}"
    return line(b"BOOKMARK", b'%b,"metadata":%b%b' % (head, metadata, parts))


def error_line(error: APIError) -> bytes:
    """Why the watch ends."""
    return line(b"ERROR", msgspec.json.encode(error.as_status()))
