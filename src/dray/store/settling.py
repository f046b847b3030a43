"""Waiting for revisions to become durable."""

from __future__ import annotations

import asyncio
from collections import deque
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final

from dray.errors import StoreError

__all__ = ["Settling", "again"]

# Whoever read a head asks within moments whether it settled. So many failures with successes in
# between do not fit into a moment.
REFUSALS_MAX: Final = 256

# So many who gave up are kept before they are looked for: a client may name any revision, and give
# up on it a moment later, again and again.
GONE_MAX: Final = 64


def again(error: StoreError) -> StoreError:
    """The same error for another caller: a traceback belongs to one of them."""
    copy = type(error)(*error.args)
    copy.__cause__ = error
    return copy


class Settling:
    """Who waits for which revision, and which ones will never be durable."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()
        self._gone_count = 0
        # First and last revision, and why.
        self._refused: deque[tuple[int, int, StoreError]] = deque(maxlen=REFUSALS_MAX)

    def refusal(self, revision: int) -> StoreError | None:
        """Why the revision will never be durable, if so."""
        for first, last, error in self._refused:
            if first <= revision <= last:
                return error
        return None

    async def wait(self, revision: int) -> None:
        """Return when the revision is reached; raise if it is refused."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (revision, next(self._order), future))
        try:
            await future
        finally:
            if future.cancelled():
                self._forget_gone()

    def reach(self, revision: int) -> None:
        """Everything up to the revision is durable, except what was refused."""
        while self._waiting and self._waiting[0][0] <= revision:
            future = heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)

    def refuse(self, first: int, last: int, error: StoreError) -> None:
        """These revisions will never be durable; those before them are."""
        if first <= last:
            self._refused.append((first, last, error))
            self._fail_up_to(last, error)

    def abandon(self, error: StoreError) -> None:
        """Nothing more will become durable."""
        if self._waiting:
            self._fail_up_to(max(self._waiting)[0], error)

    def _forget_gone(self) -> None:
        self._gone_count += 1
        if self._gone_count > max(GONE_MAX, len(self._waiting) // 2):
            self._waiting = [entry for entry in self._waiting if not entry[2].done()]
            heapify(self._waiting)
            self._gone_count = 0

    def _fail_up_to(self, last: int, error: StoreError) -> None:
        while self._waiting and self._waiting[0][0] <= last:
            future = heappop(self._waiting)[2]
            if not future.done():
                future.set_exception(again(error))
                # Whoever gave up waiting need not hear of it.
                future.exception()
