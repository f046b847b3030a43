"""Waiting for one thing unless another comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

__all__ = ["Interrupted", "cancelled", "unless"]

T = TypeVar("T")


class Interrupted(Exception):
    """What was waited for does not matter any more. Not a failure: nobody is told."""


async def unless(event: asyncio.Event, awaitable: Awaitable[T]) -> T:
    """Wait for a result; once the event happens, cancel it and raise Interrupted."""
    task = asyncio.ensure_future(awaitable)
    happened = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait((task, happened), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Interrupted
    finally:
        await cancelled(happened)
        await cancelled(task)


async def cancelled(task: asyncio.Future[Any]) -> None:
    """Cancel a task, and wait until it is gone; how it ended is its own affair."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
