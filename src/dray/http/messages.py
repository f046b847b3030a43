"""What passes between the wire and the rest of the server: requests, and three kinds of answers.

A handler takes a Request whose body has arrived whole (a server that knows its limit can wait for
it), and returns a Response that is ready, a Stream that it will feed, or an Upgrade to websockets.
When the client goes away, a handler that only reads (GET, HEAD) is cancelled; any other is left to
finish what it began, and its answer is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

__all__ = [
    "Answer",
    "Channel",
    "Handler",
    "Header",
    "Peer",
    "Request",
    "Response",
    "Stream",
    "Upgrade",
    "WebSocket",
]

Header: TypeAlias = tuple[str, str]


class Peer(Struct, frozen=True):
    """Who is at the other end of a connection."""

    address: str  # host:port
    certificate: bytes | None = None  # DER, verified against the client CA; None without one


class Request(Struct, frozen=True):
    """One request, complete. A struct, as Response is: they are made for every request."""

    method: str
    path: str  # percent-decoded, without the query
    query: Mapping[str, Sequence[str]]  # every value of every parameter, decoded, in order
    headers: Mapping[str, str]  # names in lower case; repeated ones joined by ", "
    body: bytes
    peer: Peer


class Response(Struct, frozen=True):
    """An answer that is ready. Content-Length and Date are added by the connection."""

    status: int
    headers: Sequence[Header] = ()
    body: bytes = b""


class Channel(Protocol):
    """The open end of a Stream."""

    def write(self, data: bytes) -> None:
        """Send bytes soon, as one chunk. Never waits; after the end it does nothing."""
        ...

    def write_framed(self, chunk: bytes) -> None:
        """Like `write`, for what `dray.http.chunks.frame` made once for many channels."""
        ...

    def close(self) -> None:
        """End the stream properly: the client sees that it is complete."""
        ...

    def abort(self) -> None:
        """Drop the connection: the client sees that something is missing."""
        ...

    @property
    def buffered(self) -> int:
        """Bytes written that the client has not taken yet. A slow client is seen here."""
        ...


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer in chunks. `start` gets the channel once the head is on its way.

    `ended` is called once, when the client goes away or the channel is closed or aborted, or the
    server shuts down (then before the connection is closed, with the channel still writable). When
    the client is gone before the head can be sent, or asks for the head alone, `start` is never
    called and `ended` is. A client that leaves too much unread is dropped.
    """

    status: int
    headers: Sequence[Header]
    start: Callable[[Channel], None]
    ended: Callable[[], None] = field(default=lambda: None)


class WebSocket(Protocol):
    """An upgraded connection: whole binary messages in both directions. One task reads it."""

    async def receive(self) -> bytes | None:
        """The next message, or None once the other end closed or went away."""
        ...

    async def send(self, message: bytes) -> None:
        """Send a binary message; waits while the client is slow.

        Raises TransportError once the other end closed or went away.
        """
        ...

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close properly."""
        ...


@dataclass(frozen=True, slots=True)
class Upgrade:
    """An answer that turns the connection into a websocket, served by `serve` until it returns.

    When it does not close the websocket, the connection does, and says whether `serve` failed.
    Only to a request that asks for it; `protocol` is the subprotocol chosen from those offered.
    """

    serve: Callable[[WebSocket], Coroutine[Any, Any, None]]
    protocol: str = ""


Answer: TypeAlias = Response | Stream | Upgrade
Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Answer]]
