"""Getting one object."""

from __future__ import annotations

from dray.http.messages import Answer
from dray.server.call import Call
from dray.server.objects import object_answer
from dray.server.refusals import not_found
from dray.server.revisions import parse_revision, reach

__all__ = ["get"]


async def get(call: Call) -> Answer:
    """The object, as it is durably stored."""
    store = call.services.store
    wanted = call.request.query.get("resourceVersion")
    if wanted:
        await reach(store, call.services.clock, parse_revision(wanted[0]))
    record = store.get(call.key())
    if record is None:
        raise not_found(call.resource, call.route.name)
    return await object_answer(call, 200, record.value, record.revision)
