"""Chores by name: each done once however often it is asked for, and again later if it failed.

For what looks at what is there, not at what happened: who asks twice before it is done means the
same. One that fails waits a second, then twice as long each time, and holds up no other; being
asked for again, it is done at once. Upstream counterpart: client-go's util/workqueue.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from dray.clock import Clock

__all__ = ["Chores"]

# Most of what fails is a race or a disk that is emptied soon; what is not, a minute does not hurt.
FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 60.0


class Chores:
    """What is to be done. Bounded by the names there are, as long as what went well is told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ready: dict[str, None] = {}
        self._later: dict[str, float] = {}  # when
        self._pauses: dict[str, float] = {}  # how long the last one was, since it went well
        self._woken = asyncio.Event()

    def __len__(self) -> int:
        """How many are to be done, now or later."""
        return len(self._ready) + len(self._later)

    def add(self, name: str) -> None:
        """Ask for one, as soon as its turn comes."""
        self._later.pop(name, None)
        self._ready[name] = None
        self._woken.set()

    def failed(self, name: str) -> None:
        """Ask for one again, after a while; at once if somebody asked for it meanwhile."""
        pause = min(2 * self._pauses.get(name, FIRST_SECONDS / 2), LONGEST_SECONDS)
        self._pauses[name] = pause
        if name not in self._ready:
            self._later[name] = self._clock.monotonic() + pause
            self._woken.set()

    def succeeded(self, name: str) -> None:
        """Forget how often one failed, and do not try it again."""
        self._pauses.pop(name, None)
        self._later.pop(name, None)

    async def take(self) -> str:
        """The next to do, once there is one."""
        while True:
            self._woken.clear()
            now = self._clock.monotonic()
            for name in [name for name, when in self._later.items() if when <= now]:
                del self._later[name]
                self._ready[name] = None
            if self._ready:
                name = next(iter(self._ready))
                del self._ready[name]
                return name
            await self._wait(now)

    async def _wait(self, now: float) -> None:
        """Until one is asked for, or the time of one has come."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._woken.wait())]
        if self._later:
            seconds = min(self._later.values()) - now
            waits.append(asyncio.ensure_future(self._clock.sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
