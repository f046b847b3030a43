"""Lists: which state, which page, and the document around the items.

A list without a revision shows the newest state. One with a revision asks for a state at least, or
exactly, as old; a page asks for the state its first page showed. Upstream counterpart: GetList of
apiserver pkg/storage/etcd3/store.go and its cacher.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from dray.errors import BadRequest, Expired, RevisionCompacted
from dray.server.answers import metadata_of
from dray.server.call import Call
from dray.server.continuation import ANY_REVISION, Continuation
from dray.server.negotiation import Form
from dray.server.options import ListOptions
from dray.server.revisions import parse_revision, reach
from dray.server.selection import Selection, key_under, select
from dray.server.slices import SLICE, in_slices
from dray.server.tabling import table_document
from dray.store.store import Record

__all__ = ["Listing", "list_document", "read_list"]

_TOO_OLD: Final = "The resourceVersion for the provided list is too old."
_TOO_OLD_TO_GO_ON: Final = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this "
    "response to retrieve the remainder of the results. Continuing with the provided token "
    "results in an inconsistent list - objects that were created, modified, or deleted between "
    "the time the first chunk was returned and now may show up in the list."
)

# How many records are looked at in one go while searching for a page of those that match.
_CHUNK: Final = 1000


@dataclass(frozen=True, slots=True)
class Listing:
    """Some objects of a resource, all from one state."""

    records: Sequence[Record]
    revision: int
    continue_: str = ""
    remaining: int | None = None


async def read_list(call: Call, options: ListOptions) -> Listing:
    """The records a client asked for. Raises BadRequest, Expired, Timeout."""
    selection = select(call.served, call.namespace, options.labels, options.fields)
    revision = parse_revision(options.revision)
    if options.continue_:
        if revision:
            raise BadRequest("specifying resource version is not allowed when using continue")
        return await _next_page(call, options, selection)
    if revision:
        await reach(call.services.store, call.services.clock, revision)
    limit = options.limit
    exact = options.match == "Exact" or bool(revision and limit and not options.match)
    # Events are too many and too short-lived to be kept by those who answer from memory.
    if options.revision == "0" and call.resource.plural != "events":
        limit = 0  # any state will do, so it comes from memory, where pages save nothing
    try:
        return await _page(call, selection, limit, revision if exact else 0, "")
    except RevisionCompacted as error:
        raise Expired(_TOO_OLD) from error


async def _next_page(call: Call, options: ListOptions, selection: Selection) -> Listing:
    token = Continuation.decode(options.continue_)
    revision = 0 if token.revision == ANY_REVISION else token.revision
    if revision > call.services.store.revision:
        raise BadRequest("continue key is not valid: it comes from another store")
    try:
        return await _page(call, selection, options.limit, revision, token.after)
    except RevisionCompacted as error:
        raise _expired_token(token) from error


def _expired_token(token: Continuation) -> Expired:
    error = Expired(_TOO_OLD_TO_GO_ON)
    error.continue_token = Continuation(ANY_REVISION, token.after).encode()
    return error


async def _page(call: Call, selection: Selection, limit: int, revision: int, after: str) -> Listing:
    store = call.services.store
    prefix = selection.prefix
    start = prefix + after if after else ""
    if selection.everything:
        page = store.range(prefix, after=start, limit=limit, revision=revision)
        if not page.remaining_count:
            return Listing(page.records, page.revision)
        token = Continuation(page.revision, page.records[-1].key.removeprefix(prefix))
        return Listing(page.records, page.revision, token.encode(), page.remaining_count)
    key = key_under(selection, call.served)
    if key is not None and not revision:
        record = store.get(key)
        found = [record] if record and record.key > start and selection.matches(record) else []
        return Listing(found, store.revision)
    return await _matching(call, selection, limit, revision, start)


async def _matching(
    call: Call, selection: Selection, limit: int, revision: int, start: str
) -> Listing:
    store = call.services.store
    found: list[Record] = []
    while True:
        size = _CHUNK if limit else 0
        page = store.range(selection.prefix, after=start, limit=size, revision=revision)
        revision = revision or page.revision
        for index, record in enumerate(page.records):
            if index % SLICE == SLICE - 1:
                await asyncio.sleep(0)
            if not selection.matches(record):
                continue
            found.append(record)
            if limit and len(found) == limit:
                if index + 1 == len(page.records) and not page.remaining_count:
                    return Listing(found, page.revision)
                token = Continuation(page.revision, record.key.removeprefix(selection.prefix))
                return Listing(found, page.revision, token.encode())
        if not page.remaining_count:
            return Listing(found, page.revision)
        start = page.records[-1].key
        await asyncio.sleep(0)


# The document ----------------------------------------------------------------------------------


async def list_document(call: Call, listing: Listing) -> bytes:
    """The list as the client wants to see it, as JSON."""
    media, resource = call.media, call.resource
    metadata = {"resourceVersion": str(listing.revision)}
    if listing.continue_ or (resource.custom and media.form is Form.OBJECT):
        # What users define says even that there is no more.
        metadata["continue"] = listing.continue_
    told = msgspec.json.encode(metadata)
    if listing.remaining is not None and listing.continue_:
        told = b'%s,"remainingItemCount":%d}' % (told[:-1], listing.remaining)
    if media.form is Form.TABLE:
        return await table_document(call, listing.records, told)
    if media.form is Form.METADATA_LIST:
        kind, api_version = "PartialObjectMetadataList", media.api_version

        def shown(record: Record) -> bytes:
            return metadata_of(record.value, record.revision, api_version)
    else:
        kind, api_version = resource.list_kind, resource.api_version
        show = call.model.show

        def shown(record: Record) -> bytes:
            return show(record.value, record.revision, resource, typed=False)

    items = await in_slices(listing.records, shown)
    head = f'{{"kind":"{kind}","apiVersion":"{api_version}","metadata":'.encode()
    return b'%s%s,"items":[%s]}' % (head, told, b",".join(items))
