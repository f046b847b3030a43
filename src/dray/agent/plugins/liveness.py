"""Whether a connected driver still answers.

A process that hangs keeps its connection. What gives it away is a call that times out, and a slow
call does that too. So a call that timed out makes an instance suspect, no more; then it is asked to
prepare nothing, which takes no time, every ten seconds until it answers. From the first question
that it leaves open it counts as hung; any answer, an error included, clears it. While suspect it is
called only if no other instance is better.

There is no question without suspicion: a healthy driver sees no extra calls. Upstream has no
counterpart: a kubelet does not notice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Final

from dray.clock import Clock, within
from dray.errors import DriverError, TransportError

__all__ = ["Liveness", "Verdict"]

PROBE_INTERVAL_SECONDS: Final = 10.0
PROBE_TIMEOUT_SECONDS: Final = 5.0


class Verdict(Enum):
    """What is thought of an instance."""

    RESPONSIVE = "responsive"
    SUSPECT = "suspect"
    HUNG = "hung"


class Liveness:
    """What the calls to one instance tell of it.

    `ask` is a call that costs nothing. `report` hears when the instance hangs and when it recovers.
    """

    def __init__(
        self,
        ask: Callable[[], Awaitable[object]],
        report: Callable[[Verdict], None],
        *,
        clock: Clock,
    ) -> None:
        self._ask = ask
        self._report = report
        self._clock = clock
        self._suspected = asyncio.Event()
        self._verdict = Verdict.RESPONSIVE

    @property
    def verdict(self) -> Verdict:
        return self._verdict

    def answered(self) -> None:
        """A call came back, whatever it said."""
        was = self._verdict
        self.forget()
        if was is Verdict.HUNG:
            self._report(Verdict.RESPONSIVE)

    def timed_out(self) -> None:
        """A call did not."""
        if self._verdict is Verdict.RESPONSIVE:
            self._verdict = Verdict.SUSPECT
            self._suspected.set()

    def forget(self) -> None:
        """Whoever it was is gone: the next to connect is innocent."""
        self._verdict = Verdict.RESPONSIVE
        self._suspected.clear()

    async def run(self) -> None:
        """Question the instance while there is reason to, until cancelled."""
        while True:
            await self._suspected.wait()
            await self._probe()
            if self._suspected.is_set():
                await self._clock.sleep(PROBE_INTERVAL_SECONDS)

    async def _probe(self) -> None:
        try:
            await within(self._clock, PROBE_TIMEOUT_SECONDS, self._ask())
        except TimeoutError:
            # If it is no longer suspect, the question was to somebody who has left since.
            if self._verdict is Verdict.SUSPECT:
                self._verdict = Verdict.HUNG
                self._report(Verdict.HUNG)
        except TransportError:
            pass  # the connection says what there is to say
        except DriverError:
            self.answered()
        else:
            self.answered()
