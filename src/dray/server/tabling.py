"""Tables of stored objects, for lists, single objects and watches.

What a row embeds of its object is the client's choice: its metadata, all of it, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dray.server.answers import metadata_of
from dray.server.call import Call
from dray.server.slices import in_slices
from dray.server.tables.document import NO_OBJECT, IncludeObject, table
from dray.server.tables.printer import Printer
from dray.server.tables.printers import printer_of
from dray.server.watching.lines import Show
from dray.store.store import Record

__all__ = ["one_row", "table_document", "watch_tables"]


def _printer(call: Call) -> Printer:
    if call.served.printer is not None:
        return call.served.printer
    return printer_of(call.resource.group, call.resource.kind)


def _included(call: Call) -> IncludeObject:
    values = call.request.query.get("includeObject")
    return IncludeObject.parse(values[0] if values else "")


async def table_document(call: Call, records: Sequence[Record], metadata: bytes) -> bytes:
    """The records as a Table; `metadata` is that of the list."""
    printer = _printer(call)
    rows = await in_slices(records, _row_of(call, printer))
    return table(printer, rows, version=call.media.version, metadata=metadata)


def one_row(call: Call, value: bytes, revision: int) -> bytes:
    """A single object as a Table."""
    printer = _printer(call)
    row = _row_of(call, printer)(Record(call.key(), value, revision, revision))
    metadata = b'{"resourceVersion":"%d"}' % revision
    return table(printer, [row], version=call.media.version, metadata=metadata)


def _row_of(call: Call, printer: Printer) -> Callable[[Record], bytes]:
    included, now = _included(call), call.services.clock.now()

    def row(record: Record) -> bytes:
        embedded = _embedded(call, included, record.value, record.revision)
        return printer.stored_row(record.value, now, embedded)

    return row


def watch_tables(call: Call) -> Show:
    """Makes of each event's object a Table; only the first says its columns."""
    printer, included = _printer(call), _included(call)
    clock, version = call.services.clock, call.media.version
    said = False

    def show(value: bytes, revision: int) -> bytes:
        nonlocal said
        row = printer.stored_row(value, clock.now(), _embedded(call, included, value, revision))
        metadata = b'{"resourceVersion":"%d"}' % revision
        document = table(printer, [row], version=version, metadata=metadata, with_columns=not said)
        said = True
        return document

    return show


def _embedded(call: Call, included: IncludeObject, value: bytes, revision: int) -> bytes:
    if included is IncludeObject.NONE:
        return NO_OBJECT
    if included is IncludeObject.OBJECT:
        return call.model.show(value, revision, call.resource)
    return metadata_of(value, revision, call.media.api_version)
