"""How long a request may take: a minute, or what it asks for if that is less.

There is no timer for each request: those under way stand in a set, and once a second the late ones
are cancelled, which their application answers with 504. A write that is with the store by then is
written all the same, as it is upstream: the answer says that nobody waited for it. Requests that
last by their nature have no limit; reads are answered from memory and have one only if they ask.

Upstream counterparts: apiserver pkg/endpoints/filters request_deadline.go, pkg/server/filters
timeout.go.
"""

from __future__ import annotations

import asyncio
import re
from math import inf
from typing import Final

from dray.clock import Clock
from dray.errors import BadRequest, StatusDetails, Timeout, quote, shorten
from dray.server.operations.handling import Handling

__all__ = ["REQUEST_SECONDS", "TimeLimits", "late", "parse_duration"]

# Upstream's default.
REQUEST_SECONDS: Final = 60.0

_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,  # the micro sign
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([^\d.]*)")


class TimeLimits:
    """The requests under way, and by when they have to be done."""

    def __init__(self, clock: Clock, *, seconds: float = REQUEST_SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._under_way: set[Handling] = set()

    def begin(self, handling: Handling) -> None:
        """Set the limit of a request. Raises BadRequest if it asks for one that makes no sense."""
        seconds = self._seconds
        wanted = handling.request.query.get("timeout")
        if wanted and wanted[0]:
            own = parse_duration(wanted[0])
            if 0 < own < seconds:
                seconds = own
        handling.deadline = handling.started + seconds
        handling.task = asyncio.current_task()
        self._under_way.add(handling)

    def end(self, handling: Handling) -> None:
        """The request is done; ending twice is fine."""
        self._under_way.discard(handling)

    def sweep(self) -> None:
        """Cancel what is late; call every second or so."""
        now = self._clock.monotonic()
        for handling in [each for each in self._under_way if each.deadline <= now]:
            if handling.task is not None:
                handling.expired = True
                handling.deadline = inf  # once is enough
                handling.task.cancel()


def late() -> Timeout:
    """The refusal of a request whose time was up."""
    return Timeout("Timeout: request did not complete within the allotted timeout", StatusDetails())


def parse_duration(text: str) -> float:
    """Seconds, from how Go writes durations: 1m30s, 500ms. Raises BadRequest in Go's words."""
    signless = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    sign = -1.0 if text.startswith("-") else 1.0
    if signless == "0":
        return 0.0
    seconds, position = 0.0, 0
    while position < len(signless):
        part = _PART.match(signless, position)
        if part is None:
            break
        unit = _UNITS.get(part[2])
        if unit is None:
            problem = f"unknown unit {quote(part[2])} in" if part[2] else "missing unit in"
            raise _invalid(f"time: {problem} duration {quote(shorten(text))}")
        seconds += float(part[1]) * unit
        position = part.end()
    if not signless or position < len(signless):
        raise _invalid(f"time: invalid duration {quote(shorten(text))}")
    return sign * seconds


def _invalid(problem: str) -> BadRequest:
    return BadRequest(f"invalid timeout specified in the request URL - {problem}")
