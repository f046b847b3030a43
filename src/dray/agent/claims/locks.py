"""One at a time for each claim: whoever has drivers work on claims holds them.

So two pods that share a claim cause one call: the second waits, and finds the claim prepared, or
hears why it is not. If everybody who waited for a driver that hangs tried it in turn, the last of
many pods would wait for many timeouts. Claims are taken in the order of their names, so no two can
wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from dray.agent.claims.claim_info import ClaimKey
from dray.agent.claims.failures import ClaimFailure

__all__ = ["ClaimLocks", "Turn"]


@dataclass(slots=True)
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users_count: int = 0  # who holds it or waits for it
    failed_count: int = 0
    failures: Sequence[ClaimFailure] = ()  # the last time it failed


class Turn:
    """One's own time with some claims."""

    def __init__(
        self, entries: Mapping[ClaimKey, _Entry], failed_before: Mapping[ClaimKey, int]
    ) -> None:
        self._entries = entries
        self._failed_before = failed_before

    def heard(self, key: ClaimKey) -> Sequence[ClaimFailure]:
        """What somebody failed with while we waited for this claim."""
        entry = self._entries[key]
        return entry.failures if entry.failed_count > self._failed_before[key] else ()

    def tell(self, failures: Iterable[ClaimFailure]) -> None:
        """Let those who wait for these claims know."""
        by_key: dict[ClaimKey, list[ClaimFailure]] = {}
        for failure in failures:
            by_key.setdefault(failure.claim.key, []).append(failure)
        for key in by_key.keys() & self._entries.keys():
            self._entries[key].failures = by_key[key]
            self._entries[key].failed_count += 1


class ClaimLocks:
    """Locks that exist as long as somebody wants them."""

    def __init__(self) -> None:
        self._entries: dict[ClaimKey, _Entry] = {}

    @asynccontextmanager
    async def hold(self, keys: Iterable[ClaimKey]) -> AsyncIterator[Turn]:
        """Wait until nobody else works on any of these, and keep others waiting meanwhile."""
        mine = {key: self._entries.setdefault(key, _Entry()) for key in sorted(set(keys))}
        for entry in mine.values():
            entry.users_count += 1
        failed_before = {key: entry.failed_count for key, entry in mine.items()}
        held: list[_Entry] = []
        try:
            for entry in mine.values():
                await entry.lock.acquire()
                held.append(entry)
            yield Turn(mine, failed_before)
        finally:
            for entry in held:
                entry.lock.release()
            for key, entry in mine.items():
                entry.users_count -= 1
                if not entry.users_count:
                    del self._entries[key]
