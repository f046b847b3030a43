"""Long work on the event loop, a slice at a time.

Between slices others get their turn. Upstream counterpart: none; there every request has a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

__all__ = ["SLICE", "in_slices"]

T = TypeVar("T")
R = TypeVar("R")

# Stored objects that are looked at, or shown, in one go: some milliseconds.
SLICE: Final = 500


async def in_slices(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """What the work makes of each item. The items must not change meanwhile."""
    if len(items) <= SLICE:
        return [work(item) for item in items]
    done: list[R] = []
    for start in range(0, len(items), SLICE):
        done += [work(item) for item in items[start : start + SLICE]]
        await asyncio.sleep(0)
    return done
