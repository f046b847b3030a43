"""What the connections of one listener share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from dray.clock import Clock
from dray.http.budget import Budget
from dray.http.deadlines import Deadlines
from dray.http.encoder import HeadEncoder
from dray.http.head import HeadReader
from dray.http.limits import Limits
from dray.http.messages import Handler

# What is read from one socket before the others get their turn.
READ_BUFFER_BYTES: Final = 64 * 1024

__all__ = ["Counters", "Member", "Service"]


class Counters:
    """Plain numbers for metrics. Those in the second group only grow."""

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "connections_open",
        "connections_refused",
        "connections_total",
        "requests_in_flight",
        "requests_refused",
        "requests_total",
        "streams_open",
        "websockets_open",
    )

    def __init__(self) -> None:
        self.connections_open = 0
        self.requests_in_flight = 0
        self.streams_open = 0
        self.websockets_open = 0

        self.connections_total = 0
        self.connections_refused = 0  # beyond the most that may be open
        self.requests_total = 0
        self.requests_refused = 0  # malformed, too large or too late: the handler saw none of them
        self.bytes_received = 0  # inside TLS
        self.bytes_sent = 0


class Member(Protocol):
    """What a listener asks of its connections."""

    def wind_down(self) -> None:
        """Finish what is under way, begin nothing, and close."""
        ...

    def abort(self) -> None:
        """Drop the connection at once, and cancel what serves it."""
        ...


class Service:
    """Handler, limits, clock and loop; the connections that are open and the tasks that run."""

    def __init__(self, handler: Handler, *, limits: Limits, clock: Clock) -> None:
        self.handler = handler
        self.limits = limits
        self.clock = clock
        self.loop = asyncio.get_running_loop()
        self.counters = Counters()
        self.deadlines = Deadlines(clock)
        self.unfinished = Budget(limits.unfinished_bytes_max)  # of requests
        self.unread = Budget(limits.unread_bytes_max)  # of answers
        self.heads = HeadReader(limits)
        self.encoder = HeadEncoder(clock)
        self.read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))
        self.connections: set[Member] = set()
        # The loop alone would not keep a task from being collected.
        self.tasks: set[asyncio.Task[object]] = set()
        self.closing = False
        self._emptied: asyncio.Future[None] | None = None
        self._unflushed: list[Callable[[], None]] = []

    def remove(self, connection: Member) -> None:
        """The connection is gone."""
        self.connections.discard(connection)
        if not self.connections and self._emptied is not None and not self._emptied.done():
            self._emptied.set_result(None)

    async def emptied(self) -> None:
        """Wait until no connection is open."""
        if self.connections:
            self._emptied = self.loop.create_future()
            await self._emptied

    def flush_soon(self, flush: Callable[[], None]) -> None:
        """Call this before the loop waits again: by then all that is to be written now is known."""
        if not self._unflushed:
            self.loop.call_soon(self._flush)
        self._unflushed.append(flush)

    def _flush(self) -> None:
        unflushed, self._unflushed = self._unflushed, []
        for flush in unflushed:
            flush()
