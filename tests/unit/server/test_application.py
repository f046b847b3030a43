from __future__ import annotations

from typing import Any

import pytest

from dray.http.messages import Response
from dray.server.user import User
from tests.unit.server.harness import CONFIG_MAPS, NAMESPACES, PODS, Api, config_map, served

BOB = User("bob")
ROLES = "/apis/rbac.authorization.k8s.io/v1"


async def allow(api: Api, *rules: Any) -> None:
    """Bob may do this, everywhere."""
    await api.made(f"{ROLES}/clusterroles", {"metadata": {"name": "r"}, "rules": list(rules)})
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "apiGroup": group, "name": "bob"}],
    }
    await api.made(f"{ROLES}/clusterrolebindings", binding)


def rule(resources: str, *verbs: str, **more: Any) -> Any:
    return {"apiGroups": [""], "resources": [resources], "verbs": list(verbs), **more}


# Who may ---------------------------------------------------------------------------------------


@served()
async def test_a_token_nobody_knows_is_unauthorized_before_anything_else(api: Api) -> None:
    headers = {"authorization": "Bearer wrong"}
    for path in (PODS, "/nowhere", "/api/v1/nonsense"):
        reply = await api.request("GET", path, headers=headers, anonymous=True)
        assert (reply.status, reply.message) == (401, "Unauthorized")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
@served()
async def test_strangers_may_ask_how_the_server_is(api: Api, path: str) -> None:
    assert (await api.request("GET", path, anonymous=True)).status != 403


@pytest.mark.parametrize(
    "path", [PODS, "/api/v1/nonsense", "/apis/example.com/v1/widgets", "/nowhere", "/metrics"]
)
@served()
async def test_who_may_not_does_not_learn_what_there_is(api: Api, path: str) -> None:
    reply = await api.request("GET", path, user=BOB)
    assert (reply.status, reply.json["reason"]) == (403, "Forbidden")


@served()
async def test_a_refusal_says_what_was_refused(api: Api) -> None:
    reply = await api.request("GET", PODS, user=BOB)
    assert reply.message == (
        'pods is forbidden: User "bob" cannot list resource "pods" in API group "" '
        'in the namespace "default"'
    )


@served()
async def test_rights_are_by_verb_and_resource(api: Api) -> None:
    await allow(api, rule("configmaps", "get", "create"))
    assert (await api.request("POST", CONFIG_MAPS, config_map("a"), user=BOB)).status == 201
    assert (await api.request("GET", f"{CONFIG_MAPS}/a", user=BOB)).status == 200
    assert (await api.request("DELETE", f"{CONFIG_MAPS}/a", user=BOB)).status == 403
    assert (await api.request("GET", f"{PODS}/a/log", user=BOB)).status == 403


@pytest.mark.parametrize(
    ("method", "query", "status"),
    [
        pytest.param("GET", "?fieldSelector=metadata.name%3Da", 200, id="list-of-one"),
        pytest.param("GET", "", 403, id="list-of-all"),
        pytest.param("GET", "?fieldSelector=metadata.name%21%3Da", 403, id="list-of-the-others"),
        pytest.param("DELETE", "?fieldSelector=metadata.name%3Da", 403, id="deletion-of-one"),
        pytest.param("DELETE", "", 403, id="deletion-of-all"),
    ],
)
@served()
async def test_rights_to_one_object_are_enough_to_list_it(
    api: Api, method: str, query: str, status: int
) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    verbs = ("get", "list", "watch", "deletecollection")
    await allow(api, rule("configmaps", *verbs, resourceNames=["a"]))
    assert (await api.request(method, CONFIG_MAPS + query, user=BOB)).status == status


@served()
async def test_somebody_else_can_be_played_only_by_who_may(api: Api) -> None:
    await allow(api, rule("configmaps", "list"))
    headers = {"impersonate-user": "bob"}
    assert (await api.request("GET", CONFIG_MAPS, headers=headers)).status == 200
    assert (await api.request("GET", PODS, headers=headers)).status == 403
    reply = await api.request("GET", CONFIG_MAPS, headers=headers, anonymous=True)
    assert reply.status == 403


