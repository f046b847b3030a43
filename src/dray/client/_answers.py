"""From the bytes of an answer to objects, lists, or the error they stand for.

Whatever a server sends that is not what was asked for becomes a TransportError that names the
request: nobody downstream meets a half-read object. Objects arrive at their kind's newest version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from dray.api.codec import decode
from dray.api.meta import ListMeta
from dray.api.scheme import Kind, Version
from dray.api.wire import Struct, replace
from dray.client._transport import Call, Reply, StreamedReply
from dray.errors import (
    APIError,
    DecodeError,
    DrayError,
    Expired,
    StatusDetails,
    TransportError,
    error_from_status,
    shorten,
)

__all__ = [
    "OBJECT_BYTES_MAX",
    "TURN_OBJECTS",
    "error_of",
    "is_unserved",
    "read_list",
    "read_object",
    "read_struct",
    "refusal",
    "retry_after_seconds",
]

# What a server takes as one object is 3 MiB; what it adds to it (managed fields, status) counts
# beyond, and servers can be told to take more.
OBJECT_BYTES_MAX: Final = 16 * 1024 * 1024

# What is read without a pause: a page of pods in a few milliseconds, after which others in this
# process may run. A server need not mind how many objects it was asked for, and one that has
# forgotten where a list began is asked for all of it.
TURN_OBJECTS: Final = 500

S = TypeVar("S", bound=Struct)


class _Page(msgspec.Struct, gc=False):
    """A list, its items not looked into."""

    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    items: tuple[msgspec.Raw, ...] | None = None


_PAGES: Final = msgspec.json.Decoder(_Page)


def read_object(data: bytes, kind: Kind, version: Version, call: Call) -> Any:
    """The object, at the newest version of its kind. Raises TransportError."""
    obj: Any = read_struct(data, version.type, call)
    if obj.kind != kind.name and obj.kind:
        what = f"{shorten(obj.kind)} where {kind.name} was expected"
        raise TransportError(f"{call}: the server sent a {what}")
    if version.to_hub is not None:
        obj = version.to_hub(obj)
    api_version = kind.api_version(kind.hub.name)
    if obj.api_version != api_version or not obj.kind:
        # Lists leave both out, and other versions of the same shape have other names.
        obj = replace(obj, api_version=api_version, kind=kind.name)
    return obj


def read_struct(data: bytes, type_: type[S], call: Call) -> S:
    """What the type says is there. Raises TransportError."""
    try:
        return decode(data, type_, bytes_max=OBJECT_BYTES_MAX)
    except DecodeError as error:
        raise TransportError(f"{call}: the server sent no {type_.__name__}: {error}") from error


async def read_list(
    data: bytes, kind: Kind, version: Version, call: Call
) -> tuple[list[Any], ListMeta]:
    """The objects of one page, and what is said about it. Raises TransportError."""
    try:
        page = _PAGES.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise TransportError(f"{call}: the server sent no list: {error}") from error
    items = []
    for count, item in enumerate(page.items or (), 1):
        items.append(read_object(bytes(item), kind, version, call))
        if count % TURN_OBJECTS == 0:
            await asyncio.sleep(0)
    return items, read_struct(bytes(page.metadata), ListMeta, call)


def error_of(call: Call, reply: Reply) -> DrayError:
    """What a reply that is no success stands for."""
    status = _status_in(reply.body)
    if status is None:
        told = shorten(reply.body[:_SHOWN_BYTES_MAX].decode(errors="replace").strip())
        said = f": {told}" if told else ""
        return TransportError(f"{call}: the server answered {reply.status} and no Status{said}")
    status.setdefault("code", reply.status)
    error = refusal(status)
    seconds = retry_after_seconds(reply)
    if seconds and not error.details.retry_after_seconds:
        told_details = error.details
        error.details = StatusDetails(
            name=told_details.name,
            group=told_details.group,
            kind=told_details.kind,
            uid=told_details.uid,
            causes=told_details.causes,
            retry_after_seconds=seconds,
        )
    return error


def refusal(status: Mapping[str, Any]) -> APIError:
    """The error that a Status stands for; whatever says 410 is Expired, by either reason."""
    error = error_from_status(status)
    if error.code == _GONE and not isinstance(error, Expired):
        return Expired(error.message, error.details)
    return error


def is_unserved(reply: Reply) -> bool:
    """Whether this says that there is no such path, not that there is no such object."""
    if reply.status != _NOT_FOUND:
        return False
    status = _status_in(reply.body)
    if status is None:
        return True
    details = status.get("details")
    return not (isinstance(details, dict) and details.get("name"))


def retry_after_seconds(reply: Reply | StreamedReply) -> int:
    """When to come back, in whole seconds; 0 if the server does not say."""
    told = reply.headers.get("retry-after", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) < _SECONDS_DIGITS_MAX else 0


_NOT_FOUND: Final = 404
_GONE: Final = 410

# Enough of an error page to see whose it is.
_SHOWN_BYTES_MAX: Final = 256

# Longer than anybody waits.
_SECONDS_DIGITS_MAX: Final = 7


def _status_in(body: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return found if isinstance(found, dict) and found.get("kind") == "Status" else None
