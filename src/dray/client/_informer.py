"""A view of all objects that match, kept up to date by a watch.

One list, then a watch from where it ended, for as long as the server lets it run; then another from
the last revision that was heard of, bookmarks included. When the server no longer knows that
revision everything is listed again, and listeners hear the difference: nothing that happened goes
unnoticed, though several changes may be heard of as one. The view is never behind what listeners
were told. Upstream counterpart: client-go's reflector and shared informer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import aclosing
from typing import Final, Generic, TypeVar

from dray.api.meta import Object
from dray.client._answers import TURN_OBJECTS
from dray.client._client import Client
from dray.client._watch import EventType, WatchEvent
from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import APIError, Expired, NotFound, TransportError

__all__ = ["Informer"]

_log = logging.getLogger(__name__)

# Upstream's: soon enough that a server's restart is hardly noticed, and rare enough that a thousand
# informers do not keep it from coming up. Each is drawn from once to twice the base.
BACKOFF_SECONDS_MIN: Final = 0.8
BACKOFF_SECONDS_MAX: Final = 30.0

# A watch that ends sooner, and says nothing, was not worth its beginning: something is wrong.
SHORT_WATCH_SECONDS: Final = 1.0

T = TypeVar("T", bound=Object)

Listener = Callable[[T | None, T | None], None]
_Key = tuple[str, str]  # namespace and name


class Informer(Generic[T]):
    """All objects of a kind, or those of a namespace, or those that selectors match."""

    def __init__(
        self,
        client: Client,
        kind: type[T],
        *,
        clock: Clock,
        entropy: Entropy,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> None:
        self._client = client
        self._kind = kind
        self._clock = clock
        self._entropy = entropy
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._objects: dict[_Key, T] = {}
        self._listeners: list[Listener[T]] = []
        self._indexes: dict[str, _Index[T]] = {}
        self._revision = ""  # what the view is of; empty if it must be listed anew
        self._failures_count = 0  # since the server last said something useful
        self._synced = asyncio.Event()

    def listen(self, listener: Listener[T]) -> None:
        """Be told of every change from now on, as (old, new), after what is there already.

        `old` is None for what is new and `new` for what is gone; an object that was deleted and
        made anew is both, one after the other. The listener must not wait. One that raises ends
        `run`, before others may have heard; run again, it hears of the same change again.
        """
        for obj in list(self._objects.values()):
            listener(None, obj)
        self._listeners.append(listener)

    async def run(self) -> None:
        """Keep the view up to date, for ever. Whatever a server does, this goes on."""
        while True:
            try:
                if not self._revision:
                    await self._list()
                await self._watch()
            except Expired as error:
                self._revision = ""
                _log.info("%s is listed again: %s", self._kind.__name__, error)
                # The first time that is all there is to do; a server that says so again and again
                # is given time.
                self._failures_count += 1
                if self._failures_count > 1:
                    await self._pause()
            except NotFound as error:
                self._unserved(error)
                await self._pause()
            except (APIError, TransportError) as error:
                if isinstance(error, APIError) and _is_ahead(error):
                    self._revision = ""
                _log.warning("%s cannot be watched: %s", self._kind.__name__, error)
                self._failures_count += 1
                await self._pause()

    async def synced(self) -> None:
        """Return once everything that was there has been seen."""
        await self._synced.wait()

    @property
    def is_synced(self) -> bool:
        """Whether everything that was there has been seen."""
        return self._synced.is_set()

    @property
    def revision(self) -> str:
        """What the view is of, all of it; empty while that cannot be said."""
        return self._revision

    def get(self, name: str, namespace: str = "") -> T | None:
        """The object, if there is one."""
        return self._objects.get((namespace, name))

    def values(self) -> Sequence[T]:
        """All objects, in no order that means anything."""
        return tuple(self._objects.values())

    def add_index(self, name: str, keys_of: Callable[[T], Iterable[Hashable]]) -> None:
        """Have objects found by something else than their names; adding it again does nothing.

        The name stands for the function: who shares a view says the same by the same name. A
        function that raises ends `run` with everything as it was before the object it raised for.
        """
        if name not in self._indexes:
            index = _Index(keys_of)
            for key, obj in self._objects.items():
                index.put(key, obj, index.keys(obj))
            self._indexes[name] = index

    def by_index(self, name: str, key: Hashable) -> Sequence[T]:
        """The objects that an index has under a key, in no order that means anything."""
        return tuple(self._indexes[name].found.get(key, {}).values())

    # Private -----------------------------------------------------------------------------------

    def _unserved(self, error: NotFound) -> None:
        """A server that does not know the kind has none of it, until it is upgraded."""
        level = logging.DEBUG if self._synced.is_set() else logging.INFO
        _log.log(level, "there is no %s: %s", self._kind.__name__, error)
        for key in list(self._objects):
            self._put(key, None)
        self._revision = ""
        self._failures_count += 1
        self._synced.set()

    async def _list(self) -> None:
        listing = await self._client.list(
            self._kind,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        )
        found = {_key(obj): obj for obj in listing.items}
        changes: list[tuple[_Key, T | None]] = [
            (key, None) for key in self._objects if key not in found
        ]
        for key, obj in found.items():
            known = self._objects.get(key)
            if known is None or known.metadata.resource_version != obj.metadata.resource_version:
                changes.append((key, obj))
        for count, (key, new) in enumerate(changes, 1):
            self._put(key, new)
            if count % TURN_OBJECTS == 0:
                await asyncio.sleep(0)
        self._revision = listing.resource_version
        self._synced.set()

    async def _watch(self) -> None:
        began = self._clock.monotonic()
        spoke = False
        watch = self._client.watch(
            self._kind,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            resource_version=self._revision,
        )
        async with aclosing(watch) as events:
            async for event in events:
                spoke = True
                self._failures_count = 0
                self._apply(event)
        if not spoke and self._clock.monotonic() - began < SHORT_WATCH_SECONDS:
            raise TransportError("the server ended the watch at once")

    def _apply(self, event: WatchEvent[T]) -> None:
        obj = event.object
        if event.type is not EventType.BOOKMARK:
            self._put(_key(obj), None if event.type is EventType.DELETED else obj)
        # Whoever has no revision to go on from lists again.
        self._revision = obj.metadata.resource_version

    def _put(self, key: _Key, new: T | None) -> None:
        old = self._objects.get(key)
        if new is None:
            if old is not None:
                self._remove(key, old)
            return
        # First of all, for functions of others may raise.
        found = [(index, index.keys(new)) for index in self._indexes.values()]
        if old is not None and old.metadata.uid != new.metadata.uid:
            self._remove(key, old)
            old = None
        self._objects[key] = new
        for index, keys in found:
            index.put(key, new, keys)
        self._tell(old, new)

    def _remove(self, key: _Key, old: T) -> None:
        del self._objects[key]
        for index in self._indexes.values():
            index.remove(key)
        self._tell(old, None)

    def _tell(self, old: T | None, new: T | None) -> None:
        for listener in tuple(self._listeners):
            listener(old, new)

    async def _pause(self) -> None:
        base = BACKOFF_SECONDS_MIN * 2.0 ** min(self._failures_count - 1, _DOUBLINGS_MAX)
        base = min(base, BACKOFF_SECONDS_MAX / 2)
        await self._clock.sleep(self._entropy.uniform(base, 2 * base))


class _Index(Generic[T]):
    """Objects by keys that a function reads off them."""

    def __init__(self, keys_of: Callable[[T], Iterable[Hashable]]) -> None:
        self._keys_of = keys_of
        # Remembered, so that whatever the function says later, nothing stays where it was put.
        self._keys: dict[_Key, tuple[Hashable, ...]] = {}
        self.found: dict[Hashable, dict[_Key, T]] = {}

    def keys(self, obj: T) -> tuple[Hashable, ...]:
        """Where it belongs. Raises what the function raises, also for what cannot be a key."""
        return tuple(dict.fromkeys(self._keys_of(obj)))

    def put(self, key: _Key, obj: T, keys: tuple[Hashable, ...]) -> None:
        if self._keys.get(key, ()) != keys:
            self.remove(key)
            if keys:
                self._keys[key] = keys
        for value in keys:
            self.found.setdefault(value, {})[key] = obj

    def remove(self, key: _Key) -> None:
        for value in self._keys.pop(key, ()):
            objects = self.found[value]
            del objects[key]
            if not objects:
                del self.found[value]


# More change nothing, and would one day be too large a number.
_DOUBLINGS_MAX: Final = 10


def _is_ahead(error: APIError) -> bool:
    """Whether the server has never been where we are: it was restored from a backup, say."""
    return any(cause.reason == _TOO_LARGE for cause in error.details.causes)


# Upstream's reason of a cause.
_TOO_LARGE: Final = "ResourceVersionTooLarge"


def _key(obj: Object) -> _Key:
    return obj.metadata.namespace, obj.metadata.name
