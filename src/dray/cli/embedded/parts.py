"""Parts of a process that go on for ever, side by side: the first that ends is a failure of all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from dray.errors import InternalError

__all__ = ["Parts"]

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Parts:
    """Started in order, ended in reverse."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ending: set[str] = set()
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Have it go on, until it is ended here."""
        task = asyncio.ensure_future(work)
        self._tasks[name] = task
        task.add_done_callback(lambda done: self._ended(name, done))

    async def until(self, wanted: Awaitable[T]) -> T:
        """Wait for something, unless a part fails meanwhile: its error is raised then."""
        waiting = asyncio.ensure_future(wanted)
        try:
            await asyncio.wait((waiting, self._failed), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                self._failed.result()
            return waiting.result()
        finally:
            if not waiting.done():
                waiting.cancel()
                await asyncio.wait((waiting,))

    async def end(self, name: str) -> None:
        """End a part, whether or not it has failed, and wait for that."""
        task = self._tasks.pop(name, None)
        if task is None:
            return
        self._ending.add(name)
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled() and task.exception() is not None and not self._tells(task):
            _log.error("%s failed while it was ended", name, exc_info=task.exception())

    async def end_all(self) -> None:
        """End what is left, the last first."""
        for name in reversed(list(self._tasks)):
            await self.end(name)
        # What failed was raised to whoever waited; nobody may have.
        if self._failed.done():
            with suppress(asyncio.CancelledError):
                self._failed.exception()

    def _tells(self, task: asyncio.Task[None]) -> bool:
        return self._failed.done() and self._failed.exception() is task.exception()

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if name in self._ending or self._failed.done():
            return
        if task.cancelled() or task.exception() is None:
            self._failed.set_exception(InternalError(f"{name} ended by itself"))
        else:
            self._failed.set_exception(task.exception() or InternalError(name))
