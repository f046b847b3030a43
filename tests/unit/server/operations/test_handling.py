from __future__ import annotations

import pytest

from dray.server.operations.handling import is_long_running
from dray.server.routing import route
from tests.unit.server.operations.requests import handling

POD = "/api/v1/namespaces/default/pods/p"


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        pytest.param("/api/v1/pods", {"watch": ["true"]}, True, id="watch"),
        pytest.param(f"{POD}/log", {}, True, id="log"),
        pytest.param(f"{POD}/exec", {}, True, id="exec"),
        pytest.param(f"{POD}/status", {}, False, id="status"),
        pytest.param("/api/v1/pods", {}, False, id="list"),
    ],
)
def test_what_lasts_as_long_as_a_client_wants_is_known_by_its_path(
    path: str, query: dict[str, list[str]], expected: bool
) -> None:
    assert is_long_running(route("GET", path, query)) is expected


def test_handlings_are_told_apart_even_if_they_are_alike() -> None:
    assert len({handling(), handling()}) == 2
