"""Writes events as they come in, several at a time, those about one object in their order.

Events about an object always go through the same one of a few lanes, each of which writes one after
the other: an answer that takes its time holds up a lane and no more. What cannot be written is
tried again for a while; what piles up meanwhile is bounded, and the oldest goes first. Whoever is
cancelled while it writes loses nothing: the next to write begins with what was not finished.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Final, Protocol
from zlib import crc32

from dray.api.core import Event
from dray.client._client import Client, PatchType
from dray.client._correlator import Correlated
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import AlreadyExists, APIError, NotFound, TransportError, shorten

__all__ = ["Correlating", "EventWriter"]

_log = logging.getLogger(__name__)

# Events that wait to be written: what a scheduler says of a burst of as many pods. Upstream has a
# tenth of it, and drops what is newest.
QUEUED_MAX: Final = 10_000

# Enough that a server some milliseconds away is not waited for, and few enough that a burst of
# events leaves room for those who have work to do.
LANES: Final = 16

# Upstream's: how often, and how far apart, an event is tried while no server answers.
TRIES_MAX: Final = 12
RETRY_SECONDS: Final = 10.0


class Correlating(Protocol):
    """Says what to write of an event."""

    def correlate(self, event: Event) -> Correlated | None:
        """As it is to be written now; None if nothing is, or not yet."""
        ...

    def stored(self, event: Event) -> None:
        """It is stored like this."""
        ...


@dataclass(slots=True)
class _Lane:
    queue: deque[tuple[int, Event | Correlated]] = field(default_factory=deque)
    begun: Correlated | None = None  # taken from the queue, not written yet
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_run: bool = False  # somebody writes all that comes

    def has_work(self) -> bool:
        return self.begun is not None or bool(self.queue)


class EventWriter:
    """Events on their way to a server."""

    def __init__(
        self, client: Client, correlator: Correlating, *, clock: Clock, entropy: Entropy
    ) -> None:
        self._client = client
        self._correlator = correlator
        self._clock = clock
        self._entropy = entropy
        self._lanes = tuple(_Lane() for _ in range(LANES))
        self._arrived = asyncio.Event()  # in a lane that nobody runs
        self._last = 0  # the number of what was put last
        self.queued_count = 0
        self.written_count = 0
        self.dropped_count = 0

    def put(self, item: Event | Correlated) -> None:
        """Have it written. What was correlated before is written as it is."""
        if self.queued_count >= QUEUED_MAX:
            self._drop_oldest()
        event = item.event if isinstance(item, Correlated) else item
        lane = self._lanes[_number(event) % LANES]
        self._last += 1
        lane.queue.append((self._last, item))
        self.queued_count += 1
        if not lane.is_run:
            self._arrived.set()

    async def run(self) -> None:
        """Write what is put, for ever."""
        self._arrived.set()  # something may be left from before
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._arrived.wait()
                self._arrived.clear()
                for lane in self._lanes:
                    if not lane.is_run and lane.has_work():
                        lane.is_run = True
                        tasks.create_task(self._run(lane))

    async def drain(self) -> None:
        """Write what was put so far."""
        last = self._last
        await asyncio.gather(*(self._drain(lane, last) for lane in self._lanes if lane.has_work()))

    # Private -----------------------------------------------------------------------------------

    def _drop_oldest(self) -> None:
        lane = min((lane for lane in self._lanes if lane.queue), key=lambda lane: lane.queue[0][0])
        lane.queue.popleft()
        self.queued_count -= 1
        self.dropped_count += 1

    async def _run(self, lane: _Lane) -> None:
        try:
            while lane.has_work():
                await self._write_next(lane)
        finally:
            lane.is_run = False

    async def _drain(self, lane: _Lane, last: int) -> None:
        while lane.begun is not None or (lane.queue and lane.queue[0][0] <= last):
            await self._write_next(lane)

    async def _write_next(self, lane: _Lane) -> None:
        async with lane.writing:
            if lane.begun is None and lane.queue:
                _, item = lane.queue.popleft()
                self.queued_count -= 1
                lane.begun = (
                    item if isinstance(item, Correlated) else self._correlator.correlate(item)
                )
            if lane.begun is not None:
                # If this is cancelled, whoever drains has another chance.
                await self._write(lane.begun)
                lane.begun = None

    async def _write(self, correlated: Correlated) -> None:
        event = correlated.event
        for attempt in range(TRIES_MAX):
            if attempt:
                # Not all recorders at once, when the server is back.
                low = RETRY_SECONDS if attempt > 1 else 0.0
                await self._clock.sleep(self._entropy.uniform(low, RETRY_SECONDS))
            try:
                self._correlator.stored(await self._store(correlated))
            except AlreadyExists as error:
                _log.debug("an event was not stored: %s", error)
                return
            except APIError as error:
                about = event.involved_object
                _log.warning(
                    "event %s about %s %s was refused: %s",
                    event.reason,
                    about.kind,
                    about.name,
                    shorten(str(error)),
                )
                return
            except TransportError as error:
                _log.info("an event was not stored yet: %s", error)
            else:
                self.written_count += 1
                return
        self.dropped_count += 1
        _log.warning("event %s was given up after %d tries", event.metadata.name, TRIES_MAX)

    async def _store(self, correlated: Correlated) -> Event:
        event, metadata = correlated.event, correlated.event.metadata
        if correlated.patch is not None:
            try:
                return await self._client.patch(
                    Event,
                    metadata.name,
                    correlated.patch,
                    namespace=metadata.namespace,
                    type=PatchType.STRATEGIC,
                )
            except NotFound:
                # Events are kept for an hour; what repeats after that is stored anew.
                pass
        return await self._client.create(event)


def _number(event: Event) -> int:
    """The same for all events about an object, and in every run, as hash() is not."""
    about = event.involved_object
    return crc32(f"{about.namespace}/{about.name}".encode(errors="replace"))
