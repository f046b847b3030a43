from __future__ import annotations

from typing import Any

import pytest

from dray.server.user import User
from tests.unit.server.harness import NAMESPACES, Api, served

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
BOB = User("bob")


def rule(groups: str, resources: str, *verbs: str) -> Any:
    return {"apiGroups": [groups], "resources": [resources], "verbs": list(verbs)}


async def allow(api: Api, *rules: Any) -> None:
    await api.made(f"{ROLES}/clusterroles", {"metadata": {"name": "bobs"}, "rules": list(rules)})
    binding = {
        "metadata": {"name": "bobs"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "bobs"},
        "subjects": [{"kind": "User", "apiGroup": GROUP, "name": "bob"}],
    }
    await api.made(f"{ROLES}/clusterrolebindings", binding)


def claim(**more: Any) -> Any:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", **more}}
    return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}}


@served()
async def test_admin_access_needs_a_namespace_that_allows_it(api: Api) -> None:
    reply = await api.post(CLAIMS, claim(adminAccess=True))
    assert reply.status == 422
    (cause,) = reply.json["details"]["causes"]
    assert cause["reason"] == "FieldValueForbidden"
    assert cause["field"] == "spec.devices.requests[0].adminAccess"
    labels = {"resource.kubernetes.io/admin-access": "true"}
    await api.patch(f"{NAMESPACES}/default", {"metadata": {"labels": labels}})
    assert (await api.post(CLAIMS, claim(adminAccess=True))).status == 201


@pytest.mark.parametrize(
    ("held", "status"),
    [
        pytest.param([], 403, id="not-held"),
        pytest.param([rule("", "pods", "get")], 201, id="held"),
        pytest.param([rule(GROUP, "roles", "escalate")], 201, id="may-escalate"),
    ],
)
@served()
async def test_nobody_grants_what_they_lack(api: Api, held: list[Any], status: int) -> None:
    await allow(api, rule(GROUP, "roles", "create", "update", "get"), *held)
    body = {"metadata": {"name": "r"}, "rules": [rule("", "pods", "get")]}
    path = f"{ROLES}/namespaces/default/roles"
    reply = await api.request("POST", path, body, user=BOB)
    assert reply.status == status
    if status == 403:
        assert "is attempting to grant RBAC permissions not currently held" in reply.message


@served()
async def test_nobody_widens_a_role_beyond_their_own_rights(api: Api) -> None:
    await allow(api, rule(GROUP, "roles", "create", "update", "get"), rule("", "pods", "get"))
    path = f"{ROLES}/namespaces/default/roles"
    body = {"metadata": {"name": "r"}, "rules": [rule("", "pods", "get")]}
    assert (await api.request("POST", path, body, user=BOB)).status == 201
    body["rules"] = [rule("", "secrets", "get")]
    assert (await api.request("PUT", f"{path}/r", body, user=BOB)).status == 403


@served()
async def test_nobody_binds_a_role_beyond_their_own_rights(api: Api) -> None:
    await allow(api, rule(GROUP, "rolebindings", "create"))
    body = {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "apiGroup": GROUP, "name": "bob"}],
    }
    path = f"{ROLES}/namespaces/default/rolebindings"
    assert (await api.request("POST", path, body, user=BOB)).status == 403


@pytest.mark.parametrize(
    ("rights", "status"),
    [
        pytest.param([], 422, id="status-alone"),
        pytest.param([rule("resource.k8s.io", "resourceclaims/binding", "update")], 200, id="both"),
    ],
)
@served()
async def test_who_reserves_a_claim_needs_rights_of_their_own_for_it(
    api: Api, rights: list[Any], status: int
) -> None:
    await allow(api, rule("resource.k8s.io", "resourceclaims/status", "update"), *rights)
    made = await api.made(CLAIMS, claim())
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "x"}
    told = {"allocation": {"devices": {"results": [result]}}}
    wanted = {**made, "status": told}
    reply = await api.request("PUT", f"{CLAIMS}/c/status", wanted, user=BOB)
    assert reply.status == status, reply.text
