"""Says in events what happened to objects, without ever getting in anybody's way.

`record` notes an event and returns; `run` writes what was noted, several at a time. Repetitions are
counted in one event, in either of upstream's two ways: as agents and most controllers do, or, with
`series`, as the scheduler does, whose events also say what was done (`action`) and what else it was
done with (`related`). Upstream counterparts: client-go tools/record and tools/events.
"""

from __future__ import annotations

import asyncio
from copy import copy
from datetime import UTC, datetime
from typing import Final

from dray.api.core import Event, EventSource, ObjectReference
from dray.api.meta import Object, ObjectMeta
from dray.api.wire import MicroTime, Time
from dray.client._client import Client
from dray.client._correlator import Correlator, event_name
from dray.client._event_series import SeriesCorrelator
from dray.client._event_writer import EventWriter
from dray.clock import Clock
from dray.entropy import Entropy

__all__ = ["EventRecorder"]

# What a driver says may be a whole log; readers of events want a sentence.
MESSAGE_CHARACTERS_MAX: Final = 16 * 1024

# What servers take in an event of the newer sort, in bytes.
NOTE_BYTES_MAX: Final = 1024
INSTANCE_BYTES_MAX: Final = 128

# Upstream's, where a note was cut.
CUT: Final = " ..."

_DEFAULT_NAMESPACE: Final = "default"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class EventRecorder:
    """Records events as one component, on one host."""

    def __init__(
        self,
        client: Client,
        *,
        component: str,
        clock: Clock,
        entropy: Entropy,
        host: str = "",
        series: bool = False,
    ) -> None:
        """`series` has repetitions counted as events.k8s.io does."""
        self._host = host
        self._clock = clock
        self._entropy = entropy
        self._series = SeriesCorrelator(clock) if series else None
        self._writer = EventWriter(
            client, self._series or Correlator(clock), clock=clock, entropy=entropy
        )
        self._ticks = _Ticks(clock)
        self._speak_as(component)

    def _speak_as(self, component: str) -> None:
        self._component = component
        self._source = EventSource(component=component, host=self._host)
        instance = f"{component}-{self._host}" if self._host else component
        self._instance = _cut(instance, INSTANCE_BYTES_MAX)

    def as_component(self, component: str) -> EventRecorder:
        """The same recorder, speaking for another part of the process; this one is run for both."""
        other = copy(self)
        other._speak_as(component)  # noqa: SLF001 - of its own kind
        return other

    @property
    def queued_count(self) -> int:
        """Events that wait to be written."""
        return self._writer.queued_count

    @property
    def written_count(self) -> int:
        """Events, and repetitions of them, that were written."""
        return self._writer.written_count

    @property
    def dropped_count(self) -> int:
        """Events that were not written: too many waited, or no server answered for minutes."""
        return self._writer.dropped_count

    def record(
        self,
        regarding: Object,
        type: str,  # noqa: A002 - the field's name
        reason: str,
        message: str,
        *,
        field_path: str = "",
        action: str = "",
        related: Object | None = None,
    ) -> None:
        """Note what happened to an object; `field_path` says to which part of it.

        `action` is what was done about it, and `related` what else was concerned. An event in a
        series must have an action; without one it is the reason.
        """
        metadata = ObjectMeta(
            name=event_name(regarding.metadata.name, self._ticks.next()) or self._entropy.uid(),
            namespace=regarding.metadata.namespace or _DEFAULT_NAMESPACE,
        )
        if not message.isascii():
            message = message.encode(errors="replace").decode()  # half a character has no JSON form
        about = _reference(regarding, field_path)
        other = None if related is None else _reference(related)
        if self._series is None:
            now = Time(self._clock.now())
            event = Event(
                metadata=metadata,
                involved_object=about,
                reason=reason,
                message=message[:MESSAGE_CHARACTERS_MAX],
                source=self._source,
                first_timestamp=now,
                last_timestamp=now,
                count=1,
                type=type,
                action=action,
                related=other,
                reporting_component=self._component,
                reporting_instance=self._host,
            )
        else:
            event = Event(
                metadata=metadata,
                involved_object=about,
                reason=reason,
                message=_cut(message, NOTE_BYTES_MAX, CUT),
                type=type,
                event_time=MicroTime(self._clock.now()),
                action=action or reason,
                related=other,
                reporting_component=self._component,
                reporting_instance=self._instance,
            )
        self._writer.put(event)

    async def run(self) -> None:
        """Write what is recorded, for ever."""
        if self._series is None:
            await self._writer.run()
            return
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._writer.run())
            while True:
                await self._series.refresh()
                self._write_counts()

    async def drain(self) -> None:
        """Write what was recorded so far: before the end, with or without `run`."""
        await self._writer.drain()
        self._write_counts()
        await self._writer.drain()

    # Private -----------------------------------------------------------------------------------

    def _write_counts(self) -> None:
        for correlated in self._series.unwritten() if self._series is not None else ():
            self._writer.put(correlated)


class _Ticks:
    """Nanoseconds, of which no two events get the same: they are part of their names."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def next(self) -> int:
        since = self._clock.now() - _EPOCH
        microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        self._last = max(microseconds * 1000, self._last + 1)
        return self._last


def _reference(obj: Object, field_path: str = "") -> ObjectReference:
    metadata = obj.metadata
    return ObjectReference(
        api_version=obj.api_version,
        kind=obj.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        field_path=field_path,
    )


def _cut(text: str, bytes_max: int, end: str = "") -> str:
    """The text if it is no longer, else its beginning."""
    if len(text) * 4 <= bytes_max:
        return text
    data = text.encode()
    if len(data) <= bytes_max:
        return text
    return data[: bytes_max - len(end)].decode(errors="ignore") + end
