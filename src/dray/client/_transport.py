"""What a client needs of a connection to an API server: requests out, replies and streams back.

A transport knows how bytes travel and who is asking; paths, kinds and errors of the API are the
client's. It raises TransportError for whatever kept a reply from arriving. `HTTPTransport` speaks
HTTP over a socket, `in_process` calls a server in the same process, tests bring their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from dray.http.messages import Header

__all__ = ["Call", "Reply", "StreamedReply", "Transport"]


class Call(Struct, frozen=True):
    """One request, complete. Path and query are as they are meant: the transport escapes them."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[Header, ...] = ()  # beyond what the transport adds; names in lower case
    body: bytes = b""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Reply(Struct, frozen=True):
    """An answer, complete."""

    status: int
    headers: Mapping[str, str]  # names in lower case; repeated ones joined by ", "
    body: bytes


class StreamedReply(Protocol):
    """An answer whose body arrives bit by bit. Whoever has one closes it."""

    status: int
    headers: Mapping[str, str]

    async def read(self) -> bytes:
        """What has arrived since, waiting for it if need be; empty at the proper end.

        Raises TransportError when the end is not a proper one.
        """
        ...

    def close(self) -> None:
        """Read no further. Closing again does nothing."""
        ...


class Transport(Protocol):
    """The way to one API server, as one user."""

    async def request(self, call: Call) -> Reply:
        """The answer. Raises TransportError."""
        ...

    async def stream(self, call: Call) -> StreamedReply:
        """The answer as soon as its head is there. Raises TransportError."""
        ...

    async def close(self) -> None:
        """Give up every connection. Requests that are under way fail."""
        ...
