"""Lanes: clients with equal interests share one subscription and one encoding of every event.

A commit reaches a lane as a batch. The lane makes its lines once, frames them once, and writes the
same bytes to all of its clients, so a hundred watchers cost one encoding and a hundred writes.
Lanes under one prefix share a subscription: what they select by is read once, and those that mean
one key or one node are looked up, so that a thousand kubelets cost as much as the one concerned. A
client that does not read is dropped, never waited for: its buffer is bounded.

Before it gets into its lane a client is told what was there or what it missed, in pieces and as
fast as it reads. Its last piece is written and its place taken in one turn of the event loop, so
that no event is lost or seen twice. Upstream counterpart: the cacher's dispatching.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final

from dray.clock import Clock
from dray.errors import Expired, RevisionCompacted
from dray.http.chunks import frame
from dray.http.messages import Channel
from dray.server.registry import Served
from dray.server.selection import NODE_NAME, Reading, Selection, node_name_of
from dray.server.watching.lines import Show, added_line, bookmark_line, error_line, line_of
from dray.store.store import Event, Record, Store, Subscription

__all__ = ["Interest", "Lanes", "Watcher", "expired", "lines_of"]

# What a client may leave unread before it is dropped. A busy cluster writes a few megabytes a
# second; a client that is this far behind will list again sooner than it would catch up.
BUFFERED_BYTES_MAX: Final = 16 * 1024 * 1024

# Written in one go at the start; more goes out in pieces while the client reads.
PIECE_BYTES_MAX: Final = 512 * 1024

# How long until a client that has a piece unread is looked at again: soon, and then twice as long
# each time. One that reads gets a hundred megabytes a second; one that does not costs little.
PIECE_PAUSE_SECONDS: Final = 0.005
PIECE_PAUSE_SECONDS_MAX: Final = 0.16

# What a client that comes back may have missed. It keeps these values in memory until it has heard
# of them, though history may have let go of them; and one that missed more is sooner up to date if
# it lists again.
BACKLOG_BYTES_MAX: Final = 256 * 1024 * 1024

BOOKMARK_SECONDS: Final = 60.0

# Watches that ended early leave their deadlines behind; beyond this many they are swept out.
DEADLINES_SWEPT_MIN: Final = 1024
TICK_SECONDS: Final = 1.0

_LOGGER: Final = logging.getLogger(__name__)


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


# What the lanes of a trunk are found by: what is looked at, and the value they want.
_ANY: Final = ("", "")
_KEY: Final = "key"


def _place_of(interest: Interest) -> tuple[str, str]:
    if interest.key is not None:
        return _KEY, interest.key
    # A custom resource may have anything under that name.
    node = (
        interest.selection.fields.exact(NODE_NAME) if interest.served.selectable is None else None
    )
    return _ANY if node is None else (NODE_NAME, node)


class _Lane:
    """Clients with equal interests."""

    def __init__(self, interest: Interest, drop: Callable[[Watcher], None]) -> None:
        self.interest = interest
        self.place = _place_of(interest)
        self._drop = drop
        self.watchers: dict[Watcher, None] = {}

    def deliver(self, events: Sequence[Event], reading: Reading) -> None:
        """Hand events to everyone in it."""
        if not self.watchers:  # they left while others were told
            return
        lines = list(lines_of(events, self.interest, reading))
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


class _Trunk:
    """The lanes under one prefix."""

    def __init__(self, prefix: str, store: Store, broken: Callable[[_Lane], None]) -> None:
        self._broken = broken
        # Dicts serve as sets that remember the order in which lanes came.
        self._lanes: dict[tuple[str, str], dict[_Lane, None]] = {}
        self._on_nodes_count = 0
        self._subscription: Subscription = store.watch(prefix, store.revision, self._deliver)

    def add(self, lane: _Lane) -> None:
        self._lanes.setdefault(lane.place, {})[lane] = None
        self._on_nodes_count += lane.place[0] == NODE_NAME

    def remove(self, lane: _Lane) -> bool:
        """Forget a lane that is there; whether it was the last one, and the trunk is closed."""
        peers = self._lanes[lane.place]
        del peers[lane]
        self._on_nodes_count -= lane.place[0] == NODE_NAME
        if not peers:
            del self._lanes[lane.place]
        if not self._lanes:
            self._subscription.close()
        return not self._lanes

    def _deliver(self, events: Sequence[Event]) -> None:
        reading = Reading()
        # Settled before the first call, as clients that are dropped take their lanes with them.
        for lane, wanted in self._settle(events).items():
            with _Guard(lane, self._broken):
                lane.deliver(wanted, reading)

    def _settle(self, events: Sequence[Event]) -> dict[_Lane, Sequence[Event]]:
        settled = False
        try:
            concerned = self._concerned(events)
            settled = True
        finally:
            # The store ends the subscription of a sink that raises, and says why.
            if not settled:
                for lane in [lane for peers in self._lanes.values() for lane in peers]:
                    self._broken(lane)
        return concerned

    def _concerned(self, events: Sequence[Event]) -> dict[_Lane, Sequence[Event]]:
        """The lanes that may want to hear of the events, each with those it may want."""
        lanes = self._lanes
        anyone = lanes.get(_ANY, {})
        found: dict[_Lane, list[Event]] = {}
        if len(lanes) > bool(anyone):
            for event in events:
                for place in self._places(event):
                    for lane in lanes.get(place, ()):
                        found.setdefault(lane, []).append(event)
        return {**dict.fromkeys(anyone, events), **found}

    def _places(self, event: Event) -> set[tuple[str, str]]:
        places = {(_KEY, event.key)}
        if self._on_nodes_count:
            for record in (event.record, event.previous):
                if record is not None:
                    places.add((NODE_NAME, node_name_of(record)))
        return places


class _Guard:
    """Gives up a lane that raised, and lets the others hear."""

    __slots__ = ("_broken", "_lane")

    def __init__(self, lane: _Lane, broken: Callable[[_Lane], None]) -> None:
        self._lane = lane
        self._broken = broken

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        resource, count = self._lane.interest.served.resource, len(self._lane.watchers)
        message = "%d watches of %s dropped: an event had no line: %s"
        _LOGGER.error(message, count, resource.plural, error, exc_info=error)
        self._broken(self._lane)
        return True


def lines_of(
    events: Iterable[Event], interest: Interest, reading: Reading | None = None
) -> Iterator[tuple[int, bytes]]:
    """What a client hears of these events, and at which revisions."""
    key, selection, show = interest.key, interest.selection, interest.show
    for event in events:
        if key is None or event.key == key:
            text = line_of(event, selection, show, reading)
            if text:
                yield event.revision, text


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines in as few pieces as may be written; all but the last one are full."""
    piece: list[bytes] = []
    size = 0
    for text in lines:
        piece.append(text)
        size += len(text)
        if size >= PIECE_BYTES_MAX:
            yield b"".join(piece)
            piece, size = [], 0
    if piece:
        yield b"".join(piece)


