"""One request under way, as operators see it: who, what, since when, and how it ended."""

from __future__ import annotations

import asyncio
from math import inf

from dray.server.http.messages import Request
from dray.server.operations.fairness import Flow
from dray.server.operations.series import Series
from dray.server.routing import Route
from dray.server.user import Decision, User

__all__ = ["LONG_RUNNING_SUBRESOURCES", "Handling", "is_long_running"]

# They last as long as a client wants; none of them is counted against time or turns once it runs.
LONG_RUNNING_SUBRESOURCES = frozenset({"attach", "exec", "log", "portforward", "proxy"})

_READS = frozenset({"get", "list", "watch", "head", "options"})


class Handling:
    """Filled in on the way. A plain object with slots: one is made for every request."""

    __slots__ = (
        "audit",
        "audit_id",
        "cancelled",
        "deadline",
        "decision",
        "expired",
        "flow",
        "reads",
        "request",
        "seated",
        "series",
        "started",
        "task",
        "user",
        "user_served",
        "where",
        "width",
    )

    def __init__(
        self, request: Request, where: Route, audit_id: str, started: float, series: Series
    ) -> None:
        self.request = request
        self.where = where
        self.audit_id = audit_id
        self.started = started  # monotonic seconds
        self.series = series
        self.reads = where.verb in _READS
        self.user: User | None = None  # who they showed to be
        self.user_served: User | None = None  # as whom they are served: another if impersonated
        self.decision: Decision | None = None  # what the authorizers said
        self.flow: Flow | None = None
        self.width = 1
        self.seated = False  # it counts among the requests under way of its flow
        self.deadline = inf
        self.task: asyncio.Task[object] | None = None
        self.cancelled = False  # nobody waits for the answer
        self.expired = False  # its time was up, and it was cancelled for that
        self.audit: object = None  # what the audit log notes about it


def is_long_running(where: Route) -> bool:
    """Whether a request may last as long as its client wants."""
    return where.verb == "watch" or where.subresource in LONG_RUNNING_SUBRESOURCES
