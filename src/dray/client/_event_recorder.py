"""Says in events what happened to objects, without ever getting in anybody's way.

`record` notes an event and returns; `run` writes what was noted. What cannot be written is tried
again for a while; what piles up meanwhile is bounded, and the oldest goes first. Repetitions are
counted in one event, as upstream does. Upstream counterpart: client-go tools/record.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from datetime import UTC, datetime
from typing import Final

from dray.api.core import Event, EventSource, ObjectReference
from dray.api.meta import Object, ObjectMeta
from dray.api.wire import Time
from dray.client._client import Client, PatchType
from dray.client._correlator import Correlated, Correlator, event_name
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import AlreadyExists, APIError, NotFound, TransportError, shorten

__all__ = ["EventRecorder"]

_log = logging.getLogger(__name__)

# Upstream's: events that wait to be written.
QUEUED_MAX: Final = 1000

# Upstream's: how often, and how far apart, an event is tried while no server answers.
TRIES_MAX: Final = 12
RETRY_SECONDS: Final = 10.0

# What a driver says may be a whole log; readers of events want a sentence.
MESSAGE_CHARACTERS_MAX: Final = 16 * 1024

_DEFAULT_NAMESPACE: Final = "default"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class EventRecorder:
    """Records events as one component, on one host."""

    def __init__(
        self, client: Client, *, component: str, clock: Clock, entropy: Entropy, host: str = ""
    ) -> None:
        self._client = client
        self._source = EventSource(component=component, host=host)
        self._clock = clock
        self._entropy = entropy
        self._correlator = Correlator(clock)
        self._queue: deque[Event] = deque()
        self._arrived = asyncio.Event()
        self._writing = asyncio.Lock()
        self._begun: Correlated | None = None  # taken from the queue, not written yet
        self._last_nanoseconds = 0
        self._recorded_count = 0
        self._taken_count = 0  # from the queue, in whichever way
        self.dropped_count = 0

    def record(
        self,
        regarding: Object,
        type: str,  # noqa: A002 - the field's name
        reason: str,
        message: str,
        *,
        field_path: str = "",
    ) -> None:
        """Note what happened to an object; `field_path` says to which part of it."""
        metadata = regarding.metadata
        now = Time(self._clock.now())
        event = Event(
            metadata=ObjectMeta(
                name=event_name(metadata.name, self._nanoseconds()) or self._entropy.uid(),
                namespace=metadata.namespace or _DEFAULT_NAMESPACE,
            ),
            involved_object=ObjectReference(
                api_version=regarding.api_version,
                kind=regarding.kind,
                namespace=metadata.namespace,
                name=metadata.name,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
                field_path=field_path,
            ),
            reason=reason,
            message=message[:MESSAGE_CHARACTERS_MAX],
            source=self._source,
            first_timestamp=now,
            last_timestamp=now,
            count=1,
            type=type,
            reporting_component=self._source.component,
            reporting_instance=self._source.host,
        )
        if len(self._queue) >= QUEUED_MAX:
            self._queue.popleft()
            self._taken_count += 1
            self.dropped_count += 1
        self._queue.append(event)
        self._recorded_count += 1
        self._arrived.set()

    async def run(self) -> None:
        """Write what is recorded, for ever."""
        while True:
            await self._arrived.wait()
            await self._write_next()

    async def drain(self) -> None:
        """Write what was recorded so far: before the end, with or without `run`."""
        goal = self._recorded_count
        while self._begun is not None or (self._queue and self._taken_count < goal):
            await self._write_next()

    # Private -----------------------------------------------------------------------------------

    def _nanoseconds(self) -> int:
        """When it is; no two events get the same, or their names might be."""
        since = self._clock.now() - _EPOCH
        microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        self._last_nanoseconds = max(microseconds * 1000, self._last_nanoseconds + 1)
        return self._last_nanoseconds

    async def _write_next(self) -> None:
        async with self._writing:
            if not self._queue and self._begun is None:
                self._arrived.clear()
                return
            if self._begun is None:
                self._taken_count += 1
                self._begun = self._correlator.correlate(self._queue.popleft())
            if self._begun is not None:
                # If this is cancelled, whoever drains has another chance.
                await self._write(self._begun)
                self._begun = None

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
