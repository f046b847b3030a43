"""Creating an object."""

from __future__ import annotations

from typing import Any

from dray.api.wire import replace
from dray.errors import BadRequest
from dray.http.messages import Answer
from dray.server.bodies import read_object
from dray.server.call import Call
from dray.server.objects import object_answer
from dray.server.options import write_options
from dray.server.writing import Written, create_object

__all__ = ["create", "placed", "written_answer"]


async def create(call: Call) -> Answer:
    """Store the object in the body, and return it as it was stored."""
    options = write_options(call.request.query, "CreateOptions", user_agent=call.user_agent)
    now = call.now()
    obj = placed(call, await call.aside(0, read_object, call, options, now))
    if obj.metadata.resource_version:
        # Upstream has this as an internal error; it is the client's mistake.
        raise BadRequest("resourceVersion should not be set on objects to be created")
    written = await create_object(call, obj, options, now)
    return await written_answer(call, written)


def placed(call: Call, obj: Any) -> Any:
    """The object in the namespace of its path, which it may leave out but not contradict."""
    metadata, namespace = obj.metadata, call.namespace
    if metadata.namespace == namespace:
        return obj
    if metadata.namespace and call.resource.namespaced:
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    return replace(obj, metadata=replace(metadata, namespace=namespace))


async def written_answer(call: Call, written: Written) -> Answer:
    """The object as it is now stored; a dry run that creates has no revision to show."""
    status = 201 if written.created else 200
    return await object_answer(call, status, written.value, written.revision)
