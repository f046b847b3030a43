"""One stored object as its client wants to see it: whole, its metadata, or a row."""

from __future__ import annotations

from dray.http.messages import Response
from dray.server.answers import document, metadata_of
from dray.server.call import Call
from dray.server.negotiation import Encoding, Form
from dray.server.tabling import one_row

__all__ = ["object_answer"]


async def object_answer(call: Call, status: int, value: bytes, revision: int) -> Response:
    """A stored value in the form that was asked for."""
    media = call.media
    if media.encoding is not Encoding.JSON or media.form is not Form.OBJECT:
        size = len(value)
        return await call.aside(size, _object_answer, call, status, value, revision)
    return _object_answer(call, status, value, revision)


def _object_answer(call: Call, status: int, value: bytes, revision: int) -> Response:
    media = call.media
    if media.form is Form.OBJECT:
        return document(call, status, call.model.show(value, revision, call.resource))
    if media.form is Form.METADATA:
        return document(call, status, metadata_of(value, revision, media.api_version))
    return document(call, status, one_row(call, value, revision))