def _write_some(watcher: Watcher, pieces: Iterator[bytes]) -> bool:
    """Write as much as the client reads at once; whether that is all, and it is still there."""
    for piece in pieces:
        channel = watcher.channel
        if channel is None:
            return False
        channel.write(piece)
        if len(piece) >= PIECE_BYTES_MAX and channel.buffered > PIECE_BYTES_MAX:
            return False
    return watcher.is_open()


class Lanes:
    """All watches of a server."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lanes: dict[Hashable, _Lane] = {}
        self._trunks: dict[str, _Trunk] = {}  # by prefix
        # All of them; those that still hear what was there are in no lane yet.
        self._watchers: dict[Watcher, None] = {}
        self._beginnings: set[asyncio.Task[None]] = set()
        self._deadlines: list[tuple[float, int, Watcher]] = []
        self._sweep_at = DEADLINES_SWEPT_MIN
        self._serial = 0
        self._next_bookmark = clock.monotonic() + BOOKMARK_SECONDS
        self.dropped_count = 0

    def __len__(self) -> int:
        return len(self._watchers)

    # Joining and leaving -----------------------------------------------------------------------

    def join(self, watcher: Watcher) -> None:
        """Hand over what happened since `watcher.after`, then everything as it happens.

        Raises RevisionCompacted if that is no longer known, or too much.
        """
        self._start(watcher, self._backlog(watcher))

    def begin(self, watcher: Watcher, records: Sequence[Record], *, marks_end: bool) -> None:
        """Hand over what is there at `watcher.after`, its end, then go on as `join` does."""
        self._start(watcher, _pieces(_present_lines(watcher, records, marks_end=marks_end)))

    def _start(self, watcher: Watcher, pieces: Iterator[bytes]) -> None:
        self._watchers[watcher] = None
        begun = False
        try:
            rest = self._proceed(watcher, pieces)
            if rest is not None:
                task = asyncio.ensure_future(self._go_on(watcher, rest))
                self._beginnings.add(task)
                task.add_done_callback(self._begun)
            begun = True
        finally:
            if not begun:
                self.leave(watcher)

    def _proceed(self, watcher: Watcher, pieces: Iterator[bytes]) -> Iterator[bytes] | None:
        """Write while the client reads; what is left, or None once it is in its lane."""
        while _write_some(watcher, pieces):
            if watcher.after >= self._store.revision:
                self._take_place(watcher)
                return None
            pieces = self._backlog(watcher)
        return pieces

    async def _go_on(self, watcher: Watcher, pieces: Iterator[bytes]) -> None:
        rest: Iterator[bytes] | None = pieces
        begun = False
        try:
            while rest is not None and await self._has_room(watcher):
                rest = self._proceed(watcher, rest)
            begun = True
        except RevisionCompacted as error:
            self.fail(watcher, expired(error))
            begun = True
        finally:
            if not begun:
                self.drop(watcher)

    def _begun(self, task: asyncio.Task[None]) -> None:
        self._beginnings.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _LOGGER.error("a watch was dropped while it began: %s", error, exc_info=error)

    async def _has_room(self, watcher: Watcher) -> bool:
        """Wait until the client has read most of what it was sent; False if it has left."""
        pause = PIECE_PAUSE_SECONDS
        while watcher.channel is not None:
            if watcher.channel.buffered <= PIECE_BYTES_MAX:
                return True
            await self._clock.sleep(pause)
            pause = min(2 * pause, PIECE_PAUSE_SECONDS_MAX)
        return False

    def _backlog(self, watcher: Watcher) -> Iterator[bytes]:
        """What a client has missed, which it is then taken to have heard."""
        if watcher.after >= self._store.revision:
            return iter(())
        missed: list[Event] = []
        prefix, key = watcher.interest.selection.prefix, watcher.interest.key
        self._store.watch(prefix, watcher.after, missed.extend).close()
        if key is not None:
            missed = [event for event in missed if event.key == key]
        size = sum([len(event.record.value) for event in missed if event.record is not None])
        if size > BACKLOG_BYTES_MAX:
            raise RevisionCompacted(watcher.after, oldest=self._store.revision)
        watcher.after = self._store.revision
        return _pieces(text for _revision, text in lines_of(missed, watcher.interest))

    def _take_place(self, watcher: Watcher) -> None:
        interest = watcher.interest
        lane = self._lanes.get(interest.lane)
        if lane is None:
            lane = self._lanes[interest.lane] = _Lane(interest, self.drop)
            prefix = interest.selection.prefix
            trunk = self._trunks.get(prefix)
            if trunk is None:
                trunk = self._trunks[prefix] = _Trunk(prefix, self._store, self._break)
            trunk.add(lane)
        lane.watchers[watcher] = None

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
        self._watchers.pop(watcher, None)
        lane = self._lanes.get(watcher.interest.lane)
        if lane is None:
            return
        lane.watchers.pop(watcher, None)
        if not lane.watchers:
            del self._lanes[watcher.interest.lane]
            prefix = lane.interest.selection.prefix
            if self._trunks[prefix].remove(lane):
                del self._trunks[prefix]

    def drop(self, watcher: Watcher) -> None:
        """End a watch whose client does not keep up."""
        self.dropped_count += 1
        channel = watcher.channel
        self.leave(watcher)
        if channel is not None:
            channel.abort()

    def _break(self, lane: _Lane) -> None:
        """Drop everyone in a lane that missed an event: they know no more how things are."""
        for watcher in list(lane.watchers):
            self.drop(watcher)

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
        for watcher in list(self._watchers):
            resource = watcher.interest.served.resource
            if (resource.group, resource.plural) == (group, plural):
                self.finish(watcher)

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
        for watcher in list(self._watchers):
            self.finish(watcher)


def _present_lines(
    watcher: Watcher, records: Sequence[Record], *, marks_end: bool
) -> Iterator[bytes]:
    revision = watcher.after
    for record in records:
        yield added_line(record, watcher.interest.show)
    if marks_end:
        yield bookmark_line(*watcher.interest.name, revision, initial_events_end=True)


def expired(error: RevisionCompacted) -> Expired:
    """A watch that starts before what is kept."""
    return Expired(f"too old resource version: {error.revision} ({error.oldest})")
