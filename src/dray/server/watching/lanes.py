"""Lanes: clients with equal interests share one subscription and one encoding of every event.

A commit reaches a lane as a batch. The lane makes its lines once, frames them once, and writes the
same bytes to all of its clients, so a hundred watchers cost one encoding and a hundred writes. A
client that does not read is dropped, never waited for: its buffer is bounded.

Everything runs on the event loop and nothing waits, so between a client's snapshot and its place in
the lane no event is lost or seen twice. Upstream counterpart: the cacher's dispatching.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

from dray.clock import Clock
from dray.errors import Expired, RevisionCompacted
from dray.server.http.chunks import frame
from dray.server.http.messages import Channel
from dray.server.registry import Served
from dray.server.selection import Selection
from dray.server.watching.lines import Show, added_line, bookmark_line, error_line, line_of
from dray.store.store import Event, Record, Store, Subscription

__all__ = ["Interest", "Lanes", "Watcher", "expired", "lines_of"]

# What a client may leave unread before it is dropped. A busy cluster writes a few megabytes a
# second; a client that is this far behind will list again sooner than it would catch up.
BUFFERED_BYTES_MAX: Final = 16 * 1024 * 1024

# Written in one go at the start; more goes out in pieces while the client reads.
PIECE_BYTES_MAX: Final = 512 * 1024
PIECE_PAUSE_SECONDS: Final = 0.01

BOOKMARK_SECONDS: Final = 60.0

# Watches that ended early leave their deadlines behind; beyond this many they are swept out.
DEADLINES_SWEPT_MIN: Final = 1024
TICK_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Interest:
    """What a client wants to hear of, and in which words. Equal ones share a lane."""

    served: Served
    selection: Selection
    show: Show
    form: Hashable  # tells apart what `show` cannot
    # What a bookmark says it is: the object's own kind, or that of its metadata.
    kind: str
    api_version: str
    blank: bytes = b"{}"  # an object of that kind with nothing in it
    key: str | None = None  # the only one that can match

    @property
    def name(self) -> tuple[str, str, bytes]:
        return self.kind, self.api_version, self.blank

    @property
    def lane(self) -> Hashable:
        resource = self.served.resource
        path = (resource.group, resource.version, resource.plural)
        return (path, self.selection.canonical, self.form)


@dataclass(eq=False)
class Watcher:
    """One client of a lane."""

    interest: Interest
    bookmarks: bool
    after: int  # it has seen everything up to here
    channel: Channel | None = None
    ended: Callable[[], None] = field(default=lambda: None)

    def is_open(self) -> bool:
        return self.channel is not None


class _Lane:
    """Clients with equal interests."""

    def __init__(self, interest: Interest, store: Store, drop: Callable[[Watcher], None]) -> None:
        self._interest = interest
        self._drop = drop
        self.watchers: dict[Watcher, None] = {}
        prefix = interest.selection.prefix
        self._subscription: Subscription = store.watch(prefix, store.revision, self._deliver)

    def close(self) -> None:
        self._subscription.close()

    def _deliver(self, events: Sequence[Event]) -> None:
        interest = self._interest
        lines = lines_of(events, interest)
        if not lines:
            return
        chunk = b""
        first = events[0].revision
        for watcher in list(self.watchers):
            if watcher.after >= first:  # it began in the future
                own = [text for revision, text in lines if revision > watcher.after]
                if own and watcher.channel is not None:
                    watcher.channel.write(b"".join(own))
                continue
            chunk = chunk or frame(b"".join([text for _revision, text in lines]))
            channel = watcher.channel
            if channel is None:
                continue
            channel.write_framed(chunk)
            if channel.buffered > BUFFERED_BYTES_MAX:
                self._drop(watcher)


def lines_of(events: Sequence[Event], interest: Interest) -> list[tuple[int, bytes]]:
    """What a client hears of these events."""
    key, selection, show = interest.key, interest.selection, interest.show
    lines = []
    for event in events:
        if key is None or event.key == key:
            text = line_of(event, selection, show)
            if text:
                lines.append((event.revision, text))
    return lines


class Lanes:
    """All watches of a server."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lanes: dict[Hashable, _Lane] = {}
        self._deadlines: list[tuple[float, int, Watcher]] = []
        self._sweep_at = DEADLINES_SWEPT_MIN
        self._serial = 0
        self._next_bookmark = clock.monotonic() + BOOKMARK_SECONDS
        self.dropped_count = 0

    def __len__(self) -> int:
        return sum(len(lane.watchers) for lane in self._lanes.values())

    # Joining and leaving -----------------------------------------------------------------------

    def join(self, watcher: Watcher) -> None:
        """Hand over what happened since `watcher.after`, then everything as it happens.

        Raises RevisionCompacted if that is no longer known.
        """
        if watcher.after < self._store.revision:
            self._catch_up(watcher)
        interest = watcher.interest
        lane = self._lanes.get(interest.lane)
        if lane is None:
            lane = self._lanes[interest.lane] = _Lane(interest, self._store, self.drop)
        lane.watchers[watcher] = None

    def _catch_up(self, watcher: Watcher) -> None:
        missed: list[Event] = []
        prefix = watcher.interest.selection.prefix
        self._store.watch(prefix, watcher.after, missed.extend).close()
        text = b"".join([text for _revision, text in lines_of(missed, watcher.interest)])
        if text and watcher.channel is not None:
            watcher.channel.write(text)
        watcher.after = self._store.revision

    def expire_at(self, watcher: Watcher, deadline: float) -> None:
        """End the watch properly at this monotonic time."""
        if len(self._deadlines) >= self._sweep_at:
            # Twice as many as are open: so sweeping costs each watch a constant.
            self._deadlines = [entry for entry in self._deadlines if entry[2].is_open()]
            heapq.heapify(self._deadlines)
            self._sweep_at = max(DEADLINES_SWEPT_MIN, 2 * len(self._deadlines))
        self._serial += 1
        heapq.heappush(self._deadlines, (deadline, self._serial, watcher))

    def leave(self, watcher: Watcher) -> None:
        """Forget a client; leaving twice is fine."""
        watcher.channel = None
        lane = self._lanes.get(watcher.interest.lane)
        if lane is None:
            return
        lane.watchers.pop(watcher, None)
        if not lane.watchers:
            lane.close()
            del self._lanes[watcher.interest.lane]

    def drop(self, watcher: Watcher) -> None:
        """End a watch whose client does not keep up."""
        self.dropped_count += 1
        channel = watcher.channel
        self.leave(watcher)
        if channel is not None:
            channel.abort()

    def finish(self, watcher: Watcher) -> None:
        """End a watch properly."""
        channel = watcher.channel
        self.leave(watcher)
        if channel is not None:
            channel.close()

    def fail(self, watcher: Watcher, error: Expired) -> None:
        """Tell a client why its watch cannot go on, and end it."""
        if watcher.channel is not None:
            watcher.channel.write(error_line(error))
        self.finish(watcher)

    def finish_all(self, group: str, plural: str) -> None:
        """End every watch of a resource properly, in all its versions."""
        for lane in list(self._lanes.values()):
            for watcher in list(lane.watchers):
                resource = watcher.interest.served.resource
                if (resource.group, resource.plural) == (group, plural):
                    self.finish(watcher)

    # The start of a watch ----------------------------------------------------------------------

    async def begin(self, watcher: Watcher, records: Sequence[Record], *, marks_end: bool) -> None:
        """Send what is there, piece by piece as the client reads, then go over to what happens."""
        revision = watcher.after
        channel = watcher.channel
        piece: list[bytes] = []
        size = 0
        for record in records:
            text = added_line(record, watcher.interest.show)
            piece.append(text)
            size += len(text)
            if size < PIECE_BYTES_MAX:
                continue
            if channel is None or not watcher.is_open():
                return
            channel.write(b"".join(piece))
            piece, size = [], 0
            while watcher.is_open() and channel.buffered > PIECE_BYTES_MAX:
                await self._clock.sleep(PIECE_PAUSE_SECONDS)
        if channel is None or not watcher.is_open():
            return
        if marks_end:
            name = watcher.interest.name
            piece.append(bookmark_line(*name, revision, initial_events_end=True))
        if piece:
            channel.write(b"".join(piece))
        try:
            self.join(watcher)
        except RevisionCompacted as error:
            self.fail(watcher, expired(error))

    # Keeping order -----------------------------------------------------------------------------

    async def keep(self) -> None:
        """Send bookmarks and end watches whose time is up, for ever."""
        while True:
            await self._clock.sleep(TICK_SECONDS)
            self.tick()

    def tick(self) -> None:
        """Do what is due now."""
        now = self._clock.monotonic()
        while self._deadlines and self._deadlines[0][0] <= now:
            _deadline, _serial, watcher = heapq.heappop(self._deadlines)
            if watcher.is_open():
                self._say_goodbye(watcher)
        if now >= self._next_bookmark:
            self._next_bookmark = now + BOOKMARK_SECONDS
            self._bookmark_all()

    def _say_goodbye(self, watcher: Watcher) -> None:
        lane = self._lanes.get(watcher.interest.lane)
        # One that is still hearing what was there must not believe that it has heard it all.
        is_told = lane is not None and watcher in lane.watchers
        if is_told and watcher.bookmarks and watcher.channel is not None:
            revision = self._store.revision
            if watcher.after <= revision:
                watcher.channel.write(bookmark_line(*watcher.interest.name, revision))
        self.finish(watcher)

    def _bookmark_all(self) -> None:
        revision = self._store.revision
        for lane in list(self._lanes.values()):
            chunk = b""
            for watcher in list(lane.watchers):
                if not watcher.bookmarks or watcher.after > revision or watcher.channel is None:
                    continue
                chunk = chunk or frame(bookmark_line(*watcher.interest.name, revision))
                watcher.channel.write_framed(chunk)

    def close(self) -> None:
        """End every watch properly."""
        for lane in list(self._lanes.values()):
            for watcher in list(lane.watchers):
                self.finish(watcher)


def expired(error: RevisionCompacted) -> Expired:
    """A watch that starts before what is kept."""
    return Expired(f"too old resource version: {error.revision} ({error.oldest})")
