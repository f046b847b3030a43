from __future__ import annotations

import pytest

from dray.server.http.messages import Request
from dray.server.operations.measures import Distribution
from dray.server.operations.widths import WIDTH_MAX, width_of
from dray.server.routing import route
from tests.unit.server.operations.requests import CONFIGMAPS, request


def width(asked: Request, objects: int = 0, size: int = 0) -> int:
    where = route(asked.method, asked.path, asked.query)
    sizes = Distribution((1.0,))
    if size:
        sizes.add(size)
    return width_of(asked, where, sizes, lambda *_where: objects)


@pytest.mark.parametrize(
    ("asked", "objects", "size", "expected"),
    [
        pytest.param(request("GET", f"{CONFIGMAPS}/a"), 10_000, 0, 1, id="get"),
        pytest.param(request("POST", CONFIGMAPS), 0, 0, 4, id="write"),
        pytest.param(request("DELETE", CONFIGMAPS), 0, 0, WIDTH_MAX, id="delete-all"),
        pytest.param(request("GET", CONFIGMAPS), 20, 0, 1, id="short-list"),
        pytest.param(request("GET", CONFIGMAPS), 500, 0, 6, id="long-list"),
        pytest.param(request("GET", CONFIGMAPS), 20, 70_000, 5, id="few-large-objects"),
        pytest.param(request("GET", CONFIGMAPS), 10**6, 0, WIDTH_MAX, id="endless-list"),
        pytest.param(request("GET", CONFIGMAPS, {"limit": ["200"]}), 10**6, 0, 3, id="page"),
        pytest.param(request("GET", CONFIGMAPS, {"limit": ["x"]}), 500, 0, 6, id="bad-limit"),
        pytest.param(request("GET", CONFIGMAPS, {"limit": ["9" * 99]}), 500, 0, 6, id="huge-limit"),
        pytest.param(request("GET", CONFIGMAPS, {"watch": ["1"]}), 500, 0, 6, id="watch-all"),
        pytest.param(
            request("GET", CONFIGMAPS, {"watch": ["1"], "resourceVersion": ["5"]}),
            *(500, 0, 1),
            id="watch-on",
        ),
        pytest.param(request("GET", "/version"), 0, 0, 1, id="path"),
    ],
)
def test_a_request_is_as_wide_as_its_work(
    asked: Request, objects: int, size: int, expected: int
) -> None:
    assert width(asked, objects, size) == expected
