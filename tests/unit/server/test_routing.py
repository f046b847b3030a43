from __future__ import annotations

import pytest

from dray.server.routing import Route, route


def routed(method: str, path: str, **query: str) -> Route:
    return route(method, path, {name: [value] for name, value in query.items()})


@pytest.mark.parametrize(
    ("method", "path", "verb", "place"),
    [
        pytest.param("GET", "/api/v1/pods", "list", "/v1/pods", id="everywhere"),
        pytest.param("GET", "/api/v1/namespaces/a/pods", "list", "/v1/pods@a", id="in-a-namespace"),
        pytest.param("GET", "/api/v1/namespaces/a/pods/p", "get", "/v1/pods@a/p", id="one"),
        pytest.param("GET", "/api/v1/namespaces/a/pods/p/", "get", "/v1/pods@a/p", id="slash"),
        pytest.param("POST", "/api/v1/namespaces/a/pods", "create", "/v1/pods@a", id="create"),
        pytest.param("PUT", "/apis/g/v2/xs/n", "update", "g/v2/xs/n", id="update"),
        pytest.param("PATCH", "/apis/g/v2/xs/n", "patch", "g/v2/xs/n", id="patch"),
        pytest.param("DELETE", "/apis/g/v2/xs/n", "delete", "g/v2/xs/n", id="delete"),
        pytest.param("DELETE", "/apis/g/v2/xs", "deletecollection", "g/v2/xs", id="delete-all"),
        pytest.param("HEAD", "/apis/g/v2/xs/n", "get", "g/v2/xs/n", id="head"),
        pytest.param(
            "PUT", "/api/v1/namespaces/a/pods/p/status", "update", "/v1/pods@a/p#status", id="sub"
        ),
        pytest.param("GET", "/api/v1/namespaces", "list", "/v1/namespaces", id="namespaces"),
        pytest.param("GET", "/api/v1/namespaces/a", "get", "/v1/namespaces@a/a", id="namespace"),
        pytest.param(
            "PUT",
            "/api/v1/namespaces/a/finalize",
            "update",
            "/v1/namespaces@a/a#finalize",
            id="part-of-a-namespace",
        ),
        pytest.param("GET", "/api/v1/watch/pods", "watch", "/v1/pods", id="old-watch"),
        pytest.param(
            "GET", "/api/v1/watch/namespaces/a/pods/p", "watch", "/v1/pods@a/p", id="old-watch-one"
        ),
    ],
)
def test_a_path_says_what_is_asked_for(method: str, path: str, verb: str, place: str) -> None:
    found = routed(method, path)
    shown = f"{found.group}/{found.version}/{found.resource}"
    shown += f"@{found.namespace}" if found.namespace else ""
    shown += f"/{found.name}" if found.name else ""
    shown += f"#{found.subresource}" if found.subresource else ""
    assert (found.verb, shown) == (verb, place)
    assert found.is_resource


@pytest.mark.parametrize(
    ("value", "verb"),
    [
        pytest.param("true", "watch", id="true"),
        pytest.param("1", "watch", id="one"),
        pytest.param("", "watch", id="said-without-a-value"),
        pytest.param("yes", "watch", id="any-word"),
        pytest.param("false", "list", id="false"),
        pytest.param("False", "list", id="false-in-any-case"),
        pytest.param("0", "list", id="zero"),
    ],
)
def test_a_list_may_ask_to_be_a_watch(value: str, verb: str) -> None:
    assert routed("GET", "/api/v1/pods", watch=value).verb == verb


def test_a_single_object_cannot_be_watched_by_asking_so() -> None:
    assert routed("GET", "/api/v1/namespaces/a/pods/p", watch="1").verb == "get"


@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH"])
def test_whatever_is_asked_of_the_old_path_of_watches_is_a_watch(method: str) -> None:
    assert routed(method, "/api/v1/watch/namespaces/a/pods/p").verb == "watch"


@pytest.mark.parametrize(
    "path",
    ["/apis//v1/pods", "/api/v1/namespaces//pods", "//api/v1/pods", "/api/v1/pods//", "/api//pods"],
)
def test_a_path_with_nothing_in_it_is_no_resource(path: str) -> None:
    assert not routed("GET", path).is_resource


@pytest.mark.parametrize(
    "path", ["/", "/version", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/metrics"]
)
def test_other_paths_are_about_themselves(path: str) -> None:
    found = routed("POST", path)
    assert not found.is_resource
    assert (found.verb, found.path) == ("post", path)


def test_what_is_too_much_of_a_path_is_kept_apart() -> None:
    assert routed("GET", "/api/v1/namespaces/a/pods/p/log/x/y").surplus == ("x", "y")
