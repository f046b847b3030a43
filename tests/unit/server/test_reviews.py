from __future__ import annotations

from typing import Any

import pytest

from dray.server.user import User
from tests.unit.server.harness import NAMESPACES, PODS, Api, pod, served

AUTHENTICATION = "/apis/authentication.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
TOKEN = f"{NAMESPACES}/default/serviceaccounts/default/token"
BOB = User("bob")


@served()
async def test_who_asks_hears_who_they_are(api: Api) -> None:
    path = f"{AUTHENTICATION}/selfsubjectreviews"
    reply = await api.request("POST", path, {}, user=BOB)
    assert reply.status == 201
    assert reply.json["kind"] == "SelfSubjectReview"
    assert reply.json["status"]["userInfo"]["username"] == "bob"


@pytest.mark.parametrize(
    ("user", "allowed"), [(None, True), (BOB, False)], ids=["admin", "nobody-special"]
)
@served()
async def test_who_asks_hears_what_they_may(api: Api, user: User | None, *, allowed: bool) -> None:
    attributes = {"namespace": "default", "verb": "get", "resource": "pods"}
    body = {"spec": {"resourceAttributes": attributes}}
    path = f"{AUTHORIZATION}/selfsubjectaccessreviews"
    reply = await api.request("POST", path, body, user=user)
    assert (reply.status, reply.json["status"]["allowed"]) == (201, allowed)


@served()
async def test_others_rights_are_answered_to_those_who_may_ask(api: Api) -> None:
    attributes = {"namespace": "default", "verb": "get", "resource": "pods"}
    body = {"spec": {"user": "bob", "resourceAttributes": attributes}}
    path = f"{AUTHORIZATION}/subjectaccessreviews"
    assert (await api.post(path, body)).json["status"]["allowed"] is False
    assert (await api.request("POST", path, body, user=BOB)).status == 403


@served()
async def test_a_local_question_is_about_its_namespace(api: Api) -> None:
    path = f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
    attributes = {"namespace": "default", "verb": "get", "resource": "pods"}
    body = {
        "metadata": {"namespace": "default"},
        "spec": {"user": "bob", "resourceAttributes": attributes},
    }
    assert (await api.post(path, body)).status == 201
    attributes["namespace"] = "other"
    assert (await api.post(path, body)).status in (400, 422)


@served()
async def test_all_rules_of_somebody_are_told(api: Api) -> None:
    path = f"{AUTHORIZATION}/selfsubjectrulesreviews"
    reply = await api.post(path, {"spec": {"namespace": "default"}})
    assert reply.status == 201
    assert reply.json["status"]["resourceRules"]


@served()
async def test_a_review_that_makes_no_sense_is_refused(api: Api) -> None:
    path = f"{AUTHORIZATION}/selfsubjectaccessreviews"
    assert (await api.post(path, {"spec": {}})).status == 422
    assert (await api.post(path, {"kind": "Pod"})).status == 400
    assert (await api.post(path, {"spec": 1})).status == 400


@pytest.mark.parametrize(
    ("strictness", "status", "warnings"),
    [("Ignore", 201, 0), ("Warn", 201, 1), ("Strict", 400, 0)],
)
@served()
async def test_unknown_fields_are_overlooked_warned_of_or_refused(
    api: Api, strictness: str, status: int, warnings: int
) -> None:
    path = f"{AUTHENTICATION}/selfsubjectreviews?fieldValidation={strictness}"
    reply = await api.post(path, {"odd": 1})
    assert (reply.status, len(reply.warnings)) == (status, warnings)


@served()
async def test_reviews_are_kept_nowhere(api: Api) -> None:
    before = api.store.revision
    await api.post(f"{AUTHENTICATION}/selfsubjectreviews", {})
    await api.post(TOKEN, {})
    assert api.store.revision == before


# Tokens ----------------------------------------------------------------------------------------


async def issued(api: Api, **spec: Any) -> Any:
    reply = await api.post(TOKEN, {"spec": spec})
    assert reply.status == 201, reply.text
    return reply.json


async def bearer(api: Api, token: str, path: str) -> int:
    headers = {"authorization": f"Bearer {token}"}
    return (await api.request("GET", path, headers=headers, anonymous=True)).status


@served()
async def test_a_token_opens_the_server_as_its_account(api: Api) -> None:
    answer = await issued(api)
    assert answer["kind"] == "TokenRequest"
    assert answer["spec"]["expirationSeconds"] == 3600
    assert answer["status"]["expirationTimestamp"] == "2026-01-01T01:00:00Z"
    token = answer["status"]["token"]
    review = await api.post(f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": token}})
    status = review.json["status"]
    assert status["authenticated"]
    assert status["user"]["username"] == "system:serviceaccount:default:default"
    assert await bearer(api, token, "/version") == 200


@served()
async def test_a_token_nobody_issued_is_none(api: Api) -> None:
    review = await api.post(f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": "x.y.z"}})
    assert review.status == 201
    assert not review.json["status"].get("authenticated")


@served()
async def test_a_token_ends_with_its_time(api: Api) -> None:
    token = (await issued(api, expirationSeconds=600))["status"]["token"]
    api.clock.advance(661)  # clocks may differ by a minute
    assert await bearer(api, token, "/version") == 401


@served()
async def test_a_token_ends_with_its_pod(api: Api) -> None:
    made = await api.made(PODS, pod("p"))
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": made["metadata"]["uid"]}
    token = (await issued(api, boundObjectRef=bound))["status"]["token"]
    assert await bearer(api, token, "/version") == 200
    await api.delete(f"{PODS}/p")
    assert await bearer(api, token, "/version") == 401


@pytest.mark.parametrize(
    ("path", "spec", "status"),
    [
        pytest.param(TOKEN, {"expirationSeconds": 5}, 422, id="too-short"),
        pytest.param(TOKEN.replace("s/default/token", "s/nobody/token"), {}, 404, id="no-account"),
        pytest.param(
            TOKEN,
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nobody"}},
            404,
            id="no-pod",
        ),
    ],
)
@served()
async def test_a_token_that_cannot_be_issued_is_refused(
    api: Api, path: str, spec: Any, status: int
) -> None:
    assert (await api.post(path, {"spec": spec})).status == status
