from __future__ import annotations

import logging
from typing import Any

import pytest

from dray.server.operations.handling import Handling
from dray.server.operations.request_log import RequestLog, Requests, shown_target
from dray.server.user import User
from tests.unit.server.operations.requests import BOB, CONFIGMAPS, handling, request

READ = request("GET", f"{CONFIGMAPS}/a")
WRITE = request("POST", CONFIGMAPS, body=b'{"data":{"password":"hunter2"}}')


def lines(
    caplog: pytest.LogCaptureFixture,
    mode: Requests,
    made: Handling,
    *,
    code: int = 200,
    seconds: float = 0.01,
) -> list[tuple[str, str, dict[str, Any]]]:
    caplog.set_level(logging.DEBUG, logger="dray.server.requests")
    RequestLog(mode).answered(made, code, seconds, 42)
    return [(each.levelname, each.message, vars(each)["fields"]) for each in caplog.records]


@pytest.mark.parametrize(
    ("mode", "asked", "code", "seconds", "logged"),
    [
        pytest.param("failures", READ, 200, 0.01, "", id="by-default-no-reads"),
        pytest.param("failures", WRITE, 201, 0.01, "", id="by-default-no-writes"),
        pytest.param("failures", READ, 404, 0.01, "", id="by-default-no-refusals"),
        pytest.param("failures", READ, 500, 0.01, "ERROR", id="failures"),
        pytest.param("failures", WRITE, 201, 1.5, "WARNING", id="slow-ones"),
        pytest.param("writes", WRITE, 201, 0.01, "INFO", id="writes"),
        pytest.param("writes", READ, 200, 0.01, "", id="no-reads-among-writes"),
        pytest.param("all", READ, 200, 0.01, "INFO", id="all"),
        pytest.param("none", WRITE, 500, 9.0, "", id="none"),
    ],
)
def test_only_what_is_wanted_gets_a_line(
    caplog: pytest.LogCaptureFixture, mode: str, asked: Any, code: int, seconds: float, logged: str
) -> None:
    told = lines(caplog, Requests(mode), handling(asked), code=code, seconds=seconds)
    assert [level for level, _message, _fields in told] == ([logged] if logged else [])


def test_a_watch_is_not_slow_for_lasting_long(caplog: pytest.LogCaptureFixture) -> None:
    watch = handling(request("GET", CONFIGMAPS, {"watch": ["1"]}))
    assert lines(caplog, Requests.FAILURES, watch, seconds=1800.0) == []


def test_a_line_says_who_asked_for_what_and_how_it_went(caplog: pytest.LogCaptureFixture) -> None:
    asked = request("GET", f"{CONFIGMAPS}/a", user_agent="kubectl/1.37")
    assert lines(caplog, Requests.ALL, handling(asked)) == [
        (
            "INFO",
            "request",
            {
                "method": "GET",
                "path": f"{CONFIGMAPS}/a",
                "user": "bob",
                "agent": "kubectl/1.37",
                "source": "10.0.0.1:4000",
                "status": 200,
                "milliseconds": 10.0,
                "bytes": 42,
                "audit_id": "id-1",
            },
        )
    ]


def test_whoever_impersonates_is_named(caplog: pytest.LogCaptureFixture) -> None:
    made = handling(user=User("admin"))
    made.user_served = BOB
    (_level, _message, fields) = lines(caplog, Requests.ALL, made)[0]
    assert (fields["user"], fields["impersonated_by"]) == ("bob", "admin")


def test_nothing_secret_is_in_a_line(caplog: pytest.LogCaptureFixture) -> None:
    asked = request(
        "POST",
        CONFIGMAPS,
        {"token": ["s3cret"], "command": ["mysql", "-ps3cret"], "limit": ["5"]},
        b'{"data":"s3cret"}',
        authorization="Bearer s3cret",
        cookie="s3cret",
        sec_websocket_protocol="base64url.bearer.authorization.k8s.io.s3cret",
        impersonate_extra_x="s3cret",
    )
    told = lines(caplog, Requests.ALL, handling(asked))
    assert "s3cret" not in str(told)
    assert told[0][2]["path"].endswith("?token=***&command=***&command=***&limit=5")


def test_a_request_of_nobody_known_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    assert lines(caplog, Requests.ALL, handling(user=None), code=401)[0][2]["user"] == ""


def test_a_target_is_shown_as_it_was_written_and_no_longer_than_is_useful() -> None:
    assert shown_target("/a b", {"labelSelector": ["a=b,c"]}) == "/a%20b?labelSelector=a=b,c"
    assert len(shown_target("/" + "x" * 10_000, {"limit": ["1" * 10_000]})) < 2200
