"""One line for each request that is worth one: who asked for what, and how it went.

By default only failures of the server and slow requests are; writes or everything on demand. What
is not to be logged is decided and costs next to nothing. Nothing secret is ever in a line: no body,
no header but the user agent, and of the query only the values of parameters known to be harmless.
Upstream counterpart: apiserver pkg/server/httplog.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final
from urllib.parse import quote

from dray.errors import shorten
from dray.server.operations.handling import Handling, is_long_running

__all__ = ["RequestLog", "Requests", "shown_target"]

_log: Final = logging.getLogger("dray.server.requests")

# Half of what clients notice as a hang; nothing of the server's own work takes near as long.
SLOW_SECONDS: Final = 1.0

AGENT_CHARACTERS_MAX: Final = 256
PATH_CHARACTERS_MAX: Final = 1024

# Parameters whose values say nothing that their reader may not know. Of the others only names are
# told: commands of exec have passwords in them, and old clients put tokens into the query.
_HARMLESS: Final = frozenset(
    {
        "allowWatchBookmarks",
        "container",
        "continue",
        "dryRun",
        "exclude",
        "fieldManager",
        "fieldSelector",
        "fieldValidation",
        "follow",
        "force",
        "gracePeriodSeconds",
        "includeObject",
        "labelSelector",
        "limit",
        "limitBytes",
        "orphanDependents",
        "pretty",
        "previous",
        "propagationPolicy",
        "resourceVersion",
        "resourceVersionMatch",
        "sendInitialEvents",
        "sinceSeconds",
        "sinceTime",
        "stderr",
        "stdin",
        "stdout",
        "tailLines",
        "timeout",
        "timeoutSeconds",
        "timestamps",
        "tty",
        "verbose",
        "watch",
    }
)
_HIDDEN: Final = "***"


class Requests(Enum):
    """Which requests are logged."""

    NONE = "none"
    FAILURES = "failures"  # those that the server failed, and slow ones
    WRITES = "writes"  # and all that change something
    ALL = "all"


class RequestLog:
    """Decides which requests are logged, and logs them."""

    def __init__(
        self, requests: Requests = Requests.FAILURES, *, slow_seconds: float = SLOW_SECONDS
    ) -> None:
        self._requests = requests
        self._slow_seconds = slow_seconds
        self._writes = requests in (Requests.WRITES, Requests.ALL)
        self._reads = requests is Requests.ALL

    def answered(self, handling: Handling, code: int, seconds: float, size: int) -> None:
        """A request was answered, or a stream has ended."""
        wanted = self._reads if handling.reads else self._writes
        if not wanted and code < 500 and seconds < self._slow_seconds:
            return
        slow = seconds >= self._slow_seconds and not is_long_running(handling.where)
        if self._requests is Requests.NONE or not (wanted or slow or code >= 500):
            return
        level = logging.WARNING if slow else logging.INFO
        level = logging.ERROR if code >= 500 else level
        if _log.isEnabledFor(level):
            fields = _fields(handling, code, seconds, size)
            _log.log(level, "slow request" if slow else "request", extra={"fields": fields})


def _fields(handling: Handling, code: int, seconds: float, size: int) -> dict[str, Any]:
    request, user = handling.request, handling.user_served or handling.user
    fields: dict[str, Any] = {
        "method": request.method,
        "path": shown_target(request.path, request.query),
        "user": user.name if user is not None else "",
        "agent": shorten(
            request.headers.get("user-agent", ""), characters_max=AGENT_CHARACTERS_MAX
        ),
        "source": request.peer.address,
        "status": code,
        "milliseconds": round(seconds * 1e3, 3),
        "bytes": size,
        "audit_id": handling.audit_id,
    }
    if handling.user is not None and user is not handling.user:
        fields["impersonated_by"] = handling.user.name
    return fields


def shown_target(path: str, query: Mapping[str, Sequence[str]]) -> str:
    """Path and query as they may be shown, with what may be secret left out."""
    shown = shorten(quote(path, safe="/:@!$'()*+,;=~"), characters_max=PATH_CHARACTERS_MAX)
    if not query:
        return shown
    parameters = "&".join(
        f"{quote(name)}={quote(value, safe='/,=!') if name in _HARMLESS else _HIDDEN}"
        for name, values in query.items()
        for value in values
    )
    return f"{shown}?{shorten(parameters, characters_max=PATH_CHARACTERS_MAX)}"
