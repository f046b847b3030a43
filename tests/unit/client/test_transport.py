"""What passes between a client and its transport."""

from __future__ import annotations

from dray.client import Call


def test_a_call_shows_method_and_path_and_nothing_that_is_secret() -> None:
    call = Call("GET", "/api", headers=(("authorization", "Bearer secret"),))
    assert str(call) == "GET /api"
