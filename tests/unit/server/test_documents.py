from __future__ import annotations

from dataclasses import replace

import pytest

from dray.server.registry import Served
from tests.unit.server.harness import Api, served


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param("/api", "APIVersions", id="core"),
        pytest.param("/apis", "APIGroupList", id="groups"),
        pytest.param("/apis/apps", "APIGroup", id="group"),
        pytest.param("/api/v1", "APIResourceList", id="resources"),
    ],
)
@served()
async def test_discovery_is_answered(api: Api, path: str, kind: str) -> None:
    reply = await api.get(path)
    assert (reply.status, reply.json["kind"]) == (200, kind)


@pytest.mark.parametrize(
    ("path", "member"),
    [
        pytest.param("/version", "gitVersion", id="version"),
        pytest.param("/openapi/v3", "paths", id="openapi", marks=pytest.mark.slow),
        pytest.param("/openid/v1/jwks", "keys", id="keys"),
        pytest.param("/.well-known/openid-configuration", "issuer", id="issuer"),
        pytest.param("/", "paths", id="root"),
    ],
)
@served()
async def test_documents_are_answered(api: Api, path: str, member: str) -> None:
    assert member in (await api.get(path)).json


@served()
async def test_documents_are_only_read(api: Api) -> None:
    assert (await api.post("/apis", {})).status == 405
    assert (await api.request("HEAD", "/version")).status == 200


@pytest.mark.slow
@served()
async def test_documents_follow_what_is_served(api: Api) -> None:
    registry = api.server.services.registry
    pods = registry.find("", "v1", "pods")
    assert pods is not None
    assert (await api.get("/apis/example.com")).status == 404
    resource = replace(pods.resource, group="example.com", plural="widgets", subresources=())
    registry.define("widgets.example.com", [Served(resource, pods.model, "example.com/widgets/")])
    reply = await api.get("/apis/example.com/v1")
    assert [each["name"] for each in reply.json["resources"]] == ["widgets"]
    assert "apis/example.com/v1" in (await api.get("/openapi/v3")).json["paths"]
    registry.withdraw("widgets.example.com")
    assert (await api.get("/apis/example.com")).status == 404
    assert "apis/example.com/v1" not in (await api.get("/openapi/v3")).json["paths"]
