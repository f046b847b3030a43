"""One timer for all connections: who has to be done with something, and by when.

Deadlines move with every request, so moving one must cost next to nothing: it is a number in the
connection. The wheel keeps each connection in the slot of the earliest deadline it was put in for;
when the slot comes up and the number has moved on, the connection goes into a later slot. While
nobody has a deadline nothing runs, and streams have none.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import Final, Protocol

from dray.clock import Clock

__all__ = ["Deadlines", "Expirable"]

# Deadlines are met to this many seconds: half a minute need not be exact.
TICK_SECONDS: Final = 1.0


class Expirable(Protocol):
    """What can be late. The first two members are the wheel's own notes."""

    deadline: float  # monotonic seconds; infinite without one
    slot: int  # of the wheel, 0 in none

    def expired(self) -> None:
        """Called once the deadline has passed; it is unset by then."""
        ...


class Deadlines:
    """The wheel."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._slots: dict[int, list[Expirable]] = {}
        self._armed = asyncio.Event()

    def set(self, entry: Expirable, seconds: float) -> None:
        """Expect something of the entry within so many seconds, instead of what was before."""
        entry.deadline = deadline = self._clock.monotonic() + seconds
        slot = int(deadline / TICK_SECONDS) + 1
        if not 0 < entry.slot <= slot:
            self._put(entry, slot)

    def clear(self, entry: Expirable) -> None:
        """Expect nothing of the entry."""
        entry.deadline = inf

    async def run(self) -> None:
        """Sweep every tick, for as long as there are deadlines; never returns."""
        while True:
            await self._armed.wait()
            await self._clock.sleep(TICK_SECONDS)
            self.sweep()

    def sweep(self) -> None:
        """Call `expired` of every entry whose deadline has passed."""
        now = self._clock.monotonic()
        present = int(now / TICK_SECONDS)
        late: list[Expirable] = []
        for slot in sorted(slot for slot in self._slots if slot <= present):
            for entry in self._slots.pop(slot):
                if entry.slot != slot:
                    continue  # it was put into an earlier one since
                entry.slot = 0
                if entry.deadline <= now:
                    late.append(entry)
                elif entry.deadline != inf:
                    self._put(entry, int(entry.deadline / TICK_SECONDS) + 1)
        if not self._slots:
            self._armed.clear()
        for entry in late:
            entry.deadline = inf
            entry.expired()

    def _put(self, entry: Expirable, slot: int) -> None:
        entry.slot = slot
        self._slots.setdefault(slot, []).append(entry)
        self._armed.set()
