"""One at a time for each claim: whoever has drivers work on claims holds them.

So two pods that share a claim cause one call: the second waits, and finds the claim prepared.
Claims are taken in the order of their names, so no two can wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from dray.agent.claims.claim_info import ClaimKey

__all__ = ["ClaimLocks"]


@dataclass(slots=True)
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users_count: int = 0  # who holds it or waits for it


class ClaimLocks:
    """Locks that exist as long as somebody wants them."""

    def __init__(self) -> None:
        self._entries: dict[ClaimKey, _Entry] = {}

    @asynccontextmanager
    async def hold(self, keys: Iterable[ClaimKey]) -> AsyncIterator[None]:
        """Wait until nobody else works on any of these, and keep others waiting meanwhile."""
        ordered = sorted(set(keys))
        held: list[ClaimKey] = []
        for key in ordered:
            self._entries.setdefault(key, _Entry()).users_count += 1
        try:
            for key in ordered:
                await self._entries[key].lock.acquire()
                held.append(key)
            yield
        finally:
            for key in held:
                self._entries[key].lock.release()
            for key in ordered:
                self._entries[key].users_count -= 1
                if not self._entries[key].users_count:
                    del self._entries[key]
