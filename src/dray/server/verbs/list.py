"""Listing the objects of a resource."""

from __future__ import annotations

from dray.http.messages import Answer
from dray.server.answers import large_document
from dray.server.call import Call
from dray.server.listing import list_document, read_list
from dray.server.options import list_options

__all__ = ["list_"]


async def list_(call: Call) -> Answer:
    """The objects that are asked for, all from one state."""
    options = list_options(call.request.query, watch=False)
    listing = await read_list(call, options)
    return await large_document(call, 200, await list_document(call, listing))
