from __future__ import annotations

import pytest

from dray.http.messages import Request
from dray.server.operations import series
from dray.server.operations.series import Series, SeriesTable, Sort
from dray.server.registry import Registry
from dray.server.resources import Resource
from dray.server.routing import route
from tests.unit.server.operations.requests import CONFIGMAPS, request

REGISTRY = Registry()


def find(group: str, version: str, plural: str) -> Resource | None:
    served = REGISTRY.find(group, version, plural)
    return None if served is None else served.resource


def series_of(asked: Request, table: SeriesTable | None = None) -> Series:
    where = route(asked.method, asked.path, asked.query)
    return (SeriesTable(find) if table is None else table).of(asked, where)


POD = "/api/v1/namespaces/default/pods/p"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(
            request("GET", f"{CONFIGMAPS}/a"),
            Sort("GET", "", "v1", "configmaps", "", "resource"),
            id="get",
        ),
        pytest.param(
            request("GET", CONFIGMAPS),
            Sort("LIST", "", "v1", "configmaps", "", "namespace"),
            id="list",
        ),
        pytest.param(
            request("GET", "/api/v1/configmaps"),
            Sort("LIST", "", "v1", "configmaps", "", "cluster"),
            id="list-everywhere",
        ),
        pytest.param(
            request("GET", CONFIGMAPS, {"watch": ["1"]}),
            Sort("WATCH", "", "v1", "configmaps", "", "namespace"),
            id="watch",
        ),
        pytest.param(
            request("POST", CONFIGMAPS, {"dryRun": ["All"]}),
            Sort("POST", "", "v1", "configmaps", "", "resource", "All"),
            id="create-dry",
        ),
        pytest.param(
            request("POST", CONFIGMAPS, {"dryRun": ["x" * 100]}),
            Sort("POST", "", "v1", "configmaps", "", "resource", "invalid"),
            id="dry-run-is-made-up",
        ),
        pytest.param(
            request("PATCH", f"{CONFIGMAPS}/a", content_type="application/apply-patch+yaml"),
            Sort("APPLY", "", "v1", "configmaps", "", "resource"),
            id="apply",
        ),
        pytest.param(
            request("PATCH", f"{CONFIGMAPS}/a", content_type="application/merge-patch+json"),
            Sort("PATCH", "", "v1", "configmaps", "", "resource"),
            id="patch",
        ),
        pytest.param(
            request("PUT", f"{POD}/status"),
            Sort("PUT", "", "v1", "pods", "status", "resource"),
            id="subresource",
        ),
        pytest.param(
            request("POST", f"{POD}/exec"),
            Sort("CONNECT", "", "v1", "pods", "exec", "resource"),
            id="exec",
        ),
        pytest.param(
            request("GET", f"{POD}/made-up"),
            Sort("GET", "", "v1", "pods", "", "resource"),
            id="unknown-subresource",
        ),
        pytest.param(
            request("GET", "/apis/made.up/v1/things/x"),
            Sort("GET", scope="resource"),
            id="unknown-resource",
        ),
        pytest.param(
            request("BREW", "/readyz"), Sort("other", subresource="/readyz"), id="unknown-method"
        ),
        pytest.param(
            request("GET", "/readyz/ping"), Sort("GET", subresource="/readyz"), id="one-check"
        ),
        pytest.param(request("GET", "/made/up"), Sort("GET"), id="unknown-path"),
    ],
)
def test_a_request_is_counted_under_labels_that_there_can_be(
    asked: Request, expected: Sort
) -> None:
    assert series_of(asked).sort == expected


def test_what_clients_make_up_makes_no_series() -> None:
    table = SeriesTable(find)
    for number in range(1000):
        series_of(request("GET", f"/apis/g{number}/v1/things/x"), table)
        series_of(request("GET", f"{POD}/sub{number}"), table)
        series_of(request("GET", f"/path{number}"), table)
        series_of(request(f"M{number}", f"{CONFIGMAPS}/a"), table)
    assert len(table) < 10
    assert len(table._by_key) < 10


def test_the_same_sort_has_one_series() -> None:
    table = SeriesTable(find)
    first = series_of(request(path=f"{CONFIGMAPS}/a"), table)
    assert series_of(request(path=f"{CONFIGMAPS}/b"), table) is first


def test_there_are_only_so_many_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "SERIES_MAX", 50)
    resource = find("", "v1", "pods")
    table = SeriesTable(lambda *_path: resource)
    for number in range(150):
        series_of(request("GET", f"/apis/g{number}/v1/things/x"), table)
    assert len(table) == 51


def test_sizes_are_those_of_reads() -> None:
    assert Series(Sort("GET")).sizes is not None
    assert Series(Sort("POST")).sizes is None


def test_an_answer_is_counted_by_code_duration_and_size() -> None:
    counted = Series(Sort("GET"))
    counted.add(200, 0.01, 5000)
    counted.add(404, 0.5, 100)
    assert counted.codes == {200: 1, 404: 1}
    assert (counted.durations.count, counted.durations.total) == (2, 0.51)
    assert counted.sizes is not None
    assert counted.sizes.buckets()[:2] == [("1000", 1.0), ("10000", 2.0)]
