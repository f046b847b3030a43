"""What runs beside a driver's services, watched: nothing that fails does so unseen."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["Background"]


class Background:
    """Tasks with one owner, who hears of the first that fails and ends them all."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failed = asyncio.Event()
        self._error: BaseException | None = None

    def start(self, work: Coroutine[Any, Any, Any], *, name: str) -> None:
        """Have something run until it ends by itself or `stop` is called."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    @property
    def error(self) -> BaseException | None:
        """What the first task that failed raised."""
        return self._error

    async def failure(self) -> BaseException:
        """Wait until something fails; for ever, if nothing does."""
        await self._failed.wait()
        assert self._error is not None, "set before the event is"
        return self._error

    async def stop(self) -> None:
        """End everything, and wait for it."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None and self._error is None:
            self._error = error
            self._failed.set()
