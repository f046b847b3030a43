"""Turns: whoever would change the same thing waits for those who came before.

For changes that are worked out from what is durable, and so cannot queue up behind each other in
the store. Who comes first goes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Turns"]


class Turns:
    """Turns by name; a name that nobody waits for costs nothing."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        """How many names somebody has, or waits for."""
        return len(self._locks)

    @asynccontextmanager
    async def take(self, name: str) -> AsyncIterator[None]:
        """Wait for the turn, and have it."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        self._counts[name] = self._counts.get(name, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name], self._locks[name]
