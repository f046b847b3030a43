from __future__ import annotations

import pytest

from dray.http.messages import Request
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
        pytest.param(
            request("GET", CONFIGMAPS, {"watch": ["1"], "resourceVersion": ["0"]}),
            *(500, 0, 6),
            id="watch-from-zero",
        ),
        pytest.param(
            request(
                "GET",
                CONFIGMAPS,
                {"watch": ["1"], "resourceVersion": ["5"], "sendInitialEvents": ["true"]},
            ),
            *(500, 0, 6),
            id="watch-list",
        ),
        pytest.param(
            request("GET", CONFIGMAPS, {"watch": ["1"], "sendInitialEvents": ["false"]}),
            *(500, 0, 1),
            id="watch-from-now",
        ),
        pytest.param(request("GET", "/version"), 0, 0, 1, id="path"),
    ],
)
def test_a_request_is_as_wide_as_its_work(
    asked: Request, objects: int, size: int, expected: int
) -> None:
    assert width(asked, objects, size) == expected


@pytest.mark.parametrize(
    ("body_bytes", "expected"), [(100, 4), (16 * 1024, 5), (64 * 1024, 8), (2 * 1024**2, WIDTH_MAX)]
)
def test_a_write_is_wider_the_more_it_brings(body_bytes: int, expected: int) -> None:
    asked = request("POST", CONFIGMAPS)
    brings = Request("POST", asked.path, asked.query, asked.headers, b"x" * body_bytes, asked.peer)
    assert width(brings) == expected
