"""Who goes next when not everybody can: requests take turns by flow.

Handlers are short and share one event loop, so what a request waits for is mostly the requests that
run before it. One turn of the loop starts requests worth a fixed amount of work; what does not fit
waits in the queue of its flow, and the next turn takes from all queues in turn, wide requests being
charged more. The first request of a flow in a turn always starts: someone who asks now and then is
not held up by someone who asks all the time.

Reads are answered from memory and are over when they return. Writes wait for the disk, which the
loop does not see, so each level may only have so many of them under way; reads and writes of a user
wait apart, and a disk that hangs does not hold up reads.

A flow whose queue is full, or that waited too long, is refused with 429; an exempt one takes turns
but is never refused. Upstream exempts these altogether; where one process does all the work that
would let an administrator's script stop the cluster
(test_an_exempt_flow_takes_turns_but_is_never_refused). Only what administrators renew, the leases
of nodes and of leaders, is of flows of its own and so passes what else they asked for.

While nothing waits, a read costs a dictionary lookup and a few additions. Streams are counted until
they begin. Upstream counterpart: apiserver pkg/util/flowcontrol, without shuffle sharding: flows of
one process need not be hashed into a fixed number of queues.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Final

from dray.clock import Clock
from dray.server.operations.flows import LEVELS, PROBES, RENEWED, Classifier, Level, Schema
from dray.server.operations.measures import Distribution
from dray.server.routing import Route
from dray.server.user import User

__all__ = ["Fairness", "FairnessLimits", "Flow", "SchemaCounts"]

# Upstream's.
WAIT_BUCKETS: Final = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)

# A level keeps half of its shares for itself and lends the rest.
KEPT_PART: Final = 0.5


@dataclass(frozen=True, slots=True)
class FairnessLimits:
    """How much may run, and how much may wait."""

    # Requests worth this much start in one turn of the loop while others wait; a read of one object
    # is worth 1 and takes some 0.1 ms, all told. Whoever asks next waits for two or three turns.
    # Half of it would halve that to some 2 ms beside a flood of reads, and make twice as many
    # turns, each a system call, of the same work: a tenth fewer writes in all.
    turn_width: int = 16

    # So much starts before anybody has to wait, and after half of it the next turn is looked for:
    # noticing every turn would cost as much as a tenth of a read.
    burst_width: int = 32

    # Writes under way, most of them waiting for the disk; upstream's number for all requests.
    seats: int = 600

    # A client with more connections than this should wait before it asks again. Fewer would have
    # those it turns away come back all at once, which others notice more than a long queue.
    flow_queue_max: int = 1024

    # Bodies of requests that wait: what one flow may keep of the server's memory.
    flow_bytes_max: int = 64 * 1024 * 1024

    # All that wait in one level and could be refused; the others crowd nobody out.
    level_queue_max: int = 8192

    # A quarter of what a request may take, as upstream: whoever waited longer gave up or soon will.
    wait_seconds: float = 15.0

    # Flows that are remembered between requests.
    flows_max: int = 4096


class SchemaCounts:
    """What became of the requests of one schema."""

    __slots__ = ("dispatched", "executing", "queued", "rejected", "schema", "waits")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.dispatched = 0
        self.executing = 0
        self.queued = 0
        self.rejected: dict[str, int] = {}
        self.waits = Distribution(WAIT_BUCKETS)


class _LevelState:
    """A level at work, its reads or its writes."""

    __slots__ = (
        "clock",
        "executing",
        "kept",
        "limit",
        "queued",
        "seated",
        "served",
        "shares",
        "waiting",
    )

    def __init__(self, level: Level, *, kept: int = 0, limit: int = 0) -> None:
        """Without a limit its requests need no seats."""
        self.shares = level.shares or _EXEMPT_SHARES
        self.kept = kept
        self.limit = limit
        self.seated = limit > 0
        self.executing = 0  # of those that need seats
        self.queued = 0  # of those that could be refused
        self.clock = 0.0  # the virtual time of its queues: work done per flow
        self.served = 0.0  # work done for its shares, against other levels'
        self.waiting: list[tuple[float, int, Flow]] = []  # a heap, the next one first


class _Place:
    """A request that waits."""

    __slots__ = ("future", "since", "size", "width")

    def __init__(self, future: asyncio.Future[bool], width: int, size: int, since: float) -> None:
        self.future = future
        self.width = width
        self.size = size
        self.since = since


class Flow:
    """Requests that take turns as one."""

    __slots__ = ("bytes_waiting", "counts", "finish", "level", "queue", "refusable", "turn")

    def __init__(self, level: _LevelState, counts: SchemaCounts) -> None:
        self.level = level
        self.counts = counts
        self.refusable = counts.schema.refusable
        self.queue: deque[_Place] = deque()
        self.bytes_waiting = 0
        self.turn = -1  # in which it last started a request at once
        self.finish = 0.0  # the virtual time up to which it was served


class Fairness:
    """Decides when requests start.

    Use: `flow = fairness.flow(...)`; unless `begin` says that it may start, `await wait`; and
    `end` when it is done, however it ended.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        limits: FairnessLimits | None = None,
        defer: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        """`defer` calls a function in the next turn of the loop; by default the running loop's."""
        self._clock = clock
        self._limits = limits or FairnessLimits()
        self._defer = defer
        self._classifier = Classifier()
        self._flows: dict[tuple[Schema, str, bool], Flow] = {}
        # The flows of users whose flows do not depend on what they ask for: writes, reads. By the
        # identity of the object, which authenticators keep: comparing users would cost more.
        self._users: dict[int, tuple[User, Flow, Flow]] = {}
        self._levels = _levels(self._limits.seats)
        self._counts: dict[Schema, SchemaCounts] = {}
        self._turn_width = self._limits.turn_width
        self._burst_width = self._limits.burst_width
        self._arming_width = max(self._burst_width // 2, 1)
        self._turn = 0
        self._used = 0  # width started since the last turn that was noticed
        self._armed = False  # the next turn is on its way
        self._executing = 0
        self._waiting = 0
        self._serial = 0

    # What a request calls ----------------------------------------------------------------------

    def flow(self, user: User, where: Route, *, reads: bool) -> Flow:
        """The flow of a request."""
        resource = where.resource
        known = self._users.get(id(user))
        if known is not None and resource and (reads or resource not in RENEWED):
            return known[2] if reads else known[1]
        schema = self._classifier.schema(user, where)
        if schema.depends_on_user_alone and resource:
            if len(self._users) >= self._limits.flows_max:
                self._users.clear()
            flows = (self._find(schema, user.name, False), self._find(schema, user.name, True))
            self._users[id(user)] = (user, *flows)
            return flows[reads]
        return self._find(schema, schema.flow_of(user, where), reads)

    def begin(self, flow: Flow, width: int) -> bool:
        """Start a request if it need not wait."""
        level = flow.level
        if flow.queue or (level.seated and not self._has_seat(level)):
            return False
        turn = self._turn
        if flow.turn != turn:
            flow.turn = turn  # the first of its flow in this turn
        elif (
            self._waiting or self._used >= self._burst_width
        ) and flow.counts.schema is not PROBES:
            return False
        flow.counts.dispatched += 1
        self._used = used = self._used + width
        if used >= self._arming_width and not self._armed:
            self._arm()
        if level.seated:
            self._sit(flow)
        return True

    async def wait(self, flow: Flow, width: int, size: int = 0) -> str | None:
        """Wait for the turn of a request that may not begin; `size` is that of its body.

        None once it is started; else it is refused, and this is upstream's word for why.
        """
        level, limits = flow.level, self._limits
        full = (
            len(flow.queue) >= limits.flow_queue_max
            or flow.bytes_waiting + size > limits.flow_bytes_max
            or level.queued >= limits.level_queue_max
        )
        if full and flow.refusable:
            return self._refused(flow, "queue-full")
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        place = _Place(future, width, size, self._clock.monotonic())
        self._enqueue(flow, place)
        try:
            granted = await place.future
        except asyncio.CancelledError:
            # Granted just when the client went away: nobody else will give the seat back.
            if not place.future.cancelled() and place.future.result() and level.seated:
                self.end(flow)
            raise
        flow.counts.waits.add(self._clock.monotonic() - place.since)
        return None if granted else self._refused(flow, "time-out")

    def end(self, flow: Flow) -> None:
        """A request of a flow with seats is done, or became a stream."""
        flow.level.executing -= 1
        flow.counts.executing -= 1
        self._executing -= 1
        if self._waiting and not self._armed:
            self._arm()

    # What the server calls ---------------------------------------------------------------------

    def sweep(self) -> None:
        """Refuse those who waited too long; call every second or so."""
        if not self._waiting:
            return
        oldest = self._clock.monotonic() - self._limits.wait_seconds
        for level in self._levels.values():
            for _finish, _serial, flow in level.waiting:
                queue = flow.queue
                while queue and (
                    queue[0].future.done() or (queue[0].since <= oldest and flow.refusable)
                ):
                    future = self._leave(flow).future
                    if not future.done():
                        future.set_result(False)
            level.waiting = [entry for entry in level.waiting if entry[2].queue]
            heapq.heapify(level.waiting)

    @property
    def counts(self) -> list[SchemaCounts]:
        """What became of requests, of every schema that had any."""
        return list(self._counts.values())

    def nominal_seats(self) -> dict[str, int]:
        """How many writes of each level may be under way, if all share what there is."""
        return {
            level.name: _nominal(level, self._limits.seats) for level in LEVELS if not level.exempt
        }

    # Starting ----------------------------------------------------------------------------------

    def _has_seat(self, level: _LevelState) -> bool:
        if level.executing < level.kept:
            return True
        return level.executing < level.limit and self._executing < self._limits.seats

    def _sit(self, flow: Flow) -> None:
        flow.counts.executing += 1
        flow.level.executing += 1
        self._executing += 1

    def _arm(self) -> None:
        self._armed = True
        if self._defer is None:
            self._defer = asyncio.get_running_loop().call_soon
        self._defer(self._next_turn)

    def _next_turn(self) -> None:
        self._armed = False
        self._turn += 1
        self._used = 0
        while self._waiting and self._used < self._turn_width:
            level = self._next_level()
            if level is None:
                return  # `end` tries again
            self._dispatch(level)

    def _next_level(self) -> _LevelState | None:
        """Of the levels that wait and have a seat, the one that had least for its shares."""
        best: _LevelState | None = None
        for level in self._levels.values():
            if not level.waiting or (level.seated and not self._has_seat(level)):
                continue
            if best is None or level.served < best.served:
                best = level
        return best

    def _dispatch(self, level: _LevelState) -> None:
        """Start the next request of a level."""
        finish, _serial, flow = heapq.heappop(level.waiting)
        level.clock = max(level.clock, finish)
        started = False
        while flow.queue and not started:
            place = self._leave(flow)
            if place.future.done():
                continue  # its client went away
            started = True
            place.future.set_result(True)
            flow.counts.dispatched += 1
            self._used += place.width
            if not self._armed:
                self._arm()
            if level.seated:
                self._sit(flow)
            flow.finish = level.clock + place.width
            level.served += place.width / level.shares
        if flow.queue:
            self._push(flow)

    # Waiting -----------------------------------------------------------------------------------

    def _enqueue(self, flow: Flow, place: _Place) -> None:
        level = flow.level
        if not level.waiting:
            # A level that was idle has saved nothing up.
            level.served = max(level.served, self._least_served())
        flow.queue.append(place)
        flow.bytes_waiting += place.size
        flow.counts.queued += 1
        level.queued += flow.refusable
        self._waiting += 1
        if len(flow.queue) == 1:
            flow.finish = max(flow.finish, level.clock)
            self._push(flow)
        if not self._armed:
            self._arm()

    def _least_served(self) -> float:
        served = [level.served for level in self._levels.values() if level.waiting]
        return min(served) if served else max(level.served for level in self._levels.values())

    def _push(self, flow: Flow) -> None:
        self._serial += 1
        heapq.heappush(flow.level.waiting, (flow.finish, self._serial, flow))

    def _leave(self, flow: Flow) -> _Place:
        flow.counts.queued -= 1
        flow.level.queued -= flow.refusable
        self._waiting -= 1
        place = flow.queue.popleft()
        flow.bytes_waiting -= place.size
        return place

    @staticmethod
    def _refused(flow: Flow, reason: str) -> str:
        rejected = flow.counts.rejected
        rejected[reason] = rejected.get(reason, 0) + 1
        return reason

    def _find(self, schema: Schema, whose: str, reads: bool) -> Flow:
        key = (schema, whose, reads)
        found = self._flows.get(key)
        if found is not None:
            return found
        if len(self._flows) >= self._limits.flows_max:
            self._flows = {key: flow for key, flow in self._flows.items() if flow.queue}
            self._users.clear()
        counts = self._counts.get(schema)
        if counts is None:
            counts = self._counts[schema] = SchemaCounts(schema)
        flow = self._flows[key] = Flow(self._levels[schema.level, reads], counts)
        return flow


# Exempt levels take turns with the others as the largest of them does.
_EXEMPT_SHARES: Final = max(level.shares for level in LEVELS)

_SHARES_TOTAL: Final = sum(level.shares for level in LEVELS)


def _nominal(level: Level, seats: int) -> int:
    return ceil(seats * level.shares / _SHARES_TOTAL)


def _levels(seats: int) -> dict[tuple[Level, bool], _LevelState]:
    """The states of levels, by level and whether it is their reads."""
    kept = {level: ceil(_nominal(level, seats) * KEPT_PART) for level in LEVELS}
    lent = seats - sum(kept.values())
    states: dict[tuple[Level, bool], _LevelState] = {}
    for level in LEVELS:
        own = kept[level]
        states[level, True] = _LevelState(level)
        states[level, False] = (
            _LevelState(level)
            if level.exempt
            else _LevelState(level, kept=own, limit=max(own + lent, 1))
        )
    return states
