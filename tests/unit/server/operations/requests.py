"""Requests under way, made up for tests."""

from __future__ import annotations

from typing import Any

from dray.http.messages import Peer, Request
from dray.server.operations.handling import READING_VERBS, Handling
from dray.server.operations.series import Series, Sort
from dray.server.routing import route
from dray.server.user import User

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
BOB = User("bob", uid="7", groups=("dev", "system:authenticated"))


def request(
    method: str = "GET",
    path: str = f"{CONFIGMAPS}/a",
    query: dict[str, list[str]] | None = None,
    body: bytes = b"",
    **headers: str,
) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method, path, query or {}, named, body, Peer("10.0.0.1:4000"))


def handling(asked: Request | None = None, *, user: User | None = BOB, **others: Any) -> Handling:
    asked = asked or request()
    where = route(asked.method, asked.path, asked.query)
    series = Series(Sort("GET"))
    reads = where.verb in READING_VERBS
    made = Handling(asked, where, others.pop("started", 0.0), series, reads, audit_id="id-1")
    made.user = made.user_served = user
    for name, value in others.items():
        setattr(made, name, value)
    return made