# What there is ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "is_status"),
    [
        pytest.param("/api/v1/nonsense", True, id="resource"),
        pytest.param("/api/v9/pods", True, id="version-of-core"),
        pytest.param("/apis/resource.k8s.io/v1beta1/resourceclaims", True, id="disabled-version"),
        pytest.param(f"{PODS}/p/nonsense", True, id="subresource"),
        pytest.param(f"{PODS}/p/log/more", True, id="surplus"),
        pytest.param("/apis/apps/v9", True, id="version-of-a-group"),
        pytest.param("/apis/example.com/v1/widgets", False, id="group"),
        pytest.param("/nowhere", False, id="path"),
        pytest.param("/apis//v1/pods", True, id="no-group"),
        pytest.param(f"{NAMESPACES}//pods", True, id="no-namespace"),
        pytest.param(f"{NAMESPACES}/default/nodes", True, id="a-node-in-a-namespace"),
        pytest.param("/api/v1/pods/p", True, id="a-pod-in-none"),
    ],
)
@served()
async def test_what_does_not_exist_is_not_found(api: Api, path: str, *, is_status: bool) -> None:
    reply = await api.get(path)
    assert reply.status == 404
    if is_status:
        assert reply.message == "the server could not find the requested resource"
        assert reply.json["details"] == {}
    else:
        assert reply.text == "404 page not found\n"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("POST", "/api/v1/pods", id="create-everywhere"),
        pytest.param("DELETE", "/api/v1/pods", id="delete-everywhere"),
        pytest.param("DELETE", NAMESPACES, id="delete-all-namespaces"),
        pytest.param("POST", f"{PODS}/p", id="create-one"),
        pytest.param("PUT", PODS, id="put-all"),
        pytest.param("PATCH", PODS, id="patch-all"),
        pytest.param("POST", f"{PODS}/p/status", id="create-a-status"),
        pytest.param("DELETE", f"{PODS}/p/status", id="delete-a-status"),
        pytest.param("DELETE", "/api/v1/watch/namespaces/default/pods/p", id="delete-a-watch"),
        pytest.param("HEAD", PODS, id="head"),
        pytest.param("OPTIONS", PODS, id="options"),
        pytest.param("GET", "/apis/authentication.k8s.io/v1/tokenreviews", id="list-reviews"),
    ],
)
@served()
async def test_what_a_resource_does_not_do_is_not_allowed(api: Api, method: str, path: str) -> None:
    reply = await api.request(method, path)
    assert (reply.status, reply.json["reason"]) == (405, "MethodNotAllowed")
    assert reply.json["details"] == {}


@served()
async def test_a_trailing_slash_is_overlooked(api: Api) -> None:
    assert (await api.get(f"{CONFIG_MAPS}/")).json["kind"] == "ConfigMapList"


# In which form ---------------------------------------------------------------------------------


@served()
async def test_what_a_client_takes_must_be_something_we_have(api: Api) -> None:
    reply = await api.get(CONFIG_MAPS, {"accept": "text/html"})
    assert (reply.status, reply.json["reason"]) == (406, "NotAcceptable")


@served()
async def test_a_refusal_is_in_the_form_that_was_asked_for(api: Api) -> None:
    reply = await api.get(f"{CONFIG_MAPS}/nobody", {"accept": "application/yaml"})
    assert reply.header("content-type") == "application/yaml"
    assert "kind: Status" in reply.text


@served(versions=lambda _group, _version: True)
async def test_who_uses_an_old_version_is_told_so_whatever_the_answer(api: Api) -> None:
    base = "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims"
    for path in (base, f"{base}/nobody"):
        assert "is deprecated" in (await api.get(path)).warnings[0]
    watch = await api.watch(f"{base}?watch=1")
    assert any("is deprecated" in value for _name, value in watch.stream.headers)


@served()
async def test_an_answer_is_never_kept_by_others(api: Api) -> None:
    answer = await api.answer("GET", CONFIG_MAPS)
    assert isinstance(answer, Response)
    assert ("Cache-Control", "no-cache, private") in answer.headers
