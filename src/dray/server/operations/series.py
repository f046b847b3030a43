"""What is counted of requests of one sort: verb, resource, scope.

Sorts are found by what a request says, so there must not be more of them than the server can have:
a resource, subresource, path or verb that is none shares one series with all others of its like.
Upstream counterpart: the label values of apiserver pkg/endpoints/metrics.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dray.http.messages import Request
from dray.server.operations.measures import Distribution
from dray.server.resources import Resource
from dray.server.routing import Route

__all__ = ["Series", "SeriesTable", "Sort"]

# Upstream's, made to show whether its objectives for latency are met.
DURATION_BUCKETS: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10),
    *(15, 20, 30, 45, 60),
)
SIZE_BUCKETS: Final = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)

# Every built-in resource with each of its verbs makes under a thousand; custom ones add to that.
SERIES_MAX: Final = 8192

_VERBS: Final[Mapping[str, str]] = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
    "post": "POST",
    "put": "PUT",
}
OTHER_VERB: Final = "other"

_CONNECTING: Final = frozenset({"log", "exec", "portforward", "attach", "proxy"})
_APPLYING: Final = "application/apply-patch"

# Paths that are counted under their name, without what may follow.
_PATHS: Final = (
    "/healthz",
    "/livez",
    "/readyz",
    "/metrics",
    "/version",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/.well-known/openid-configuration",
    "/apis",
    "/api",
)


@dataclass(frozen=True, slots=True)
class Sort:
    """What tells series apart, in the values of their labels."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""
    dry_run: str = ""

    @property
    def path(self) -> tuple[str, str, str]:
        return self.group, self.version, self.resource


class Series:
    """The counts of one sort."""

    __slots__ = (
        "codes",
        "durations",
        "events",
        "events_bytes",
        "long_running",
        "sizes",
        "sort",
        "terminations",
    )

    def __init__(self, sort: Sort) -> None:
        self.sort = sort
        self.codes: dict[int, int] = {}
        self.durations = Distribution(DURATION_BUCKETS)
        # Only of reads: answers to writes are as long as what was written.
        self.sizes = Distribution(SIZE_BUCKETS) if sort.verb in ("GET", "LIST") else None
        self.terminations: dict[int, int] = {}  # in self-defence, by code
        self.long_running = 0  # now
        self.events = 0  # sent to watches
        self.events_bytes = 0

    def add(self, code: int, seconds: float, size: int) -> None:
        """Take in a request that was answered."""
        codes = self.codes
        codes[code] = codes.get(code, 0) + 1
        # Distribution.add, written out: this is on the way of every request.
        durations = self.durations
        durations.counts[bisect_left(DURATION_BUCKETS, seconds)] += 1
        durations.total += seconds
        sizes = self.sizes
        if sizes is not None:
            sizes.counts[bisect_left(SIZE_BUCKETS, size)] += 1
            sizes.total += size

    def terminate(self, code: int) -> None:
        """Take in that the server gave up on a request."""
        self.terminations[code] = self.terminations.get(code, 0) + 1


_Key = tuple[str, str, str, str, str, str, str]


class SeriesTable:
    """The series of a server."""

    def __init__(self, find: Callable[[str, str, str], Resource | None]) -> None:
        """`find` tells the resource of a group, version and plural, if it is served."""
        self._find = find
        self._by_key: dict[_Key, Series] = {}
        self._by_sort: dict[Sort, Series] = {}

    def __iter__(self) -> Iterator[Series]:
        return iter(self._by_sort.values())

    def __len__(self) -> int:
        return len(self._by_sort)

    def of(self, request: Request, where: Route) -> Series:
        """The series that a request is counted in."""
        verb, variant = where.verb, ""
        if where.name or verb == "create":
            scope = "resource"
        elif where.namespace:
            scope = "namespace"
        else:
            scope = "cluster"
        if "dryRun" in request.query:
            variant = _dry_run(request.query["dryRun"])
        if verb == "patch" and request.headers.get("content-type", "").startswith(_APPLYING):
            verb = "apply"
        key = (verb, where.group, where.version, where.resource, where.subresource, scope, variant)
        found = self._by_key.get(key)
        return found if found is not None else self._name(key, where)

    def _name(self, key: _Key, where: Route) -> Series:
        if not where.resource:
            return self._take(Sort(_VERBS.get(where.verb, OTHER_VERB), subresource=_path(where)))
        verb, group, version, plural, sub, scope, dry_run = key
        resource = self._find(group, version, plural)
        if resource is None:
            return self._take(Sort(_VERBS.get(where.verb, OTHER_VERB), scope=scope))
        known = bool(sub) and resource.subresource(sub) is not None
        label = "APPLY" if verb == "apply" else _VERBS.get(verb, OTHER_VERB)
        if known and sub in _CONNECTING:
            label = "CONNECT"
        sort = Sort(label, group, version, plural, sub if known else "", scope, dry_run)
        series = self._take(sort)
        # Not what clients make up, or they could grow the table; that is found this way each time.
        if (known or not sub) and label != OTHER_VERB and series.sort is sort:
            self._by_key[key] = series
        return series

    def _take(self, sort: Sort) -> Series:
        found = self._by_sort.get(sort)
        if found is not None:
            return found
        if len(self._by_sort) >= SERIES_MAX:
            sort = Sort(OTHER_VERB)
            found = self._by_sort.get(sort)
            if found is not None:
                return found
        series = self._by_sort[sort] = Series(sort)
        return series


def _dry_run(values: Iterable[str]) -> str:
    return "All" if set(values) == {"All"} else "invalid"


def _path(where: Route) -> str:
    path = where.path.rstrip("/") or "/"
    for known in _PATHS:
        if path == known or path.startswith(f"{known}/"):
            return known
    return "/" if path == "/" else ""
