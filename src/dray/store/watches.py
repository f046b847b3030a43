"""Who wants to hear of which keys, found by the path of the key.

A key names the prefixes it lies under, one per slash, so a change looks up a handful of them
whatever the number of watches: those on other prefixes cost nothing. Keys of one directory lie
under the same prefixes, and most changes are in a few directories, so what was found is remembered
until a prefix comes or goes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Final

from dray.errors import InternalError, quote
from dray.store.store import Event, Sink

__all__ = ["Watch", "Watches"]

# Directories are namespaces of kinds. More than a cluster has; then it is begun anew.
DIRECTORIES_MAX: Final = 10_000

_LOGGER: Final = logging.getLogger(__name__)


class Watch:
    """A running watch: the subscription its owner holds."""

    __slots__ = ("_watches", "after", "prefix", "sink")

    def __init__(self, watches: Watches, prefix: str, after: int, sink: Sink) -> None:
        self._watches: Watches | None = watches
        self.prefix = prefix
        self.after = after  # events up to here were handed over, or are not wanted
        self.sink = sink

    @property
    def closed(self) -> bool:
        return self._watches is None

    def close(self) -> None:
        """End it; the sink is not called again."""
        if self._watches is not None:
            self._watches.remove(self)
            self._watches = None


class Watches:
    """Every running watch, by prefix."""

    def __init__(self) -> None:
        # Dicts serve as sets that remember the order in which watches came.
        self._by_prefix: dict[str, dict[Watch, None]] = {}
        self._by_directory: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_prefix.values()))

    def add(self, prefix: str, after: int, sink: Sink) -> Watch:
        """Start a watch; events up to `after` are kept from it."""
        watch = Watch(self, prefix, after, sink)
        peers = self._by_prefix.get(prefix)
        if peers is None:
            peers = self._by_prefix[prefix] = {}
            self._by_directory.clear()
        peers[watch] = None
        return watch

    def remove(self, watch: Watch) -> None:
        """Forget a watch that is there."""
        peers = self._by_prefix[watch.prefix]
        del peers[watch]
        if not peers:
            del self._by_prefix[watch.prefix]
            self._by_directory.clear()

    def close(self) -> None:
        """End all of them."""
        for peers in list(self._by_prefix.values()):
            for watch in list(peers):
                watch.close()

    def dispatch(self, events: Sequence[Event]) -> None:
        """Hand the events of one commit to those who watch their keys."""
        if not self._by_prefix:
            return
        found: dict[str, list[Event]] = {}
        for event in events:
            key = event.key
            directory = key[: key.rfind("/") + 1]
            prefixes = self._by_directory.get(directory)
            if prefixes is None:
                prefixes = self._remember(directory)
            for prefix in prefixes:
                found.setdefault(prefix, []).append(event)
        # Settled before the first call, as sinks open and close watches.
        calls = [
            (watch, under) for prefix, under in found.items() for watch in self._by_prefix[prefix]
        ]
        remaining = iter(calls)
        guard = _Guard()
        while not _deliver(remaining, guard):
            pass

    def _remember(self, directory: str) -> tuple[str, ...]:
        """The prefixes that are watched and cover what lies in the directory."""
        ends = [0, *(end for end, letter in enumerate(directory, 1) if letter == "/")]
        prefixes = tuple(p for p in (directory[:end] for end in ends) if p in self._by_prefix)
        if len(self._by_directory) >= DIRECTORIES_MAX:
            self._by_directory.clear()
        self._by_directory[directory] = prefixes
        return prefixes


class _Guard:
    """Ends the watch whose sink raised, and lets the others hear."""

    watch: Watch | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception) or self.watch is None:
            return False
        self.watch.close()
        bug = InternalError(f"the watch on {quote(self.watch.prefix)} was dropped: its sink raised")
        bug.__cause__ = error
        _LOGGER.error("%s", bug, exc_info=bug)
        return True


def _deliver(calls: Iterator[tuple[Watch, list[Event]]], guard: _Guard) -> bool:
    """Make the calls; False if one raised and there may be more."""
    with guard:
        for watch, events in calls:
            if watch.closed or watch.after >= events[-1].revision:
                continue
            guard.watch = watch
            if watch.after >= events[0].revision:
                watch.sink([event for event in events if event.revision > watch.after])
            else:
                watch.sink(events)
        return True
    return False
