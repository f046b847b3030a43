"""How much work a request is likely to be, in reads of one object.

Rough on purpose: it only has to keep a few large requests from taking a turn that would have done
for many small ones. Upstream counterpart: apiserver pkg/util/flowcontrol/request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dray.http.messages import Request
from dray.server.operations.measures import Distribution
from dray.server.routing import Route
from dray.server.switches import is_on, is_said

__all__ = ["WIDTH_MAX", "Count", "width_of"]

# One request is never more than one turn, or it could never start with others.
WIDTH_MAX: Final = 16

# Decoding, admission, rules and encoding: measured as three to five reads.
_WRITES: Final[Mapping[str, int]] = {
    "create": 4,
    "update": 4,
    "patch": 4,
    "delete": 4,
    "deletecollection": WIDTH_MAX,
}

# Stored objects go out as they are: so many cost about as much as finding one.
OBJECTS_PER_WIDTH: Final = 100

# Encrypting and sending them; or decoding, checking and encoding what was sent.
BYTES_PER_WIDTH: Final = 16 * 1024

# How many objects there are: of a group, version and plural, in a namespace or all.
Count = Callable[[str, str, str, str], int]


def width_of(request: Request, where: Route, sizes: Distribution | None, count: Count) -> int:
    """The width of a request; `sizes` are those of answers to its like."""
    verb = where.verb
    if verb == "get":
        return 1
    if verb not in ("list", "watch"):
        return min(_WRITES.get(verb, 1) + len(request.body) // BYTES_PER_WIDTH, WIDTH_MAX)
    query = request.query
    if where.name or (verb == "watch" and not _sends_all(query)):
        return 1
    objects = count(where.group, where.version, where.resource, where.namespace)
    limit = query.get("limit", ("",))[0]
    if limit.isdecimal() and 0 < int(limit[:9]) < objects:
        objects = int(limit[:9])
    size = sizes.total / sizes.count if sizes is not None and sizes.total else 0.0
    return min(1 + max(objects // OBJECTS_PER_WIDTH, int(size) // BYTES_PER_WIDTH), WIDTH_MAX)


def _sends_all(query: Mapping[str, Sequence[str]]) -> bool:
    """Whether a watch begins with everything there is: if it says so, or names no revision."""
    if is_said(query, "sendInitialEvents"):
        return is_on(query, "sendInitialEvents")
    return not query.get("resourceVersion", ("",))[0].strip("0")
