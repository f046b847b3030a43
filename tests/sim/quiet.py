"""An event loop that knows when nothing is left to do.

Where time is a FakeClock's and the server is in the same process, a scenario has settled when the
loop would sleep: everybody waits for the clock, or for a socket. What code hands to threads is done
on the spot, so that it cannot be still under way then.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

__all__ = ["QuietLoop", "play"]

P = ParamSpec("P")
T = TypeVar("T")

# Real seconds. A scenario takes a few of them at most; this ends one that waits for nothing.
PATIENCE_SECONDS = 60.0


class _Selector(selectors.DefaultSelector):
    """Wakes who waits for the loop to be idle, instead of sleeping."""

    def __init__(self) -> None:
        super().__init__()
        self.idle: list[asyncio.Future[None]] = []
        # How long nothing may come through sockets until that counts as silence, in real seconds.
        self.grace_seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0 or not self.idle:
            return super().select(timeout)
        events = super().select(self.grace_seconds)
        if not events:
            for future in self.idle:
                if not future.done():
                    future.set_result(None)
            self.idle.clear()
        return events


class _Inline(ThreadPoolExecutor):
    """Does at once what it is given."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the result gets it
            future.set_exception(error)
        return future


class QuietLoop(asyncio.SelectorEventLoop):
    """The loop of a scenario."""

    def __init__(self) -> None:
        self._quiet = _Selector()
        super().__init__(self._quiet)
        self.set_default_executor(_Inline())

    def listen_for(self, grace_seconds: float) -> None:
        """Take silence for the end only if it lasts: there are sockets, with others behind them."""
        self._quiet.grace_seconds = grace_seconds

    async def settled(self) -> None:
        """Return once nobody can go on by themselves."""
        future = self.create_future()
        self._quiet.idle.append(future)
        await future


def play(scenario: Coroutine[Any, Any, None]) -> None:
    """Run a scenario to its end, and no longer than anybody has patience for."""
    with asyncio.Runner(loop_factory=QuietLoop) as runner:
        runner.run(asyncio.wait_for(scenario, PATIENCE_SECONDS))
