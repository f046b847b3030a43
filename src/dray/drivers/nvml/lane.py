"""A thread that makes blocking calls, one after the other, for an event loop.

Calls into a kernel driver may never return. The thread is one that nobody waits for at the end of
the process, and while a call is stuck others are refused at once instead of piling up behind it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, TypeVar, cast

from dray.sdk import Context, TransientError, within

__all__ = ["CALLS_MAX", "Lane"]

T = TypeVar("T")

# As many as a node asks for at once: health, discovery, and a claim for each GPU and its parts.
CALLS_MAX: Final = 256

_Job = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class Lane:
    """One thread and what waits for it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.Queue[_Job | None] = queue.Queue(CALLS_MAX)
        self._thread: threading.Thread | None = None
        self._stuck: asyncio.Future[Any] | None = None

    async def call(self, work: Callable[[], T], *, seconds: float, context: Context) -> T:
        """What the call returns, or raises. Raises TransientError where it takes too long.

        A call that is given up may still come to its end, so it must be one that may.
        """
        if self._stuck is not None and not self._stuck.done():
            raise TransientError(f"an earlier call of {self._name} has not returned")
        self._stuck = None
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        self._start()
        try:
            self._jobs.put_nowait((work, done, loop))
        except queue.Full:
            raise TransientError(f"{CALLS_MAX} calls of {self._name} are waiting") from None
        try:
            return cast("T", await within(context.clock, seconds, asyncio.shield(done)))
        except TimeoutError:
            self._stuck = done
            done.add_done_callback(_look_away)
            raise TransientError(f"{self._name} did not answer within {seconds:g} s") from None
        except asyncio.CancelledError:
            done.add_done_callback(_look_away)
            raise

    def close(self) -> None:
        """Have the thread end once it is done."""
        if self._thread is not None:
            self._thread = None
            try:
                self._jobs.put_nowait(None)
            except queue.Full:
                return

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=_work, args=(self._jobs,), name=self._name, daemon=True
            )
            self._thread.start()


class _Attempt:
    """Keeps whatever a call raised, to be raised again where the call was made."""

    def __init__(self) -> None:
        self.failure: BaseException | None = None

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.failure = failure
        return True


def _work(jobs: queue.Queue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        work, done, loop = job
        outcome: Any = None
        attempt = _Attempt()
        with attempt:
            outcome = work()
        try:
            loop.call_soon_threadsafe(_tell, done, outcome, attempt.failure)
        except RuntimeError:
            # The loop has ended: nobody is left to tell.
            return


def _tell(done: asyncio.Future[Any], outcome: Any, failure: BaseException | None) -> None:
    if done.cancelled():
        return
    if failure is None:
        done.set_result(outcome)
    else:
        done.set_exception(failure)


def _look_away(done: asyncio.Future[Any]) -> None:
    """Nobody waits for this any more, so nobody is to be told that it failed."""
    if not done.cancelled():
        done.exception()
