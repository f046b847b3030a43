"""Work that would hold up everybody, done aside: in a thread, one piece after the other.

All requests share one event loop. Reading, checking or printing one large object takes as long as
thousands of small requests, and a client may send nothing else. Such work goes to a thread. It gets
no quicker there, but the interpreter lets the loop have its turns in between. Small work is done at
once, because handing it over would cost more than it does.

There is one thread, because more would only take turns at the same interpreter. Who waits for it
waits in the queue of their flow, and flows take turns: a client that sends nothing but large
objects holds up its own, and each piece of others' work by one piece of its own at most.

What is done aside works on values alone: it must not touch the store, nor the state made from it,
nor anything else that the loop changes. While it is done others may write; whoever stores what came
of it says which revision it was made from. There is no upstream counterpart: goroutines are cheap.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

__all__ = ["LARGE_BYTES", "Aside"]

P = ParamSpec("P")
R = TypeVar("R")

# Nearly every object is smaller. One expression of a claim has at most 10 kB and takes the longest
# of all to check, some tens of milliseconds; so that is what a request can take at once.
LARGE_BYTES: Final = 16 * 1024

# How long the loop waits for its turn while there is work aside; Python's own choice is five times
# that, and a request needs several turns.
SWITCH_SECONDS: Final = 0.001


class Aside:
    """One thread for all that is large. Until it is started, everything is done at once."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._is_busy = False
        # Who waits, by flow; the flow whose turn is next comes first. No queue is empty.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def start(self) -> None:
        """Have a thread from now on."""
        sys.setswitchinterval(SWITCH_SECONDS)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="aside")

    def stop(self) -> None:
        """Forget what waits; what is being done ends by itself, unheard."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None
        waiting, self._waiting = self._waiting, {}
        for queue in waiting.values():
            for turn in queue:
                turn.cancel()

    async def do(
        self, size_bytes: int, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """What the work comes to, on something of this size. Raises what it raises."""
        return await self.do_for("", size_bytes, work, *args, **kwargs)

    async def do_for(
        self, flow: str, size_bytes: int, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """The same for a flow: whoever must not hold up others by what they ask for."""
        if size_bytes < LARGE_BYTES or self._thread is None:
            return work(*args, **kwargs)
        loop = asyncio.get_running_loop()
        if self._is_busy:
            await self._turn(flow, loop.create_future())
        self._is_busy = True
        try:
            if self._thread is None:  # stopped just when its turn came
                return work(*args, **kwargs)
            return await loop.run_in_executor(self._thread, lambda: work(*args, **kwargs))
        finally:
            self._pass_on()

    async def _turn(self, flow: str, turn: asyncio.Future[None]) -> None:
        """Wait until the thread is this flow's."""
        self._waiting.setdefault(flow, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # Given the turn just when it was given up on: nobody else will pass it on.
            if not turn.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Let the next flow have the thread."""
        self._is_busy = False
        waiting = self._waiting
        while waiting:
            flow = next(iter(waiting))
            queue = waiting.pop(flow)
            while queue:
                turn = queue.popleft()
                if turn.done():  # given up on
                    continue
                if queue:
                    waiting[flow] = queue
                self._is_busy = True
                turn.set_result(None)
                return
