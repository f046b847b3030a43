"""Calls into a driver author's code: retried while that can help, ended in time, never trusted.

What the code raises becomes a failure with a class. Something it did not mean to raise is logged
with its traceback. A transient error is tried again with growing pauses, because a kubelet that is
told of it comes back only after a minute or more. A call that does not end when it is cancelled is
given up: the answer does not wait for it, but nothing else is called for its subject until it ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from inspect import isawaitable
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import DrayError, DriverError, TransientError
from dray.sdk._failures import ErrorClass, classify

__all__ = ["Calls", "Contained", "Outcome", "attempt"]

_log = logging.getLogger(__name__)

# A device that was just released is ready after some tenths of a second; a driver that restarts,
# after some seconds.
PAUSE_SECONDS: Final = 0.2
PAUSE_SECONDS_MAX: Final = 5.0

# How long a call that was cancelled may take to clean up. With the time for a preparation and for
# undoing it, this leaves the kubelet its answer.
GRACE_SECONDS: Final = 2.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What a call returned, or why it did not."""

    value: T | None = None
    error_class: ErrorClass | None = None
    message: str = ""

    @property
    def failed(self) -> bool:
        return self.error_class is not None


async def attempt(what: str, call: Callable[[], Awaitable[T]]) -> T:
    """Call once, however long it takes. A mistake is logged, and raised as TransientError."""
    task = asyncio.ensure_future(_called(call))
    try:
        await asyncio.wait((task,))
    finally:
        task.cancel()  # no matter to one that ended
    if task.cancelled():
        raise TransientError("the call was cancelled")
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, DrayError):
        raise error
    _log.error("%s raised what it should not", what, exc_info=error)
    _, message = classify(error)
    raise TransientError(message) from error


class Contained:
    """A block of an author's code whose mistakes are logged, and go no further."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if isinstance(error, Exception):
            _log.error("%s raised what it should not", self._what, exc_info=error)
        return isinstance(error, Exception)


class Calls:
    """Makes calls on a clock."""

    def __init__(self, *, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy
        # Calls that were given up, and do not end.
        self._stuck: dict[Hashable, asyncio.Future[Any]] = {}

    async def make(
        self,
        what: str,
        call: Callable[[], Awaitable[T]],
        *,
        deadline: float,
        subject: Hashable = None,
    ) -> Outcome[T]:
        """Call until it succeeds, fails for good, or the deadline is near.

        As long as a call for the same subject is stuck, no other is made.
        """
        pause_seconds = PAUSE_SECONDS
        attempt = 1
        while True:
            error = await self._attempt(call, deadline, subject)
            if isinstance(error, Outcome):
                return error
            error_class, message = classify(error)
            if not isinstance(error, (DriverError, TimeoutError)):
                _log.error("%s raised what it should not", what, exc_info=error)
            left_seconds = deadline - self._clock.monotonic()
            if not isinstance(error, TransientError) or left_seconds <= pause_seconds:
                if attempt > 1:
                    message = f"{message} (after {attempt} attempts)"
                return Outcome(error_class=error_class, message=message)
            _log.info("%s: %s; trying again in %.1f s", what, message, pause_seconds)
            await self._clock.sleep(pause_seconds * self._entropy.uniform(0.5, 1.0))
            pause_seconds = min(2 * pause_seconds, PAUSE_SECONDS_MAX)
            attempt += 1

    async def _attempt(
        self, call: Callable[[], Awaitable[T]], deadline: float, subject: Hashable
    ) -> Outcome[T] | BaseException:
        seconds = deadline - self._clock.monotonic()
        if seconds <= 0:
            return TransientError("no time was left for it: the driver is busy")
        if subject in self._stuck:
            message = "an earlier call does not end, not even when it is cancelled"
            return Outcome(error_class=ErrorClass.TRANSIENT, message=message)
        task = asyncio.ensure_future(_called(call))
        late = True
        try:
            late = not await self._ends(task, seconds)
        finally:
            if late:
                task.cancel()
                if not await self._ends(task, GRACE_SECONDS):
                    self._give_up(subject, task)
        if not task.done() or (late and task.cancelled()):
            return TimeoutError(f"not done after {seconds:g} s")
        if task.cancelled():
            return TransientError("the call was cancelled")
        error = task.exception()
        return Outcome(task.result()) if error is None else error

    async def _ends(self, task: asyncio.Future[Any], seconds: float) -> bool:
        alarm = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait((task, alarm), return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
        return task.done()

    def _give_up(self, subject: Hashable, task: asyncio.Future[Any]) -> None:
        def ended(_: asyncio.Future[Any]) -> None:
            self._stuck.pop(subject, None)
            if not task.cancelled():
                # Seen: nobody waits for it any more.
                task.exception()

        self._stuck[subject] = task
        task.add_done_callback(ended)


async def _called(call: Callable[[], Awaitable[T]]) -> T:
    # What is raised before the first await is raised in here, too. A method that waits for nothing
    # may be a plain one.
    answer: Any = call()
    result: T = await answer if isawaitable(answer) else answer
    return result
