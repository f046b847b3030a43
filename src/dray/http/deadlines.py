"""One timer for all connections: who has to be done with something, and by when.

Deadlines move with every request, so moving one must cost next to nothing: it is a number in the
connection, infinite while nothing is expected. The wheel keeps each connection in the slot of the
earliest deadline it was put in for; when the slot comes up and the number has moved on, the
connection goes into a later slot. While nobody has a deadline nothing runs, and streams have none.
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
        # In the order in which they were put in; no set has one that can be relied upon.
        self._slots: dict[int, dict[Expirable, None]] = {}
        self._armed = asyncio.Event()

    def set(self, entry: Expirable, seconds: float) -> None:
        """Expect something of the entry within so many seconds, instead of what was before."""
        entry.deadline = deadline = self._clock.monotonic() + seconds
        slot = int(deadline / TICK_SECONDS) + 1
        if not 0 < entry.slot <= slot:
            self._put(entry, slot)

    def remove(self, entry: Expirable) -> None:
        """Forget the entry: it is gone, and must not be kept by its last deadline."""
        entry.deadline = inf
        self._take_out(entry)

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
        self._take_out(entry)
        entry.slot = slot
        self._slots.setdefault(slot, {})[entry] = None
        self._armed.set()

    def _take_out(self, entry: Expirable) -> None:
        if entry.slot:
            entries = self._slots[entry.slot]
            del entries[entry]
            if not entries:
                del self._slots[entry.slot]
            entry.slot = 0
