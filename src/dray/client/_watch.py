"""A watch as its client reads it: lines of JSON, each an event with an object.

An ERROR event ends the watch with the error it carries. A stream that ends between two lines ends
the watch in the ordinary way: servers end watches after a while, and clients go on from the last
resourceVersion they saw. One that ends within a line is a TransportError.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar

import msgspec

from dray.api.meta import Object
from dray.api.scheme import Kind, Version
from dray.client._answers import OBJECT_BYTES_MAX, read_object, refusal
from dray.client._transport import Call
from dray.errors import TransportError, shorten

__all__ = ["EventType", "Events", "WatchEvent"]

# An object and what is written around it.
LINE_BYTES_MAX: Final = OBJECT_BYTES_MAX + 1024

T = TypeVar("T", bound=Object)


class EventType(Enum):
    """What happened. A bookmark has an object with a resourceVersion and nothing else."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[T]):
    """Something that happened to an object, and the object after it, or as it last was."""

    type: EventType
    object: T


class _Line(msgspec.Struct, gc=False):
    """An event, its object not looked into."""

    type: str
    object: msgspec.Raw


_LINES: Final = msgspec.json.Decoder(_Line)
_TYPES: Final = {each.value: each for each in EventType}
_ERROR: Final = "ERROR"

# How servers begin the lines of a watch, all of them. What follows up to the last brace is the
# object, if it can be read as one: then there is no need to look for its end first.
_HEADS: Final = tuple((f'{{"type":"{each.value}","object":'.encode(), each) for each in EventType)


class Events:
    """Turns the bytes of a watch into events, as they arrive."""

    def __init__(self, kind: Kind, version: Version, call: Call) -> None:
        self._kind = kind
        self._version = version
        self._call = call
        self._parts: list[bytes] = []  # of a line that has begun
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[WatchEvent[Any]]:
        """The events that are complete with these bytes.

        Raises TransportError, and the APIError that the server reports, after what came before.
        """
        *lines, rest = chunk.split(b"\n")
        if lines and self._parts:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts, self._size = [], 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        for line in lines:
            self._check_size(len(line))
            if line and not line.isspace():
                yield self._event(line)
        self._check_size(self._size)

    def finish(self) -> None:
        """The stream is over. Raises TransportError if an event is not."""
        if self._parts and not b"".join(self._parts).isspace():
            raise TransportError(f"{self._call}: the watch ended in the middle of an event")

    def _event(self, line: bytes) -> WatchEvent[Any]:
        for head, type_ in _HEADS:
            if line.startswith(head):
                try:
                    obj = read_object(line[len(head) : -1], self._kind, self._version, self._call)
                except TransportError:
                    break  # there may be more in the line than a type and an object
                if line.endswith(b"}"):
                    return WatchEvent(type_, obj)
                break
        return self._unusual(line)

    def _unusual(self, line: bytes) -> WatchEvent[Any]:
        """An event that is written in another way, or none."""
        call = self._call
        try:
            event = _LINES.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise TransportError(f"{call}: a line of the watch is no event: {error}") from error
        type_ = _TYPES.get(event.type)
        if type_ is not None:
            obj = read_object(bytes(event.object), self._kind, self._version, call)
            return WatchEvent(type_, obj)
        if event.type == _ERROR:
            raise refusal(_status(event.object, call))
        told = shorten(event.type)
        raise TransportError(f"{call}: the watch has an event of the unknown type {told!r}")

    def _check_size(self, size: int) -> None:
        if size > LINE_BYTES_MAX:
            told = f"a line of the watch has more than {LINE_BYTES_MAX} bytes"
            raise TransportError(f"{self._call}: {told}")


def _status(raw: msgspec.Raw, call: Call) -> dict[str, Any]:
    found = msgspec.json.decode(raw)
    if not isinstance(found, dict):
        raise TransportError(f"{call}: the watch ended with an error that is no Status")
    return found
