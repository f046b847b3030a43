from __future__ import annotations

import asyncio

import pytest

from dray.http.messages import Response
from dray.server.health import Health
from tests.unit.server.harness import make_request


def well() -> str | None:
    return None


def ask(path: str, store: str | None = None) -> Response | None:
    health = Health({"ping": well}, {"store": lambda: store})
    return asyncio.run(health(make_request("GET", path, None, {})))


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/", "/readyz/store"])
def test_a_healthy_server_says_ok(path: str) -> None:
    answer = ask(path)
    assert answer is not None
    assert (answer.status, answer.body) == (200, b"ok")
    assert ("Content-Type", "text/plain; charset=utf-8") in answer.headers


@pytest.mark.parametrize(
    ("path", "status"),
    [
        pytest.param("/livez", 200, id="it-lives"),
        pytest.param("/readyz", 500, id="it-is-not-ready"),
        pytest.param("/healthz", 500, id="the-older-name"),
        pytest.param("/readyz/store", 500, id="the-check-itself"),
        pytest.param("/readyz/ping", 200, id="another-check"),
        pytest.param("/readyz?exclude=store", 200, id="the-check-left-out"),
    ],
)
def test_a_failing_check_fails_what_it_belongs_to(path: str, status: int) -> None:
    answer = ask(path, "no disk")
    assert answer is not None
    assert answer.status == status


def test_a_failure_names_its_check_and_its_reason() -> None:
    answer = ask("/readyz", "no disk")
    assert answer is not None
    assert answer.body == b"[+]ping ok\n[-]store failed: no disk\nreadyz check failed\n"


def test_verbose_lists_every_check() -> None:
    answer = ask("/readyz?verbose&exclude=store")
    assert answer is not None
    assert answer.body == b"[+]ping ok\n[+]store excluded: ok\nreadyz check passed\n"


@pytest.mark.parametrize("path", ["/", "/version", "/livez/store", "/readyz/unknown"])
def test_other_paths_are_left_to_others(path: str) -> None:
    assert ask(path) is None


def test_every_path_is_known() -> None:
    health = Health({"ping": well}, {"store": well})
    assert sorted(health.paths) == [
        "/healthz",
        "/healthz/ping",
        "/healthz/store",
        "/livez",
        "/livez/ping",
        "/readyz",
        "/readyz/ping",
        "/readyz/store",
    ]


def test_a_check_can_join_later() -> None:
    health = Health({"ping": well}, {})
    health.add("scheduler", lambda: "it does not know the nodes yet")
    ready, live = (
        asyncio.run(health(make_request("GET", path, None, {}))) for path in ("/readyz", "/livez")
    )
    assert ready is not None
    assert live is not None
    assert (ready.status, live.status) == (500, 200)
    assert b"[-]scheduler failed: it does not know the nodes yet" in ready.body
