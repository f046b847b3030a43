"""Tasks that run as long as the server does, and are started again if they end before it.

What ends one is a bug: it is logged in full, and the task gets another chance after a while,
because a server whose namespaces are no longer furnished is still worth more than none. A task that
keeps failing shows in readiness.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

from dray.clock import Clock

__all__ = ["Supervisor"]

_log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 1.0

# A task that failed as often as this, in so short a time, will not come right. What failed longer
# ago is forgotten: a server that runs for months may meet a rare bug many times.
FAILURES_MAX: Final = 10
WINDOW_SECONDS: Final = 600.0


class Supervisor:
    """Runs tasks, by name, until it is stopped."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    def start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run this, which ends only when it is cancelled, or by mistake."""
        task = asyncio.ensure_future(self._run(name, work))
        self._tasks[name] = task

    async def _run(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        failures: deque[float] = deque(maxlen=FAILURES_MAX)  # when
        while True:
            task = asyncio.ensure_future(work())
            try:
                await asyncio.wait([task])
            finally:
                task.cancel()
            if self._stopping:
                return
            why = None if task.cancelled() else task.exception()
            now = self._clock.monotonic()
            failures.append(now)
            if len(failures) == FAILURES_MAX and now - failures[0] <= WINDOW_SECONDS:
                _log.error("the task %s ended once too often, and is given up", name, exc_info=why)
                return
            _log.error("the task %s ended, and is started again", name, exc_info=why)
            await self._clock.sleep(PAUSE_SECONDS)

    def problem(self) -> str | None:
        """Which tasks gave up, for readiness."""
        lost = sorted(name for name, task in self._tasks.items() if task.done())
        return f"no longer running: {', '.join(lost)}" if lost and not self._stopping else None

    async def stop(self) -> None:
        """End every task."""
        self._stopping = True
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
