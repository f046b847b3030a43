"""The face of a store: what the server may ask of it, whatever keeps the bytes.

One counter numbers all changes: every write takes the next revision, and a record remembers at
which one it was created and last written. An empty store is at revision 1, as etcd is, because 0
means "any" to clients. Revisions grow and are never used twice, but some may be missing: those of
writes that the disk refused, and those a restored backup leaves out on purpose.

Reads are answered from memory and show only what is durable. A writer names the revision it expects
the key to have, so that of two writers who read the same record one is told.

Writes pass through two states. `head` shows the newest write to a key even while it is on its way
to disk, so that writers can queue up behind each other; `get`, `range` and watches show it once it
is durable. Whoever answers a client from a head waits for `settled` first: nothing is acknowledged
that could still be lost.

All methods are called from one event loop. Upstream counterpart: etcd's KV and Watch services.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

__all__ = ["FIRST_REVISION", "Event", "Page", "Record", "Sink", "Store", "Subscription"]

# Where an empty store stands: the first write gets the next one.
FIRST_REVISION: Final = 1


# There are as many of these as objects in the cluster. They refer to text and bytes only, so the
# garbage collector need not walk them; and a msgspec struct is made faster than a dataclass.
class Record(msgspec.Struct, frozen=True, gc=False):
    """What a key holds."""

    key: str
    value: bytes
    created: int  # the revision that created the key, since it was last deleted
    revision: int  # the revision that wrote this value


class Event(msgspec.Struct, frozen=True, gc=False):
    """One change: a key got a value, or lost it (`record` is None)."""

    revision: int
    key: str
    record: Record | None
    previous: Record | None  # what the key held before, None if it was new


class Page(msgspec.Struct, frozen=True, gc=False):
    """Part of a range, in order of key."""

    records: Sequence[Record]
    revision: int  # the state these records were read from
    remaining_count: int  # how many records of the range come after these


# Takes the events of one commit that lie under its prefix, in order. Must neither block nor raise:
# a sink that cannot keep up drops itself, and one that raises is dropped. It may open and close
# watches, its own and others.
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
    def accepted(self) -> int:
        """The newest revision given to a write, durable or not: what heads may show."""
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
        RevisionCompacted if that is no longer known, StoreError if it is yet to come.
        """
        ...

    def count(self, prefix: str) -> int:
        """How many keys start with the prefix."""
        ...

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        """Write a value, and return once it is durable.

        `expected` is the revision the key's head must have, 0 that it must not exist; otherwise
        RevisionConflict, before anything is written. The check and the choice of the revision
        happen before the first suspension. Raises StoreUnavailable if the disk does not take it:
        then the head is again what is durable, and so are those of all writes accepted since.
        """
        ...

    async def delete(self, key: str, *, expected: int | None = None) -> int | None:
        """Remove a key; the revision of its deletion, or None if there was no such key.

        `expected` is as for `put`. None is durable as well: if the key is gone because of a write
        that is still on its way, that one is waited for.
        """
        ...

    async def settled(self, revision: int) -> None:
        """Return once all writes up to this revision are durable.

        It may be one that is yet to be given out. Raises StoreUnavailable if the disk refused the
        write of this revision.
        """
        ...

    def watch(self, prefix: str, after: int, sink: Sink) -> Subscription:
        """Hand every event under the prefix that comes after the revision to the sink, once.

        Those already durable are handed over before this returns. A prefix ends with a slash (or
        is empty), as keys are paths. Raises RevisionCompacted if some of them are no longer kept.
        A revision that is yet to come is fine: nothing is heard until it has passed.
        """
        ...

    async def compact(self, revision: int) -> None:
        """Forget history before the revision. Values that are current stay."""
        ...

    async def close(self) -> None:
        """Finish accepted writes, then release everything. Watches end. Closing twice is fine."""
        ...
