"""What the server says it serves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from dray.api.schema import StructOf
from dray.errors import NotAcceptable
from dray.http.messages import Peer, Request, Response
from dray.server.discovery import Discovery, version_document
from dray.server.resources import Resource, Subresource

SCHEMA = StructOf(name="", load=dict)
AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)
PODS = Resource(
    "",
    "v1",
    "pods",
    "pod",
    "Pod",
    True,
    SCHEMA,
    short_names=("po",),
    categories=("all",),
    subresources=(
        Subresource("status", "Pod", ("get", "patch", "update")),
        Subresource("eviction", "Eviction", ("create",), group="policy", version="v1"),
    ),
)
NODES = Resource("", "v1", "nodes", "node", "Node", False, SCHEMA)


def claims(version: str) -> Resource:
    return Resource(
        "resource.k8s.io", version, "resourceclaims", "resourceclaim", "ResourceClaim", True, SCHEMA
    )


REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "subjectaccessreviews",
    "subjectaccessreview",
    "SubjectAccessReview",
    False,
    SCHEMA,
    verbs=("create",),
)
WIDGETS = Resource("example.com", "v1alpha1", "widgets", "widget", "Widget", True, SCHEMA)
RESOURCES = (WIDGETS, claims("v1beta1"), claims("v1"), claims("v1beta2"), REVIEWS, PODS, NODES)


@pytest.fixture
def discovery() -> Discovery:
    return Discovery(RESOURCES, server_address="10.0.0.1:6443", other_paths=("/healthz",))


def get(discovery: Discovery, path: str, **headers: str) -> Response:
    request = Request(
        "GET",
        path,
        {},
        {name.replace("_", "-"): value for name, value in headers.items()},
        b"",
        Peer("127.0.0.1:1"),
    )
    response = discovery.respond(request)
    assert response is not None
    return response


def document(discovery: Discovery, path: str, **headers: str) -> Any:
    response = get(discovery, path, **headers)
    assert response.status == 200
    assert response.body.endswith(b"\n")
    return json.loads(response.body)


def headers_of(response: Response) -> Mapping[str, str]:
    return dict(response.headers)


def test_the_oldest_root_lists_versions(discovery: Discovery) -> None:
    assert document(discovery, "/api") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.1:6443"}
        ],
    }


def test_groups_come_in_upstreams_order_and_custom_ones_last(discovery: Discovery) -> None:
    listed = document(discovery, "/apis")
    assert (listed["kind"], listed["apiVersion"]) == ("APIGroupList", "v1")
    assert [group["name"] for group in listed["groups"]] == [
        "authorization.k8s.io",
        "resource.k8s.io",
        "example.com",
    ]


def test_a_group_prefers_its_most_mature_version(discovery: Discovery) -> None:
    group = document(discovery, "/apis/resource.k8s.io")
    assert (group["kind"], group["apiVersion"]) == ("APIGroup", "v1")
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta2", "v1beta1"]
    assert group["preferredVersion"] == {"groupVersion": "resource.k8s.io/v1", "version": "v1"}


def test_versions_of_any_name_have_an_order() -> None:
    names = ["v10beta3", "foo10", "v3beta1", "v12alpha1", "v11alpha2", "v1", "v11beta2", "foo1"]
    names += ["v2", "v10"]
    made = Discovery([claims(name) for name in names])
    group = document(made, "/apis/resource.k8s.io")
    assert [version["version"] for version in group["versions"]] == [
        "v10",
        "v2",
        "v1",
        "v11beta2",
        "v10beta3",
        "v3beta1",
        "v12alpha1",
        "v11alpha2",
        "foo1",
        "foo10",
    ]


def test_a_version_lists_resources_by_name_and_their_parts_after_them(
    discovery: Discovery,
) -> None:
    listed = document(discovery, "/api/v1")
    assert "apiVersion" not in listed
    assert listed["groupVersion"] == "v1"
    assert [entry["name"] for entry in listed["resources"]] == [
        "nodes",
        "pods",
        "pods/eviction",
        "pods/status",
    ]


def test_an_entry_says_what_clients_branch_on(discovery: Discovery) -> None:
    entries = {entry["name"]: entry for entry in document(discovery, "/api/v1")["resources"]}
    pods = entries["pods"]
    # As kube-apiserver has it.
    assert pods.pop("storageVersionHash") == "xPOwRZ+Yhw8="
    assert pods == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": sorted(PODS.verbs),
        "shortNames": ["po"],
        "categories": ["all"],
    }
    # kubectl drain looks for exactly this.
    assert entries["pods/eviction"] == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }
    assert "group" not in entries["pods/status"]


def test_what_is_not_stored_has_no_storage_version(discovery: Discovery) -> None:
    [entry] = document(discovery, "/apis/authorization.k8s.io/v1")["resources"]
    assert "storageVersionHash" not in entry


def test_every_version_of_a_resource_is_stored_as_one(discovery: Discovery) -> None:
    lists = [document(discovery, f"/apis/resource.k8s.io/{v}") for v in ("v1", "v1beta1")]
    newest, older = (listed["resources"][0]["storageVersionHash"] for listed in lists)
    assert newest == older


def test_the_aggregated_form_has_everything_at_once(discovery: Discovery) -> None:
    response = get(discovery, "/apis", accept=AGGREGATED)
    headers = headers_of(response)
    assert headers["Content-Type"] == (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    )
    assert (headers["Vary"], headers["Cache-Control"]) == ("Accept", "public")
    told = json.loads(response.body)
    assert (told["kind"], told["apiVersion"]) == (
        "APIGroupDiscoveryList",
        "apidiscovery.k8s.io/v2",
    )
    by_name = {item["metadata"]["name"]: item["versions"] for item in told["items"]}
    assert list(by_name) == ["authorization.k8s.io", "resource.k8s.io", "example.com"]
    first = by_name["resource.k8s.io"][0]
    assert (first["version"], first["freshness"]) == ("v1", "Current")
    assert first["resources"] == [
        {
            "resource": "resourceclaims",
            "responseKind": {"group": "", "version": "", "kind": "ResourceClaim"},
            "scope": "Namespaced",
            "singularResource": "resourceclaim",
            "verbs": sorted(PODS.verbs),
        }
    ]


def test_the_aggregated_core_group_has_no_name(discovery: Discovery) -> None:
    [core] = document(discovery, "/api", accept=AGGREGATED)["items"]
    assert core["metadata"] == {}
    nodes, pods = core["versions"][0]["resources"]
    assert nodes["scope"] == "Cluster"
    assert (pods["shortNames"], pods["categories"]) == (["po"], ["all"])
    assert pods["subresources"][0] == {
        "subresource": "eviction",
        "responseKind": {"group": "policy", "version": "v1", "kind": "Eviction"},
        "verbs": ["create"],
    }


def test_the_older_aggregated_form_differs_in_its_version(discovery: Discovery) -> None:
    accept = AGGREGATED.split(",")[1]
    response = get(discovery, "/apis", accept=accept)
    assert "v=v2beta1" in headers_of(response)["Content-Type"]
    assert json.loads(response.body)["apiVersion"] == "apidiscovery.k8s.io/v2beta1"


def test_what_a_client_already_has_is_not_sent_again(discovery: Discovery) -> None:
    tag = headers_of(get(discovery, "/apis", accept=AGGREGATED))["ETag"]
    again = get(discovery, "/apis", accept=AGGREGATED, if_none_match=tag)
    assert (again.status, again.body) == (304, b"")
    assert headers_of(again)["ETag"] == tag
    assert get(discovery, "/api", accept=AGGREGATED, if_none_match=tag).status == 200


def test_a_change_of_resources_changes_everything(discovery: Discovery) -> None:
    tag = headers_of(get(discovery, "/apis", accept=AGGREGATED))["ETag"]
    discovery.replace([PODS, claims("v1")])
    response = get(discovery, "/apis", accept=AGGREGATED, if_none_match=tag)
    assert response.status == 200
    assert [group["name"] for group in document(discovery, "/apis")["groups"]] == [
        "resource.k8s.io"
    ]
    assert "/apis/example.com" not in document(discovery, "/")["paths"]


def test_one_slash_more_is_the_same_path(discovery: Discovery) -> None:
    for path in ("/version", "/api", "/apis", "/apis/resource.k8s.io/v1"):
        assert document(discovery, f"{path}/") == document(discovery, path)


def test_other_paths_are_somebody_elses(discovery: Discovery) -> None:
    for path in ("/apis/none.example.com", "/api/v1/pods", "/healthz"):
        assert discovery.respond(Request("GET", path, {}, {}, b"", Peer(""))) is None


def test_the_root_lists_every_path(discovery: Discovery) -> None:
    assert document(discovery, "/") == {
        "paths": [
            "/api",
            "/api/v1",
            "/apis",
            "/apis/",
            "/apis/authorization.k8s.io",
            "/apis/authorization.k8s.io/v1",
            "/apis/example.com",
            "/apis/example.com/v1alpha1",
            "/apis/resource.k8s.io",
            "/apis/resource.k8s.io/v1",
            "/apis/resource.k8s.io/v1beta1",
            "/apis/resource.k8s.io/v1beta2",
            "/healthz",
            "/version",
        ]
    }


def test_documents_come_in_yaml_and_indented_as_well(discovery: Discovery) -> None:
    response = get(discovery, "/api/v1", accept="application/yaml")
    assert headers_of(response)["Content-Type"] == "application/yaml"
    assert yaml.safe_load(response.body) == document(discovery, "/api/v1")
    shown = get(discovery, "/api/v1", user_agent="curl/8.5.0")
    assert shown.body.startswith(b'{\n  "kind": "APIResourceList"')


def test_a_form_nobody_has_is_refused(discovery: Discovery) -> None:
    with pytest.raises(NotAcceptable):
        get(discovery, "/apis", accept="application/vnd.kubernetes.protobuf")


def test_the_version_is_that_of_kubernetes_and_says_whose_build_it_is() -> None:
    told = version_document()
    assert (told["major"], told["minor"]) == ("1", "37")
    assert told["gitVersion"].startswith("v1.37.1+dray")
    classic = "major minor gitVersion gitCommit gitTreeState buildDate goVersion compiler platform"
    assert all(told[name] for name in classic.split())
