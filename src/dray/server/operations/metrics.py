"""What /metrics tells: upstream's names where upstream has one, `dray_` where it has none.

Requests are counted in series on their way (see `series`); everything else is read from where it is
known at the moment somebody asks. Who may ask is for authorizers to say. Upstream counterparts:
apiserver pkg/endpoints/metrics, pkg/server/routes/metrics.go and the metrics of the parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Protocol

from dray.http.messages import Request, Response
from dray.http.service import Counters
from dray.server.allocations import Allocations
from dray.server.operations.fairness import Fairness, SchemaCounts
from dray.server.operations.measures import Distribution
from dray.server.operations.metric_families import FAMILIES
from dray.server.operations.observed_admission import ObservedAdmission
from dray.server.operations.observed_store import ObservedStore
from dray.server.operations.series import Series, SeriesTable
from dray.server.operations.text_format import CONTENT_TYPE, Page
from dray.server.refusals import method_not_allowed
from dray.server.registry import Registry
from dray.server.resources import Resource

__all__ = ["AuditCounts", "Metrics", "Sources"]

PATH: Final = "/metrics"

_COMPONENT: Final = "apiserver"


class _Watches(Protocol):
    dropped_count: int


@dataclass(slots=True)
class AuditCounts:
    """What the audit log counts. The loop and the writer's thread have numbers of their own."""

    events: int = 0
    dropped: int = 0  # because too many waited
    unwritten: int = 0  # because the disk did not take them; the thread's
    levels: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Sources:
    """Where numbers are known. What a server does not have is None, and told as nothing."""

    registry: Registry
    store: ObservedStore
    admission: ObservedAdmission
    fairness: Fairness
    watches: _Watches | None = None
    connections: Callable[[], Counters | None] = lambda: None
    audit: AuditCounts = field(default_factory=AuditCounts)
    allocations: Allocations | None = None


