"""Replacing an object, or its status."""

from __future__ import annotations

from typing import Any

from dray.errors import AlreadyExists, BadRequest
from dray.http.messages import Answer
from dray.server.bodies import read_object
from dray.server.call import Call
from dray.server.options import write_options
from dray.server.refusals import conflict, modified, not_found
from dray.server.rights import require_create
from dray.server.verbs.create import placed, written_answer
from dray.server.writing import create_object, replace_object

__all__ = ["check_name", "update"]


async def update(call: Call) -> Answer:
    """Store the object in the body in place of the one of its name."""
    options = write_options(call.request.query, "UpdateOptions", user_agent=call.user_agent)
    now = call.now()
    obj = placed(call, await call.aside(0, read_object, call, options, now))
    check_name(call, obj)
    subresource = call.route.subresource
    record = call.services.store.head(call.key())
    if record is None:
        try:
            return await _create_instead(call, obj, options, now, subresource)
        except AlreadyExists:
            record = call.services.store.head(call.key())
            if record is None:
                raise  # and gone again: whoever puts it may try once more
    written = await replace_object(
        call, record, lambda _old: obj, options, now, subresource=subresource
    )
    return await written_answer(call, written)


async def _create_instead(call: Call, obj: Any, options: Any, now: Any, subresource: str) -> Answer:
    name, metadata = call.route.name, obj.metadata
    if subresource or not call.model.traits.allow_create_on_update:
        raise not_found(call.resource, name)
    require_create(call)
    if metadata.uid:
        told = f"Precondition failed: UID in precondition: {metadata.uid}, UID in object meta: "
        raise conflict(call.resource, name, told)
    if metadata.resource_version not in ("", "0"):
        raise modified(call.resource, name)
    return await written_answer(call, await create_object(call, obj, options, now))


def check_name(call: Call, obj: Any) -> None:
    """The body names the object of its path."""
    said, name = obj.metadata.name, call.route.name
    if not said:
        raise BadRequest(
            f"the name of the object ({name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if said != name:
        raise BadRequest(
            f"the name of the object ({said}) does not match the name on the URL ({name})"
        )
