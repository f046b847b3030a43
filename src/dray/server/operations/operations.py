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
from dray.server.http.messages import Answer, Channel, Request, Response, Stream, Upgrade, WebSocket
from dray.server.operations.audit import Audit
from dray.server.operations.audit_log import AuditLog, Rotation
from dray.server.operations.audit_policy import DEFAULT_POLICY, load_policy
from dray.server.operations.counted_channel import CountedChannel, LineCounter
from dray.server.operations.fairness import Fairness
from dray.server.operations.handling import Handling
from dray.server.operations.metrics import Metrics, Sources
from dray.server.operations.request_log import SLOW_SECONDS, RequestLog, Requests
from dray.server.operations.time_limits import REQUEST_SECONDS, TimeLimits
from dray.server.operations.widths import width_of
from dray.server.routing import Route
from dray.server.user import User

__all__ = ["Operations", "OperationsSettings"]

# Late requests and long waits are looked for this often.
TICK_SECONDS: Final = 1.0

# An ID that a client chose is repeated in the log and in the answer, if it can be one.
AUDIT_ID_CHARACTERS_MAX: Final = 128

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
        self._fair = settings.fairness
        self._fairness: Fairness = sources.fairness
        self.metrics = Metrics(sources)
        self._table = self.metrics.table
        self._in_flight = self.metrics.in_flight
        self._log = RequestLog(settings.requests, slow_seconds=settings.slow_seconds)
        self._limits = TimeLimits(clock, seconds=settings.request_seconds)
        self._lines = LineCounter()
        # IDs only have to differ: random ones for each request would cost more than counting them.
        self._id_prefix = entropy.uid()[:24]
        self._id_number = 0
        self._audit_log: AuditLog | None = None
        self._audit: Audit | None = None
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
            self._fairness.sweep()

    async def close(self) -> None:
        """Write audit events that wait, and close their file."""
        if self._audit_log is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._audit_log.close)

    def _unwritten(self, count: int) -> None:
        self._sources.audit.unwritten += count

    # The way of a request ----------------------------------------------------------------------

    def begin(self, request: Request, where: Route) -> Handling:
        """A request arrived. `end` or `abandon` must follow."""
        audit_id = request.headers.get("audit-id", "")
        if not audit_id or len(audit_id) > AUDIT_ID_CHARACTERS_MAX or not audit_id.isprintable():
            self._id_number += 1
            audit_id = f"{self._id_prefix}{self._id_number:012x}"
        series = self._table.of(request, where)
        handling = Handling(request, where, audit_id, self._clock.monotonic(), series)
        self._in_flight[handling.reads] += 1
        return handling

    def limit(self, handling: Handling) -> None:
        """Set its time limit. Raises BadRequest if it asks for one that makes no sense."""
        self._limits.begin(handling)

    def authenticated(self, handling: Handling, user: User) -> None:
        """It is known who sent it."""
        handling.user = user
        if self._audit is not None:
            self._audit.received(handling)

    def enter(self, handling: Handling, user: User) -> bool:
        """Whether it may start now; otherwise `wait`. The user is who it is served as."""
        handling.user_served = user
        if not self._fair:
            return True
        where = handling.where
        flow = handling.flow = self._fairness.flow(user, where)
        handling.width = width = width_of(handling.request, where, self._count)
        handling.seated = seated = self._fairness.begin(flow, width)
        return seated

    async def wait(self, handling: Handling) -> Response | None:
        """Wait until it may start; or the answer that refuses it."""
        assert handling.flow is not None
        refused = await self._fairness.wait(handling.flow, handling.width)
        if refused is not None:
            handling.series.terminate(_TOO_MANY.status)
            return _TOO_MANY
        handling.seated = True
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
        self._release(handling)
        header = ("Audit-Id", handling.audit_id)
        if type(answer) is Response:
            self._finish(handling, answer.status, len(answer.body), answer)
            return Response(answer.status, (*answer.headers, header), answer.body)
        if isinstance(answer, Stream):
            return self._stream(handling, answer)
        assert isinstance(answer, Upgrade)
        return self._upgrade(handling, answer)

    def abandon(self, handling: Handling) -> None:
        """There is no answer: its client went away, or its handler failed."""
        self._release(handling)
        if handling.cancelled:
            return
        seconds = self._clock.monotonic() - handling.started
        handling.series.add(500, seconds, 0)
        self._log.answered(handling, 500, seconds, 0)
        if self._audit is not None:
            self._audit.broke(handling)

    def _release(self, handling: Handling) -> None:
        self._in_flight[handling.reads] -= 1
        self._limits.end(handling)
        if handling.seated and handling.flow is not None:
            handling.seated = False
            self._fairness.end(handling.flow)

    def _finish(self, handling: Handling, code: int, size: int, answer: Answer) -> None:
        seconds = self._clock.monotonic() - handling.started
        handling.series.add(code, seconds, size)
        metrics, decision = self.metrics, handling.decision
        if handling.user is not None:
            metrics.authentications["success"] += 1
        elif code == 401:
            metrics.authentications["failure"] += 1
        if decision is not None:
            metrics.authorizations[_VERDICTS[decision.allowed]] += 1
        self._log.answered(handling, code, seconds, size)
        if self._audit is not None:
            if handling.user is None:
                self._audit.received(handling)
            self._audit.completed(handling, code, answer)

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
            self._finish(handling, stream.status, size, stream)
            stream.ended()

        headers = (*stream.headers, ("Audit-Id", handling.audit_id))
        return Stream(stream.status, headers, start, ended)

    def _upgrade(self, handling: Handling, upgrade: Upgrade) -> Upgrade:
        if self._audit is not None:
            self._audit.started(handling, _SWITCHING)

        async def observed(websocket: WebSocket) -> None:
            handling.series.long_running += 1
            try:
                await upgrade.serve(websocket)
            finally:
                handling.series.long_running -= 1
                self._finish(handling, _SWITCHING, 0, upgrade)

        return Upgrade(observed, upgrade.protocol)


_SWITCHING: Final = 101

_VERDICTS: Final = {True: "allowed", False: "denied", None: "no-opinion"}