class Metrics:
    """Counts requests, and answers scrapes."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.table = SeriesTable(self._find)
        self.writes_in_flight = 0
        # Only what did not succeed is counted on the way; "" came too early for the question.
        self.unauthenticated = {"failure": 0, "": 0}
        self.unauthorized = {"denied": 0, "no-opinion": 0, "": 0}
        # Pages of other parts of this process, which have families of their own.
        self.others: list[Callable[[], bytes]] = []

    async def __call__(self, request: Request) -> Response | None:
        """The page, or None if the path is another."""
        if request.path.rstrip("/") != PATH:
            return None
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        return Response(200, (("Content-Type", CONTENT_TYPE),), self.page())

    def page(self) -> bytes:
        """Everything, as text."""
        page = Page()
        for name, samples in self._numbers():
            page.family(FAMILIES[name], samples)
        for name, distributions in self._distributions():
            page.histogram(FAMILIES[name], distributions)
        for metric in _process_collector().collect():
            told = [(each.name, each.labels, each.value) for each in metric.samples]
            # The library leaves the ending of a counter to its own writer of pages.
            ending = "_total" if metric.type == "counter" else ""
            page.foreign(metric.name + ending, metric.type, metric.documentation, told)
        return b"".join((page.encode(), *(tell() for tell in self.others)))

    def _numbers(self) -> Iterator[tuple[str, Iterable[tuple[tuple[str, ...], float]]]]:
        """Samples of every counter and gauge."""
        yield from self._request_numbers()
        yield from self._watch_numbers()
        yield from self._object_numbers()
        answered = sum(sum(series.codes.values()) for series in self.table)
        known = answered - sum(self.unauthenticated.values())
        allowed = known - sum(self.unauthorized.values())
        failures = self.unauthenticated["failure"]
        yield "authentication_attempts", _by_label({"success": known, "failure": failures})
        refused = {verdict: n for verdict, n in self.unauthorized.items() if verdict}
        yield "authorization_attempts_total", _by_label({"allowed": allowed, **refused})
        audit = self._sources.audit
        yield "apiserver_audit_event_total", _plain(audit.events)
        yield "apiserver_audit_error_total", [(("log",), audit.dropped + audit.unwritten)]
        yield "apiserver_audit_level_total", _by_label(audit.levels)
        yield from self._flow_numbers()
        store = self._sources.store
        yield "dray_store_revision", _plain(store.revision)
        yield "dray_store_oldest_revision", _plain(store.oldest)
        yield "dray_store_write_errors_total", _plain(store.failures)
        allocations = self._sources.allocations
        refusals = {} if allocations is None else allocations.refusals
        yield "dray_allocation_refusals_total", _by_label(refusals)
        yield from self._connection_numbers()

    def _request_numbers(self) -> Iterator[tuple[str, list[tuple[tuple[str, ...], float]]]]:
        table = self.table
        yield (
            "apiserver_request_total",
            [((*_dry(each), str(code)), n) for each in table for code, n in each.codes.items()],
        )
        writes, connections = self.writes_in_flight, self._sources.connections()
        # Those in flight on connections; what the process asks of itself is not among them.
        reads = max(connections.requests_in_flight - writes, 0) if connections else 0
        yield (
            "apiserver_current_inflight_requests",
            [(("mutating",), writes), (("readOnly",), reads)],
        )
        yield (
            "apiserver_longrunning_requests",
            [(_labels(each), each.long_running) for each in table if each.long_running],
        )
        yield (
            "apiserver_request_terminations_total",
            [
                ((*_labels(each), str(code)), n)
                for each in table
                for code, n in each.terminations.items()
            ],
        )

    def _watch_numbers(self) -> Iterator[tuple[str, list[tuple[tuple[str, ...], float]]]]:
        open_, sent, size = Counter[_Path](), Counter[_Path](), Counter[_Path]()
        for each in self.table:
            if each.sort.verb == "WATCH" and each.sort.resource:
                open_[each.sort.path] += each.long_running
                sent[each.sort.path] += each.events
                size[each.sort.path] += each.events_bytes
        kinds = {path: self._find(*path) for path in open_}
        yield (
            "apiserver_registered_watchers",
            [
                ((path[0], path[1], kind.kind), open_[path])
                for path, kind in kinds.items()
                if kind is not None
            ],
        )
        yield "apiserver_watch_events_total", list(sent.items())
        yield "dray_watch_event_bytes_total", list(size.items())
        watches = self._sources.watches
        yield "dray_watch_dropped_total", _plain(watches.dropped_count if watches else 0)

    def _object_numbers(self) -> Iterator[tuple[str, list[tuple[tuple[str, ...], float]]]]:
        counts: dict[str, tuple[Resource, int]] = {}
        for served in self._sources.registry.served():
            if served.prefix and served.prefix not in counts:
                resource = served.resource
                counts[served.prefix] = (resource, self._sources.store.count(served.prefix))
        yield "apiserver_storage_objects", [((r.qualified,), n) for r, n in counts.values()]
        yield "apiserver_resource_objects", [((r.group, r.plural), n) for r, n in counts.values()]

    def _flow_numbers(self) -> Iterator[tuple[str, Iterable[tuple[tuple[str, ...], float]]]]:
        fairness, prefix = self._sources.fairness, "apiserver_flowcontrol_"
        counts = fairness.counts
        yield f"{prefix}nominal_limit_seats", _by_label(fairness.nominal_seats())
        yield f"{prefix}current_executing_requests", [(_flow(c), c.executing) for c in counts]
        yield f"{prefix}current_inqueue_requests", [(_flow(c), c.queued) for c in counts]
        yield f"{prefix}dispatched_requests_total", [(_flow(c), c.dispatched) for c in counts]
        yield (
            f"{prefix}rejected_requests_total",
            [((*_flow(c), why), n) for c in counts for why, n in c.rejected.items()],
        )

    def _connection_numbers(self) -> Iterator[tuple[str, list[tuple[tuple[str, ...], float]]]]:
        seen = self._sources.connections() or Counters()
        yield "dray_http_connections", _plain(seen.connections_open)
        yield "dray_http_connections_total", _plain(seen.connections_total)
        yield "dray_http_connections_refused_total", _plain(seen.connections_refused)
        yield "dray_http_requests_refused_total", _plain(seen.requests_refused)
        yield "dray_http_streams", _plain(seen.streams_open)
        yield "dray_http_websockets", _plain(seen.websockets_open)
        yield "dray_http_received_bytes_total", _plain(seen.bytes_received)
        yield "dray_http_sent_bytes_total", _plain(seen.bytes_sent)

    def _distributions(self) -> Iterator[tuple[str, list[tuple[tuple[str, ...], Distribution]]]]:
        """Samples of every histogram."""
        table, store = self.table, self._sources.store
        yield "apiserver_request_duration_seconds", [(_dry(s), s.durations) for s in table]
        sized = [(_labels(s), s.sizes) for s in table if s.sizes is not None and s.sort.resource]
        yield "apiserver_response_sizes", sized
        yield (
            "apiserver_admission_step_admission_duration_seconds",
            [
                ((step, operation.value, str(refused).lower()), times)
                for (step, operation, refused), times in self._sources.admission.steps.items()
            ],
        )
        yield (
            "apiserver_flowcontrol_request_wait_duration_seconds",
            [(_flow(counts), counts.waits) for counts in self._sources.fairness.counts],
        )
        yield "dray_store_write_duration_seconds", [((), store.writes)]
        yield "dray_store_commit_writes", [((), store.commits)]

    def _find(self, group: str, version: str, plural: str) -> Resource | None:
        served = self._sources.registry.find(group, version, plural)
        return None if served is None else served.resource


_Path = tuple[str, str, str]


@cache
def _process_collector() -> Any:
    # Whole servers of its own come with the library: who is never scraped need not load them.
    from prometheus_client.process_collector import ProcessCollector  # noqa: PLC0415

    # None is told twice: the collector is ours alone, not the library's global one.
    return ProcessCollector(registry=None)


def _labels(series: Series) -> tuple[str, ...]:
    sort = series.sort
    return (sort.verb, *sort.path, sort.subresource, sort.scope, _COMPONENT)


def _dry(series: Series) -> tuple[str, ...]:
    verb, *others = _labels(series)
    return (verb, series.sort.dry_run, *others)


def _flow(counts: SchemaCounts) -> tuple[str, str]:
    return counts.schema.level.name, counts.schema.name


def _plain(number: float) -> list[tuple[tuple[str, ...], float]]:
    return [((), number)]


def _by_label(numbers: Mapping[str, int]) -> list[tuple[tuple[str, ...], float]]:
    return [((label,), number) for label, number in numbers.items()]
