"""One request under way, as operators see it: who, what, since when, and how it ended."""

from __future__ import annotations

import asyncio
from math import inf

import msgspec

from dray.http.messages import Request
from dray.server.operations.fairness import Flow
from dray.server.operations.series import Series
from dray.server.routing import Route
from dray.server.user import Decision, User

__all__ = ["LONG_RUNNING_SUBRESOURCES", "READING_VERBS", "Handling", "is_long_running"]

# They last as long as a client wants; none of them is counted against time or turns once it runs.
LONG_RUNNING_SUBRESOURCES = frozenset({"attach", "exec", "log", "portforward", "proxy"})

READING_VERBS = frozenset({"get", "list", "watch", "head", "options"})


class Handling(msgspec.Struct, eq=False):
    """Filled in on the way. A struct: one is made for every request."""

    request: Request
    where: Route
    started: float  # monotonic seconds
    series: Series
    reads: bool
    limited: bool = False  # it has a time limit
    user: User | None = None  # who they showed to be
    user_served: User | None = None  # as whom they are served: another if impersonated
    decision: Decision | None = None  # what the authorizers said
    flow: Flow | None = None
    width: int = 1
    seated: bool = False  # it counts among the writes under way of its flow
    deadline: float = inf
    task: asyncio.Task[object] | None = None
    cancelled: bool = False  # nobody waits for the answer
    expired: bool = False  # its time was up, and it was cancelled for that
    audit_id: str = ""  # once something is written that has to name it
    audit: object = None  # what the audit log notes about it


def is_long_running(where: Route) -> bool:
    """Whether a request may last as long as its client wants."""
    return where.verb == "watch" or where.subresource in LONG_RUNNING_SUBRESOURCES
