"""Deleting one object, or all that are selected."""

from __future__ import annotations

import asyncio
from typing import Final

from dray.api.meta import DeleteOptions
from dray.api.wire import Time
from dray.errors import APIError
from dray.http.messages import Answer
from dray.server.answers import large_document, status_answer
from dray.server.bodies import body_document
from dray.server.call import Call
from dray.server.deletion import Deleted, delete_object, would_be_orphaned_by_default
from dray.server.listing import Listing, list_document, read_list
from dray.server.objects import object_answer
from dray.server.options import delete_options, list_options
from dray.server.refusals import not_found, success
from dray.store.store import Record

__all__ = ["delete", "delete_collection"]

_ORPHANS: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)


async def delete(call: Call) -> Answer:
    """Delete an object, or begin to."""
    options = _options(call)
    record = call.services.store.head(call.key())
    if record is None:
        raise not_found(call.resource, call.route.name)
    deleted = await delete_object(call, record, options, call.now())
    return await _answer(call, deleted)


def _options(call: Call) -> DeleteOptions:
    options = delete_options(body_document(call), call.request.query)
    _warn_of_orphans(call, options)
    return options


def _warn_of_orphans(call: Call, options: DeleteOptions) -> None:
    if would_be_orphaned_by_default(call, options):
        call.warn(_ORPHANS)


async def _answer(call: Call, deleted: Deleted) -> Answer:
    metadata = deleted.object.metadata
    if deleted.gone and not call.model.traits.returns_deleted_object(call.resource.version):
        status = success(call.resource, metadata.name, metadata.uid)
        return status_answer(call, 200, status)
    return await object_answer(call, 200, deleted.value, deleted.revision)


async def delete_collection(call: Call) -> Answer:
    """Delete every object that the selectors mean, and list them."""
    options = delete_options(body_document(call), call.request.query)
    query = {name: values for name, values in call.request.query.items() if name not in _DELETION}
    listing = await read_list(call, list_options(query, watch=False))
    _warn_of_orphans(call, options)
    now = call.now()
    gone: list[Record] = []
    for start in range(0, len(listing.records), _TOGETHER):
        batch = listing.records[start : start + _TOGETHER]
        ends = [_end(call, record, options, now) for record in batch]
        gone += [record for record in await asyncio.gather(*ends) if record is not None]
    revision = call.services.store.revision
    return await large_document(call, 200, await list_document(call, Listing(gone, revision)))


# As many as share a commit; waiting for the disk once each would take as long as all of them.
_TOGETHER: Final = 64


async def _end(call: Call, record: Record, options: DeleteOptions, now: Time) -> Record | None:
    """Delete one of several; None if somebody else was quicker."""
    head = call.services.store.head(record.key)
    if head is None:
        return None
    try:
        await delete_object(call, head, options, now)
    except APIError as error:
        if error.reason in ("NotFound", "Conflict"):
            return None
        raise
    return record


# Options of the deletion, which a list would take for its own.
_DELETION: Final = frozenset({"gracePeriodSeconds", "orphanDependents", "propagationPolicy"})
