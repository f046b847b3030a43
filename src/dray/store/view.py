"""What is durable, in memory: the side of a store that readers and watches see.

Both stores are a view, and differ in how a change gets there. The state is the newest one;
an older one is told by undoing history, which costs as much as happened since.
"""

from __future__ import annotations

from collections.abc import Iterable

from dray.errors import InternalError, StoreError, quote
from dray.store.history import History
from dray.store.keys import SortedKeys, end_of
from dray.store.store import Event, Page, Record, Sink, Subscription
from dray.store.watches import Watches

__all__ = ["Change", "View"]

# A revision, the key it changed, and what the key holds since (None: nothing).
Change = tuple[int, str, Record | None]


class View:
    """Records by key, the changes that led to them, and those who want to hear of more."""

    def __init__(self, revision: int, records: dict[str, Record], history: History) -> None:
        self._revision = revision
        self._records = records
        self._keys = SortedKeys(records)
        self._history = history
        self._watches = Watches()

    @property
    def revision(self) -> int:
        """The newest durable revision."""
        return self._revision

    @property
    def accepted(self) -> int:
        """The newest revision given to a write: here, all are durable."""
        return self._revision

    @property
    def oldest(self) -> int:
        """The oldest revision that `range` and `watch` can still start from."""
        return self._history.floor

    def get(self, key: str) -> Record | None:
        """What the key holds, durably."""
        return self._records.get(key)

    def range(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Page:
        """The records whose keys start with the prefix and come after `after`."""
        low = prefix if after < prefix else after + "\0"  # the next text after `after`
        if revision and revision != self._revision:
            return self._range_then(prefix, low, limit, revision)
        high = end_of(prefix)
        keys = self._keys.within(low, high, limit)
        records = self._records
        remaining = self._keys.count(low, high) - len(keys) if limit else 0
        return Page([records[key] for key in keys], self._revision, remaining)

    def count(self, prefix: str) -> int:
        """How many keys start with the prefix."""
        return self._keys.count(prefix, end_of(prefix))

    def watch(self, prefix: str, after: int, sink: Sink) -> Subscription:
        """Hand every event under the prefix that comes after the revision to the sink, once."""
        if prefix and not prefix.endswith("/"):
            raise InternalError(f"watch on {quote(prefix)}: a prefix ends with a slash")
        missed = [e for e in self._history.since(after) if e.key.startswith(prefix)]
        if missed:
            sink(missed)
        return self._watches.add(prefix, max(after, self._revision), sink)

    def _range_then(self, prefix: str, low: str, limit: int, revision: int) -> Page:
        if revision > self._revision:
            raise StoreError(f"revision {revision} is yet to come, the newest is {self._revision}")
        high, records = end_of(prefix), self._records
        changed = {
            key: held for key, held in self._history.undone(prefix, revision).items() if key >= low
        }
        # Enough for a page even if all that changed since drops out of it.
        present = self._keys.within(low, high, limit + len(changed) if limit else 0)
        page = [records[key] for key in present if key not in changed]
        returning = [held for held in changed.values() if held is not None]
        if returning:
            page = sorted(page + returning, key=lambda record: record.key)
        if limit:
            page = page[:limit]
        count = self._keys.count(low, high) + len(returning)
        count -= sum(1 for key in changed if key in records)
        return Page(page, revision, count - len(page))

    def _apply(self, changes: Iterable[Change]) -> None:
        """Make changes visible, and tell those who watch."""
        records = self._records
        events: list[Event] = []
        for revision, key, record in changes:
            previous = records.get(key)
            if record is not None:
                if previous is None:
                    self._keys.add(key)
                records[key] = record
            elif previous is not None:
                self._keys.remove(key)
                del records[key]
            event = Event(revision, key, record, previous)
            self._history.append(event)
            events.append(event)
            self._revision = revision
        self._watches.dispatch(events)

    def _forget(self, revision: int) -> None:
        if revision > self._revision:
            raise StoreError(
                f"cannot compact up to {revision}: the newest revision is {self._revision}"
            )
        self._history.forget(revision)
