"""All that operators need of a server, put together for the application.

The application tells how far a request has come: begun, limited, authenticated, entered, ended.
What that means for metrics, the log, the audit log, turns and time limits is decided here, so that
the way of a request reads without them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dray.clock import Clock
from dray.entropy import Entropy
from dray.http.messages import Answer, Channel, Request, Response, Stream, Upgrade, WebSocket
from dray.server.operations.audit import Audit
from dray.server.operations.audit_log import AuditLog, Rotation
from dray.server.operations.audit_policy import DEFAULT_POLICY, load_policy
from dray.server.operations.counted_channel import CountedChannel, LineCounter
from dray.server.operations.fairness import Fairness, FairnessLimits
from dray.server.operations.handling import READING_VERBS, Handling, is_long_running
from dray.server.operations.metrics import Metrics, Sources
from dray.server.operations.request_log import SLOW_SECONDS, RequestLog, Requests
from dray.server.operations.series import Series
from dray.server.operations.time_limits import REQUEST_SECONDS, TimeLimits
from dray.server.operations.widths import width_of
from dray.server.routing import Route, route
from dray.server.user import User

__all__ = ["Operations", "OperationsSettings"]

# Late requests and long waits are looked for this often.
TICK_SECONDS: Final = 1.0

# An ID that a client chose is repeated in the log and in the answer, if it can be one.
AUDIT_ID_CHARACTERS_MAX: Final = 128

# Paths without a query that are remembered, if they are not too long to be worth it: a megabyte.
PLAIN_PATHS_MAX: Final = 4096
PLAIN_PATH_CHARACTERS_MAX: Final = 256

_TOO_MANY: Final = Response(
    429,
    (
        ("Content-Type", "text/plain; charset=utf-8"),
        ("X-Content-Type-Options", "nosniff"),
        ("Retry-After", "1"),
    ),
    b"Too many requests, please try again later.\n",
)


@dataclass(frozen=True, slots=True)
class OperationsSettings:
    """What operators may choose."""

    request_seconds: float = REQUEST_SECONDS
    requests: Requests = Requests.FAILURES  # that are logged
    slow_seconds: float = SLOW_SECONDS
    fairness: bool = True
    fairness_limits: FairnessLimits = field(default_factory=FairnessLimits)
    audit_log: Path | None = None
    audit_policy: Path | None = None
    audit_rotation: Rotation = field(default_factory=Rotation)
    data_directory: Path | None = None  # whose disk must be there for the server to be ready


class Operations:
    """Watches every request, and holds some of them back."""

    def __init__(
        self, settings: OperationsSettings, sources: Sources, clock: Clock, entropy: Entropy
    ) -> None:
        """Opens the audit log. Raises ConfigurationError."""
        self._clock = clock
        self._sources = sources
        self._monotonic = clock.monotonic
        self._fairness: Fairness | None = sources.fairness if settings.fairness else None
        self.metrics = Metrics(sources)
        self._series = self.metrics.table.of
        self._log = RequestLog(settings.requests, slow_seconds=settings.slow_seconds)
        self._slow_seconds = settings.slow_seconds
        # Reads that succeed are counted and no more, unless somebody wants them written down.
        self._notes_reads = settings.requests is Requests.ALL or settings.audit_log is not None
        self._limits = TimeLimits(clock, seconds=settings.request_seconds)
        self._lines = LineCounter()
        # Clients read the same objects again and again; where such a path leads does not change.
        self._plain: dict[str, tuple[Route, Series]] = {}
        # IDs only have to differ: random ones for each request would cost more than counting them.
        self._id_prefix = entropy.uid()[:24]
        self._id_number = 0
        self._audit_log: AuditLog | None = None
        self._audit: Audit | None = None
        self.audits = settings.audit_log is not None
        if settings.audit_log is not None:
            policy = load_policy(settings.audit_policy) if settings.audit_policy else DEFAULT_POLICY
            self._audit_log = AuditLog(
                settings.audit_log, clock, self._unwritten, rotation=settings.audit_rotation
            )
            self._audit = Audit(policy, self._audit_log, clock, sources.audit)

    # While the server runs ---------------------------------------------------------------------

    def start(self) -> None:
        """Begin to write audit events."""
        if self._audit_log is not None:
            self._audit_log.start()

    async def run(self) -> None:
        """End what is late, for ever."""
        while True:
            await self._clock.sleep(TICK_SECONDS)
            self._limits.sweep()
            if self._fairness is not None:
                self._fairness.sweep()

    async def close(self) -> None:
        """Write audit events that wait, and close their file."""
        if self._audit_log is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._audit_log.close)

    def _unwritten(self, count: int) -> None:
        self._sources.audit.unwritten += count

    # The way of a request ----------------------------------------------------------------------

    def begin(self, request: Request) -> Handling:
        """A request arrived. `end` or `abandon` must follow."""
        plain = request.method == "GET" and not request.query
        known = self._plain.get(request.path) if plain else None
        if known is not None:
            return Handling(request, known[0], self._monotonic(), known[1], True)
        where = route(request.method, request.path, request.query)
        series = self._series(request, where)
        reads = where.verb in READING_VERBS
        handling = Handling(request, where, self._monotonic(), series, reads)
        if not reads:
            self.metrics.writes_in_flight += 1
        if is_long_running(where):
            return handling
        handling.limited = not reads or "timeout" in request.query
        if plain and series.sort.resource and len(request.path) <= PLAIN_PATH_CHARACTERS_MAX:
            if len(self._plain) >= PLAIN_PATHS_MAX:
                self._plain.clear()
            self._plain[request.path] = (where, series)
        return handling

    def limit(self, handling: Handling) -> None:
        """Set its time limit. Raises BadRequest if it asks for one that makes no sense."""
        self._limits.begin(handling)

    def authenticated(self, handling: Handling) -> None:
        """It is known who sent it; to be told if `audits`."""
        if self._audit is not None:
            self._name(handling)
            self._audit.received(handling)

    def enter(self, handling: Handling, user: User) -> bool:
        """Whether it may start now; otherwise `wait`. The user is who it is served as."""
        handling.user_served = user
        fairness = self._fairness
        if fairness is None:
            return True
        where, reads = handling.where, handling.reads
        flow = fairness.flow(user, where, reads=reads)
        width = 1
        if where.verb != "get":
            handling.width = width = width_of(
                handling.request, where, handling.series.sizes, self._count
            )
        started = fairness.begin(flow, width)
        if not (started and reads):
            handling.flow = flow
            handling.seated = started and flow.level.seated
        return started

    async def wait(self, handling: Handling) -> Response | None:
        """Wait until it may start; or the answer that refuses it."""
        flow, fairness = handling.flow, self._fairness
        assert flow is not None
        assert fairness is not None
        refused = await fairness.wait(flow, handling.width, len(handling.request.body))
        if refused is not None:
            handling.series.terminate(_TOO_MANY.status)
            return _TOO_MANY
        handling.seated = flow.level.seated
        return None

    def cancelled(self, handling: Handling) -> bool:
        """The handler was cancelled: whether that was because its time was up."""
        if not handling.expired:
            handling.cancelled = True
            return False
        if handling.task is not None:
            handling.task.uncancel()
        handling.series.terminate(504)
        return True

    def end(self, handling: Handling, answer: Answer) -> Answer:
        """It is answered: the answer to give, which is counted and named."""
        if not handling.reads or handling.limited or handling.flow is not None:
            self._release(handling)
        if type(answer) is not Response:
            return self._long_running(handling, answer)
        code, size = answer.status, len(answer.body)
        seconds = self._monotonic() - handling.started
        handling.series.add(code, seconds, size)
        if handling.reads and code < 400 and seconds < self._slow_seconds and not self._notes_reads:
            return answer  # there is nothing that would name it
        self._note(handling, code, seconds, size, answer)
        return Response(code, (*answer.headers, ("Audit-Id", handling.audit_id)), answer.body)

    def _long_running(self, handling: Handling, answer: Answer) -> Answer:
        if isinstance(answer, Stream):
            return self._stream(handling, answer)
        assert isinstance(answer, Upgrade)
        return self._upgrade(handling, answer)

    def abandon(self, handling: Handling) -> None:
        """There is no answer: its client went away, or its handler failed."""
        self._release(handling)
        if handling.cancelled:
            return
        seconds = self._monotonic() - handling.started
        handling.series.add(500, seconds, 0)
        self._log.answered(self._name(handling), 500, seconds, 0)
        if self._audit is not None:
            self._audit.broke(handling)

    def _release(self, handling: Handling) -> None:
        self._limits.end(handling)
        if not handling.reads:
            self.metrics.writes_in_flight -= 1
        if handling.seated and handling.flow is not None and self._fairness is not None:
            handling.seated = False
            self._fairness.end(handling.flow)

    def _note(
        self, handling: Handling, code: int, seconds: float, size: int, answer: Answer
    ) -> None:
        """Write down what is to be known of a request besides that there was one."""
        self._name(handling)
        if code >= 400:
            self._refused(handling, code)
        self._log.answered(handling, code, seconds, size)
        if self._audit is not None:
            if handling.user is None:
                self._audit.received(handling)
            self._audit.completed(handling, code, answer)

    def _name(self, handling: Handling) -> Handling:
        """Give the request its ID: the client's own, or a new one."""
        if not handling.audit_id:
            wanted = handling.request.headers.get("audit-id", "")
            if 0 < len(wanted) <= AUDIT_ID_CHARACTERS_MAX and wanted.isprintable():
                handling.audit_id = wanted
            else:
                self._id_number += 1
                handling.audit_id = f"{self._id_prefix}{self._id_number:012x}"
        return handling

    def _refused(self, handling: Handling, code: int) -> None:
        """Count how far a refused request came; all others came all the way."""
        metrics = self.metrics
        if handling.user is None:
            metrics.unauthenticated["failure" if code == 401 else ""] += 1
        elif handling.decision is None:
            metrics.unauthorized[""] += 1
        elif not handling.decision.allowed:
            metrics.unauthorized[
                "no-opinion" if handling.decision.allowed is None else "denied"
            ] += 1

    def _count(self, group: str, version: str, plural: str, namespace: str) -> int:
        served = self._sources.registry.find(group, version, plural)
        if served is None or not served.prefix:
            return 0
        prefix = f"{served.prefix}{namespace}/" if namespace else served.prefix
        return self._sources.store.count(prefix)

    # Streams -----------------------------------------------------------------------------------

    def _stream(self, handling: Handling, stream: Stream) -> Stream:
        counted: list[CountedChannel] = []
        handling.series.long_running += 1
        if self._audit is not None:
            self._audit.started(handling, stream.status)

        def start(channel: Channel) -> None:
            counted.append(CountedChannel(channel, handling.series, self._lines))
            stream.start(counted[0])

        def ended() -> None:
            handling.series.long_running -= 1
            size = counted[0].bytes_sent if counted else 0
            self._ended(handling, stream.status, size, stream)
            stream.ended()

        headers = (*stream.headers, ("Audit-Id", self._name(handling).audit_id))
        return Stream(stream.status, headers, start, ended)

    def _ended(self, handling: Handling, code: int, size: int, answer: Answer) -> None:
        seconds = self._monotonic() - handling.started
        handling.series.add(code, seconds, size)
        self._note(handling, code, seconds, size, answer)

    def _upgrade(self, handling: Handling, upgrade: Upgrade) -> Upgrade:
        if self._audit is not None:
            self._audit.started(handling, _SWITCHING)

        async def observed(websocket: WebSocket) -> None:
            handling.series.long_running += 1
            try:
                await upgrade.serve(websocket)
            finally:
                handling.series.long_running -= 1
                self._ended(handling, _SWITCHING, 0, upgrade)

        return Upgrade(observed, upgrade.protocol)


_SWITCHING: Final = 101
