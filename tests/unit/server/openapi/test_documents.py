"""Whole documents of a few resources. Upstream's are compared in tests/conformance/openapi."""

from __future__ import annotations

import json
from typing import Any

from dray.api.schema import Field, Primitive, Scalar, StructOf
from dray.api.schemas import schema_of
from dray.server.openapi.documents import document, key_of, v2_document
from dray.server.resources import Resource

CLAIMS = Resource(
    "resource.k8s.io",
    "v1",
    "resourceclaims",
    "resourceclaim",
    "ResourceClaim",
    True,
    schema_of("resource.k8s.io", "v1", "ResourceClaim"),
)
CONFIG_MAPS = Resource(
    "", "v1", "configmaps", "configmap", "ConfigMap", True, schema_of("", "v1", "ConfigMap")
)
WIDGETS = Resource(
    "example.com",
    "v1",
    "widgets",
    "widget",
    "Widget",
    True,
    StructOf(
        "",
        lambda: {"size": Field("size", Scalar(Primitive.INT64), description="How big it is.")},
        description="Something custom.",
    ),
)
RESOURCES = (CLAIMS, CONFIG_MAPS, WIDGETS)


def v3(api_version: str) -> Any:
    return json.loads(document(RESOURCES, api_version, version="v1.2.3"))


def test_a_document_has_the_resources_of_its_version_only() -> None:
    written = v3("resource.k8s.io/v1")
    assert written["openapi"] == "3.0.0"
    assert written["info"]["version"] == "v1.2.3"
    assert all("/apis/resource.k8s.io/v1/" in path for path in written["paths"])


def test_kubectl_finds_what_it_looks_for() -> None:
    """A patch of the kind with the parameter fieldValidation, and a schema that says the kind."""
    written = v3("v1")
    patch = written["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"]
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert patch["x-kubernetes-group-version-kind"] == kind
    assert "fieldValidation" in [each["name"] for each in patch["parameters"]]
    schema = written["components"]["schemas"]["io.k8s.api.core.v1.ConfigMap"]
    assert schema["x-kubernetes-group-version-kind"] == [kind]


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references(each) for each in value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def test_every_reference_leads_somewhere() -> None:
    for api_version in ("v1", "resource.k8s.io/v1", "example.com/v1"):
        written = v3(api_version)
        names = {f"#/components/schemas/{name}" for name in written["components"]["schemas"]}
        assert references(written) == names
    everything = v2_document(RESOURCES, version="v1")
    assert references(everything) == {f"#/definitions/{name}" for name in everything["definitions"]}


def test_what_all_operations_of_a_path_take_is_said_once() -> None:
    item = v3("v1")["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]
    common = {each["name"] for each in item["parameters"]}
    assert common == {"name", "namespace", "pretty"}
    assert not common & {each["name"] for each in item["patch"]["parameters"]}


def test_a_custom_resource_is_described_by_its_definition() -> None:
    schemas = v3("example.com/v1")["components"]["schemas"]
    widget = schemas["com.example.v1.Widget"]
    assert widget["description"] == "Something custom."
    assert widget["properties"]["size"]["description"] == "How big it is."
    assert schemas["com.example.v1.WidgetList"]["properties"]["items"]["items"] == {
        "$ref": "#/components/schemas/com.example.v1.Widget"
    }


def test_version_2_puts_bodies_among_the_parameters() -> None:
    path = "/api/v1/namespaces/{namespace}/configmaps"
    post = v2_document(RESOURCES, version="v1")["paths"][path]["post"]
    assert post["parameters"][0] == {
        "in": "body",
        "name": "body",
        "required": True,
        "schema": {"$ref": "#/definitions/io.k8s.api.core.v1.ConfigMap"},
    }


def test_the_same_resources_give_the_same_bytes() -> None:
    first = document(RESOURCES, "v1", version="v1")
    assert document(tuple(reversed(RESOURCES)), "v1", version="v1") == first


def test_keys_are_paths_without_a_slash_in_front() -> None:
    assert [key_of(each) for each in RESOURCES] == [
        "apis/resource.k8s.io/v1",
        "api/v1",
        "apis/example.com/v1",
    ]
