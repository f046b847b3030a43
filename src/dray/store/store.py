"""The face of a store: what the server may ask of it, whatever keeps the bytes.

One counter numbers all changes: every write takes the next revision, and a record remembers at
which one it was created and last written. Reads are answered from memory and show only what is
durable. A writer names the revision it expects the key to have, so that of two writers who read the
same record one is told.

Writes pass through two states. `head` shows the newest write to a key even while it is on its way
to disk, so that writers can queue up behind each other; `get`, `range` and watches show it once it
is durable. Whoever answers a client from a head waits for `settled` first: nothing is acknowledged
that could still be lost.

All methods are called from one event loop. Upstream counterpart: etcd's KV and Watch services.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Event", "Page", "Record", "Sink", "Store", "Subscription"]


@dataclass(frozen=True, slots=True)
class Record:
    """What a key holds."""

    key: str
    value: bytes
    created: int  # the revision that created the key, since it was last deleted
    revision: int  # the revision that wrote this value


@dataclass(frozen=True, slots=True)
class Event:
    """One change: a key got a value, or lost it (`record` is None)."""

    revision: int
    key: str
    record: Record | None
    previous: Record | None  # what the key held before, None if it was new


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a range, in order of key."""

    records: Sequence[Record]
    revision: int  # the state these records were read from
    remaining_count: int  # how many records of the range come after these


# Takes the events of one commit that lie under its prefix, in order. Must neither block nor raise:
# a sink that cannot keep up drops itself.
Sink = Callable[[Sequence[Event]], None]


class Subscription(Protocol):
    """A running watch."""

    def close(self) -> None:
        """End it; the sink is not called again. Closing twice is fine."""
        ...


class Store(Protocol):
    """What the server asks of a store."""

    @property
    def revision(self) -> int:
        """The newest durable revision."""
        ...

    @property
    def oldest(self) -> int:
        """The oldest revision that `range` and `watch` can still start from."""
        ...

    def get(self, key: str) -> Record | None:
        """What the key holds, durably."""
        ...

    def head(self, key: str) -> Record | None:
        """What the key will hold once every write accepted so far is durable."""
        ...

    def range(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Page:
        """The records whose keys start with the prefix and come after `after`.

        At most `limit` of them if it is not 0. With a revision, the state as it was then; raises
        RevisionCompacted if that is no longer known.
        """
        ...

    def count(self, prefix: str) -> int:
        """How many keys start with the prefix."""
        ...

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        """Write a value, and return once it is durable.

        `expected` is the revision the key's head must have, 0 that it must not exist; otherwise
        RevisionConflict, before anything is written. The check and the choice of the revision
        happen before the first suspension. Raises StoreUnavailable if the disk does not take it.
        """
        ...

    async def delete(self, key: str, *, expected: int | None = None) -> int | None:
        """Remove a key; the revision of its deletion, or None if there was no such key."""
        ...

    async def settled(self, revision: int) -> None:
        """Return once all writes up to this revision are durable."""
        ...

    def watch(self, prefix: str, after: int, sink: Sink) -> Subscription:
        """Hand every event under the prefix that comes after the revision to the sink, once.

        Those already durable are handed over before this returns. A prefix ends with a slash (or
        is empty), as keys are paths. Raises RevisionCompacted if some of them are no longer kept.
        """
        ...

    async def compact(self, revision: int) -> None:
        """Forget history before the revision. Values that are current stay."""
        ...

    async def close(self) -> None:
        """Finish accepted writes, then release everything. Watches end."""
        ...
