"""A way to an API server on which requests and answers get lost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from dray.client import Call, Reply, StreamedReply, Transport
from dray.errors import TransportError

__all__ = ["FaultyTransport"]

Fault: TypeAlias = Callable[[Call], Awaitable[None] | None]


class FaultyTransport:
    """Passes calls on. `before` and `after` may raise, or do something in between."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.before: Fault | None = None
        self.after: Fault | None = None
        self.writes: list[str] = []
        self._writing = 0

    async def request(self, call: Call) -> Reply:
        is_write = call.method != "GET"
        if is_write:
            self._writing += 1
            assert self._writing == 1, "two writes at a time"
            self.writes.append(call.method)
        try:
            await _fault(self.before, call)
            reply = await self._transport.request(call)
            await _fault(self.after, call)
        finally:
            self._writing -= is_write
        return reply

    async def stream(self, call: Call) -> StreamedReply:
        await _fault(self.before, call)
        return await self._transport.stream(call)

    async def close(self) -> None:
        await self._transport.close()

    def go_down(self) -> None:
        """From now on nothing arrives."""

        def lost(call: Call) -> None:
            raise TransportError(f"{call}: no route to host")

        self.before = lost

    def lose_answers(self, count: int) -> None:
        """The next writes happen, but nobody hears of it."""
        left = count

        def lost(call: Call) -> None:
            nonlocal left
            if call.method != "GET" and left > 0:
                left -= 1
                raise TransportError(f"{call}: connection reset")

        self.after = lost

    def recover(self) -> None:
        """Everything arrives again."""
        self.before = self.after = None


async def _fault(fault: Fault | None, call: Call) -> None:
    if fault is not None:
        waiting = fault(call)
        if waiting is not None:
            await waiting
