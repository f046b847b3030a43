"""Watching the objects of a resource.

Where a watch begins depends on its revision: without one, with what is there now; with one, with
what happened since. A client may ask for the former explicitly (sendInitialEvents), to be told by a
bookmark when it has all of it. Errors that come up once the watch runs are events of it.

Upstream counterpart: apiserver pkg/endpoints/handlers/watch.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from dray.errors import APIError, Expired, RevisionCompacted
from dray.http.messages import Answer, Channel, Stream
from dray.server.answers import metadata_of, warning_headers
from dray.server.call import Call
from dray.server.negotiation import Form
from dray.server.options import ListOptions, list_options
from dray.server.refusals import too_large_revision
from dray.server.revisions import parse_revision, reach
from dray.server.selection import Selection, key_under, select
from dray.server.tabling import watch_tables
from dray.server.watching.lanes import Interest, Lanes, Watcher, expired
from dray.server.watching.lines import Show, error_line
from dray.store.store import Record

__all__ = ["watch"]

# A watch that does not say how long lasts this long at least, and at most twice as long.
TIMEOUT_SECONDS: Final = 1800.0

_HEADERS: Final = (("Content-Type", "application/json"), ("Cache-Control", "no-cache, private"))


async def watch(call: Call, lanes: Lanes) -> Answer:
    """A stream of events."""
    options = list_options(call.request.query, watch=True)
    selection = select(call.served, call.namespace, options.labels, options.fields)
    if call.route.name:  # the old path that watches one object
        fields = f"metadata.name={call.route.name}"
        joined = f"{options.fields},{fields}" if options.fields else fields
        selection = select(call.served, call.namespace, options.labels, joined)
    revision = parse_revision(options.revision)
    snapshot = _wants_snapshot(options, revision)
    if snapshot and revision > call.services.store.revision:
        try:
            await reach(call.services.store, call.services.clock, revision)
        except APIError:
            error = too_large_revision(revision, call.services.store.revision)
            return Stream(200, _HEADERS, lambda channel: _refuse(channel, error))
    return _stream(call, lanes, options, selection, revision, snapshot=snapshot)


def _wants_snapshot(options: ListOptions, revision: int) -> bool:
    if options.initial_events is not None:
        return options.initial_events
    return revision == 0


def _refuse(channel: Channel, error: APIError) -> None:
    channel.write(error_line(error))
    channel.close()


def _stream(
    call: Call,
    lanes: Lanes,
    options: ListOptions,
    selection: Selection,
    revision: int,
    *,
    snapshot: bool,
) -> Stream:
    clock, store = call.services.clock, call.services.store
    interest = _interest(call, selection)
    watcher = Watcher(interest, options.bookmarks, revision)
    timeout = options.timeout_seconds
    if not timeout or timeout < 0:
        timeout_seconds = call.services.entropy.uniform(TIMEOUT_SECONDS, 2 * TIMEOUT_SECONDS)
    else:
        timeout_seconds = float(timeout)

    def start(channel: Channel) -> None:
        watcher.channel = channel
        lanes.expire_at(watcher, clock.monotonic() + timeout_seconds)
        if not snapshot:
            if not options.revision or (options.initial_events is False and not revision):
                watcher.after = store.revision
            try:
                lanes.join(watcher)
            except RevisionCompacted as error:
                lanes.fail(watcher, _too_old(error))
            return
        watcher.after = store.revision
        records = _present(call, selection)
        lanes.begin(watcher, records, marks_end=options.bookmarks)

    headers = (*_HEADERS, *warning_headers(call.warnings))
    return Stream(200, headers, start, lambda: lanes.finish(watcher))


def _too_old(error: RevisionCompacted) -> Expired:
    return expired(error)


def _present(call: Call, selection: Selection) -> Sequence[Record]:
    store = call.services.store
    key = key_under(selection, call.served)
    if key is not None:
        record = store.get(key)
        return [record] if record is not None and selection.matches(record) else []
    records = store.range(selection.prefix).records
    if selection.everything:
        return records
    return [record for record in records if selection.matches(record)]


def _interest(call: Call, selection: Selection) -> Interest:
    media, resource = call.media, call.resource
    kind, api_version = resource.kind, resource.api_version
    form: object = media.form
    show: Show
    if media.form is Form.TABLE:
        # The first event describes the columns and the others do not, so each client has its own.
        show, form = watch_tables(call), object()
    elif media.form is Form.METADATA:
        kind, api_version = Form.METADATA.value, media.api_version
        show = _metadata_shower(api_version)
        form = (media.form, api_version)
    else:
        model = call.model
        show = lambda value, revision: model.show(value, revision, resource)  # noqa: E731
    key = key_under(selection, call.served)
    blank = b"{}" if media.form is Form.METADATA else _blank(call)
    return Interest(call.served, selection, show, form, kind, api_version, blank, key)


def _blank(call: Call) -> bytes:
    """What objects of this kind always write, besides their names and metadata."""
    document = call.model.document(call.model.new(), call.resource.version)
    for name in ("apiVersion", "kind", "metadata"):
        document.pop(name, None)
    return msgspec.json.encode(document)


def _metadata_shower(api_version: str) -> Show:
    return lambda value, revision: metadata_of(value, revision, api_version)
