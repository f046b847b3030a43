from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from dray.http.messages import Request
from dray.server.operations.audit_event import OBJECT_BYTES_MAX, AuditEntry, encode_event
from dray.server.operations.audit_policy import AuditDecision, AuditLevel
from dray.server.protobuf import encode_protobuf
from dray.server.routing import route
from dray.server.user import Decision, User
from tests.unit.server.operations.requests import BOB, CONFIGMAPS, request

RECEIVED = datetime(2026, 1, 1, 0, 0, 0, 5, tzinfo=UTC)
NOW = datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
OBJECT = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","managedFields":[{}]}}'
STORED = (
    b'{"kind":"ConfigMap","metadata":{"name":"a-x1","namespace":"default","uid":"u",'
    b'"resourceVersion":"9"}}'
)


def event(
    asked: Request | None = None,
    level: AuditLevel = AuditLevel.METADATA,
    *,
    omits_managed_fields: bool = False,
    **others: Any,
) -> dict[str, Any]:
    asked = asked or request()
    facts: dict[str, Any] = {
        "decision": AuditDecision(level, omits_managed_fields=omits_managed_fields),
        "audit_id": "id-1",
        "stage": "ResponseComplete",
        "request": asked,
        "where": route(asked.method, asked.path, asked.query),
        "user": BOB,
        "user_served": BOB,
        "decided": Decision(True, "RBAC: because"),
        "received": RECEIVED,
        "now": NOW,
        "code": 200,
        **others,
    }
    line = encode_event(AuditEntry(**facts))
    assert line.count(b"\n") == 1
    told: dict[str, Any] = json.loads(line)
    return told


def test_an_event_says_who_did_what_when_and_how_it_went() -> None:
    assert event(request("GET", f"{CONFIGMAPS}/a", user_agent="kubectl")) == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "id-1",
        "stage": "ResponseComplete",
        "requestURI": f"{CONFIGMAPS}/a",
        "verb": "get",
        "user": {"username": "bob", "uid": "7", "groups": ["dev", "system:authenticated"]},
        "sourceIPs": ["10.0.0.1"],
        "userAgent": "kubectl",
        "objectRef": {
            "resource": "configmaps",
            "namespace": "default",
            "name": "a",
            "apiVersion": "v1",
        },
        "responseStatus": {"metadata": {}, "code": 200},
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000005Z",
        "stageTimestamp": "2026-01-01T00:00:01.000000Z",
        "annotations": {
            "authorization.k8s.io/decision": "allow",
            "authorization.k8s.io/reason": "RBAC: because",
        },
    }


def test_whoever_is_impersonated_is_named_beside_the_impersonator() -> None:
    told = event(user=User("admin"), user_served=BOB)
    assert (told["user"], told["impersonatedUser"]["username"]) == ({"username": "admin"}, "bob")


def test_a_new_object_is_named_as_the_answer_names_it() -> None:
    told = event(request("POST", CONFIGMAPS, body=OBJECT), code=201, body=STORED)
    assert told["objectRef"] == {
        "resource": "configmaps",
        "namespace": "default",
        "name": "a-x1",
        "uid": "u",
        "apiVersion": "v1",
        "resourceVersion": "9",
    }


@pytest.mark.parametrize(
    ("level", "members"),
    [
        (AuditLevel.METADATA, set()),
        (AuditLevel.REQUEST, {"requestObject"}),
        (AuditLevel.REQUEST_RESPONSE, {"requestObject", "responseObject"}),
    ],
)
def test_bodies_are_there_only_as_far_as_the_level_says(
    level: AuditLevel, members: set[str]
) -> None:
    told = event(request("POST", CONFIGMAPS, body=OBJECT), level, body=STORED)
    assert {"requestObject", "responseObject"} & set(told) == members


def test_a_body_in_protobuf_or_yaml_is_told_as_json() -> None:
    object_ = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    for body, kind in (
        (encode_protobuf("v1", "ConfigMap", object_), "application/vnd.kubernetes.protobuf"),
        (b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", "application/yaml"),
    ):
        asked = request("POST", CONFIGMAPS, body=body, content_type=kind)
        assert event(asked, AuditLevel.REQUEST)["requestObject"]["metadata"]["name"] == "a"


@pytest.mark.parametrize("body", [b"{", b"k8s\0nonsense", b"\xff"])
def test_a_body_that_is_nothing_is_left_out(body: bytes) -> None:
    assert "requestObject" not in event(
        request("POST", CONFIGMAPS, body=body), AuditLevel.REQUEST, code=400
    )


def test_managed_fields_are_left_out_on_demand() -> None:
    asked = request("POST", CONFIGMAPS, body=OBJECT)
    listed = b'{"items":[' + OBJECT + b"]}"
    told = event(asked, AuditLevel.REQUEST_RESPONSE, omits_managed_fields=True, body=listed)
    assert told["requestObject"]["metadata"] == {"name": "a"}
    assert told["responseObject"]["items"][0]["metadata"] == {"name": "a"}
    assert "managedFields" in event(asked, AuditLevel.REQUEST)["requestObject"]["metadata"]


def test_an_object_that_is_too_large_is_left_out_and_that_is_said() -> None:
    body = b'"' + b"x" * OBJECT_BYTES_MAX + b'"'
    told = event(request("POST", CONFIGMAPS, body=body), AuditLevel.REQUEST)
    assert "requestObject" not in told
    assert told["annotations"]["audit.k8s.io/truncated"] == "true"


def test_a_refusal_is_told_with_its_reason() -> None:
    status = b'{"kind":"Status","status":"Failure","message":"no","reason":"Forbidden","code":403}'
    told = event(code=403, body=status, decided=Decision(None))
    assert told["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": "no",
        "reason": "Forbidden",
        "code": 403,
    }
    assert told["annotations"]["authorization.k8s.io/decision"] == "forbid"


def test_a_request_of_nobody_known_has_an_empty_user() -> None:
    told = event(user=None, user_served=None, decided=None, code=401)
    assert told["user"] == {}
    assert "annotations" not in told


def test_credentials_in_the_query_are_hidden_and_the_rest_is_told() -> None:
    asked = request("GET", "/api", {"token": ["s3cret"], "Access_Token": ["s3cret"], "a": ["b c"]})
    told = event(asked)["requestURI"]
    assert "s3cret" not in told
    assert told.endswith("&a=b+c")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({}, ["10.0.0.1"], id="the-peer"),
        pytest.param(
            {"x_forwarded_for": "1.2.3.4, 5.6.7.8"},
            ["1.2.3.4", "5.6.7.8", "10.0.0.1"],
            id="proxies",
        ),
        pytest.param({"x_real_ip": "1.2.3.4"}, ["1.2.3.4", "10.0.0.1"], id="real-ip"),
        pytest.param({"x_forwarded_for": "junk\n, 10.0.0.1"}, ["10.0.0.1"], id="no-address"),
    ],
)
def test_sources_are_addresses_in_the_order_of_the_way(
    headers: dict[str, str], expected: list[str]
) -> None:
    asked = request("GET", "/api", None, b"", **headers)
    assert event(asked)["sourceIPs"] == expected


def test_a_user_agent_is_shortened() -> None:
    assert len(event(request(user_agent="x" * 5000))["userAgent"]) <= 1024
