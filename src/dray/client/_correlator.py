"""Which events are new, which repeat one that is stored, and which are one too many.

Three things in a row, each remembering a bounded number of objects: similar events (same source,
object, type and reason) become one after the tenth message within ten minutes; an event that was
seen before is counted up instead of stored again; and a source that says too much about one object
is no longer listened to. Upstream counterpart: client-go tools/record/events_cache.go.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from dray.api.core import Event
from dray.api.meta import ObjectMeta
from dray.api.names import dns_subdomain
from dray.api.wire import Time, replace
from dray.clock import Clock

__all__ = ["Correlated", "Correlator", "SpamFilter", "event_name"]

# Upstream's: objects that are remembered.
REMEMBERED_MAX: Final = 4096

# Upstream's: this many different messages in this time are one event.
SIMILAR_MAX: Final = 10
SIMILAR_SECONDS: Final = 600.0
COMBINED_PREFIX: Final = "(combined from similar events): "

# Upstream's: 25 events about an object, and one more every five minutes.
BURST: Final = 25.0
REFILL_SECONDS: Final = 300.0

_Key = tuple[str, ...]
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Correlated:
    """An event as it is to be written: created, or patched into the one that is stored."""

    event: Event
    patch: dict[str, Any] | None = None


@dataclass(slots=True)
class _Similar:
    messages: dict[str, None] = field(default_factory=dict)
    last_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Seen:
    count: int
    first_timestamp: Time | None
    name: str


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class Correlator:
    """Remembers what was said."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._similar: _Remembered[_Similar] = _Remembered()
        self._seen: _Remembered[_Seen] = _Remembered()
        self._spam = SpamFilter(clock)

    def correlate(self, event: Event) -> Correlated | None:
        """What to write of an event, or None if there have been too many."""
        event, key = self._combine(event)
        correlated = self._observe(event, key)
        return correlated if self._spam.allows(event) else None

    def stored(self, event: Event) -> None:
        """An event is now stored like this."""
        self._seen.put(_event_key(event), _seen(event))

    def _combine(self, event: Event) -> tuple[Event, _Key]:
        now = self._clock.monotonic()
        key = _similar_key(event)
        similar = self._similar.get(key)
        if similar is None or now - similar.last_seconds > SIMILAR_SECONDS:
            similar = _Similar()
        similar.messages[event.message] = None
        similar.last_seconds = now
        self._similar.put(key, similar)
        if len(similar.messages) < SIMILAR_MAX:
            return event, _event_key(event)
        del similar.messages[next(iter(similar.messages))]
        combined = replace(
            event,
            metadata=ObjectMeta(name=event.metadata.name, namespace=event.metadata.namespace),
            first_timestamp=event.last_timestamp,
            message=COMBINED_PREFIX + event.message,
        )
        return combined, key

    def _observe(self, event: Event, key: _Key) -> Correlated:
        seen = self._seen.get(key)
        patch: dict[str, Any] | None = None
        if seen is not None:
            event = replace(
                event,
                metadata=replace(event.metadata, name=seen.name),
                first_timestamp=seen.first_timestamp,
                count=seen.count + 1,
            )
            patch = {
                "count": event.count,
                "lastTimestamp": str(event.last_timestamp),
                "message": event.message,
            }
        self._seen.put(key, _seen(event))
        return Correlated(event, patch)


class SpamFilter:
    """Hears a source out about an object, to a point."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: _Remembered[_Bucket] = _Remembered()

    def allows(self, event: Event) -> bool:
        """Whether this is not one too many."""
        now = self._clock.monotonic()
        key = _spam_key(event)
        bucket = self._buckets.get(key) or _Bucket(BURST, now)
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.filled_at) / REFILL_SECONDS)
        bucket.filled_at = now
        self._buckets.put(key, bucket)
        if bucket.tokens < 1.0:
            return False
        bucket.tokens -= 1.0
        return True


def event_name(regarding: str, nanoseconds: int) -> str:
    """What it is about and when it was, or nothing if that would be no name for an event."""
    name = f"{regarding}.{nanoseconds:x}"
    return "" if dns_subdomain(name) else name


class _Remembered(Generic[V]):
    """The values that were used last."""

    def __init__(self) -> None:
        self._values: OrderedDict[_Key, V] = OrderedDict()

    def get(self, key: _Key) -> V | None:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: _Key, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > REMEMBERED_MAX:
            self._values.popitem(last=False)


def _seen(event: Event) -> _Seen:
    return _Seen(event.count, event.first_timestamp, event.metadata.name)


def _spam_key(event: Event) -> _Key:
    source, about = event.source, event.involved_object
    return (
        source.component,
        source.host,
        about.kind,
        about.namespace,
        about.name,
        about.uid,
        about.api_version,
        event.type,
    )


def _similar_key(event: Event) -> _Key:
    return (
        "similar",
        *_spam_key(event),
        event.reason,
        event.reporting_component,
        event.reporting_instance,
    )


def _event_key(event: Event) -> _Key:
    return (*_spam_key(event), event.involved_object.field_path, event.reason, event.message)
