"""Waiting for a revision the store has not reached, as clients that know the future ask for it.

Upstream counterpart: the watch cache's waitUntilFreshAndBlock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from dray.clock import Clock
from dray.errors import BadRequest, quote
from dray.server.refusals import too_large_revision
from dray.store.store import Event, Store

__all__ = ["parse_revision", "reach"]

# A replica may lag behind what a client saw elsewhere; there is no replica here, so a client that
# is ahead for longer talks about another store.
WAIT_SECONDS: Final = 3.0


def parse_revision(text: str) -> int:
    """A resourceVersion in a query: a number, 0 if it says nothing. Raises BadRequest."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS_MAX:
        raise BadRequest(
            f"invalid resource version: resourceVersion: Invalid value: {quote(text)}: "
            f"strconv.ParseUint: parsing {quote(text)}: invalid syntax"
        )
    return int(text)


_DIGITS_MAX: Final = 20


async def reach(store: Store, clock: Clock, revision: int) -> None:
    """Return once the store is at the revision. Raises Timeout if that takes too long."""
    if store.revision >= revision:
        return
    there = asyncio.Event()

    def look(events: Sequence[Event]) -> None:
        if events[-1].revision >= revision:
            there.set()

    subscription = store.watch("", store.revision, look)
    waits = [asyncio.ensure_future(there.wait()), asyncio.ensure_future(clock.sleep(WAIT_SECONDS))]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        subscription.close()
        for wait in waits:
            wait.cancel()
    if store.revision < revision:
        raise too_large_revision(revision, store.revision)
