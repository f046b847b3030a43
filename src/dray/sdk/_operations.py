"""Work on claims, side by side: each claim by one operation at a time, each to its end.

Operations that were begun go on even if whoever asked is gone: half a preparation is worse than an
unwanted one. They end by themselves, for everything in them has its deadline, as has waiting for
others. What an operation raises becomes a failure of its claim alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from dray.clock import Clock, within
from dray.errors import DrayError
from dray.sdk._claims import ClaimName
from dray.sdk._failures import ClaimFailure, ErrorClass, classify
from dray.sdk._serialization import ClaimLocks

__all__ = ["OperationMetrics", "Operations", "Refused"]

_log = logging.getLogger(__name__)

# More at once does not make hardware faster.
CLAIMS_AT_ONCE: Final = 32

T = TypeVar("T")

# Hears how many seconds an operation took, and how it ended.
Note: TypeAlias = Callable[[float, BaseException | None], None]


class OperationMetrics(Protocol):
    """Who counts what is done for nodes."""

    def prepared(self, seconds: float, error: BaseException | None = None) -> None: ...

    def unprepared(self, seconds: float, error: BaseException | None = None) -> None: ...


class Refused(DrayError):
    """Ends work on a claim with a failure."""

    def __init__(self, failure: ClaimFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Operations:
    """What is going on for claims. `locks` are held by whoever works on one."""

    def __init__(self, *, clock: Clock) -> None:
        self.locks: Final = ClaimLocks()
        self._clock = clock
        self._slots = asyncio.Semaphore(CLAIMS_AT_ONCE)
        self._tasks: set[asyncio.Task[Any]] = set()

    async def each(
        self,
        claims: Iterable[ClaimName],
        work: Callable[[ClaimName], Awaitable[T]],
        note: Note | None = None,
        *,
        deadline: float,
    ) -> dict[str, T | ClaimFailure]:
        """Do the same for each claim; for one that is named twice, once. The result is by UID.

        What cannot be begun before the deadline is refused.
        """
        tasks: dict[str, asyncio.Task[T]] = {}
        for claim in claims:
            if claim.uid not in tasks:
                tasks[claim.uid] = self._begin(self._one(claim, work, note, deadline))
        if tasks:
            await asyncio.wait(tasks.values())
        return {uid: _result(task) for uid, task in tasks.items()}

    async def finish(self) -> None:
        """Wait for everything that was begun."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _begin(self, operation: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(operation)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Seen, even if whoever asked is gone.
            task.exception()

    async def _one(
        self,
        claim: ClaimName,
        work: Callable[[ClaimName], Awaitable[T]],
        note: Note | None,
        deadline: float,
    ) -> T:
        with _Timed(self._clock, note):
            async with AsyncExitStack() as turn:
                left_seconds = max(deadline - self._clock.monotonic(), 0.0)
                try:
                    await within(self._clock, left_seconds, self._wait(claim, turn))
                except TimeoutError as error:
                    message = f"other work has kept claim {claim} waiting for {left_seconds:g} s"
                    raise Refused(ClaimFailure(message, ErrorClass.TRANSIENT)) from error
                return await work(claim)

    async def _wait(self, claim: ClaimName, turn: AsyncExitStack) -> None:
        # The claim first: those who wait for one claim are to take no more than one slot.
        await turn.enter_async_context(self.locks.hold(claim.uid))
        await turn.enter_async_context(self._slots)


class _Timed:
    """Notes how long something took, and how it ended."""

    def __init__(self, clock: Clock, note: Note | None) -> None:
        self._clock = clock
        self._note = note
        self._started_at = clock.monotonic()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._note is not None:
            told = error.failure.as_error() if isinstance(error, Refused) else error
            self._note(self._clock.monotonic() - self._started_at, told)


def _result(task: asyncio.Task[T]) -> T | ClaimFailure:
    if task.cancelled():
        return ClaimFailure("the driver is stopping", ErrorClass.TRANSIENT)
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, Refused):
        return error.failure
    error_class, message = classify(error)
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        # A full disk, most likely. Nothing is lost: the journal says how far it came.
        error_class, message = ErrorClass.TRANSIENT, f"cannot keep the driver's state: {error}"
    if not isinstance(error, DrayError):
        _log.error("work on a claim failed: %s", message, exc_info=error)
    return ClaimFailure(message, error_class)
