"""What can be done with a resource."""

from __future__ import annotations

import pytest

from dray.api.schema import Field, Primitive, Scalar, StructOf
from dray.api.schemas import schema_of
from dray.server.openapi.operations import (
    PATCH,
    GroupVersionKind,
    Operation,
    list_schema,
    named,
    operations_of,
    root_operation,
)
from dray.server.resources import Resource, Subresource

CONFIG_MAPS = Resource(
    "", "v1", "configmaps", "configmap", "ConfigMap", True, schema_of("", "v1", "ConfigMap")
)
PODS = Resource(
    "",
    "v1",
    "pods",
    "pod",
    "Pod",
    True,
    schema_of("", "v1", "Pod"),
    subresources=(
        Subresource("status", "Pod", ("get", "patch", "update")),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        Subresource("log", "Pod", ("get",)),
        Subresource("exec", "PodExecOptions", ("create", "get")),
    ),
)
WIDGETS = Resource(
    "example.com",
    "v1",
    "widgets",
    "widget",
    "Widget",
    False,
    StructOf("", lambda: {"size": Field("size", Scalar(Primitive.INT64))}),
    verbs=("create", "get", "patch"),
)

IN_NAMESPACE = "/api/v1/namespaces/{namespace}"


def operations(resource: Resource) -> dict[tuple[str, str], Operation]:
    return {(path, each.method): each for path, each in operations_of(resource)}


def test_a_resource_has_the_operations_of_its_verbs() -> None:
    assert [(path, each.method, each.action) for path, each in operations_of(CONFIG_MAPS)] == [
        (f"{IN_NAMESPACE}/configmaps", "get", "list"),
        ("/api/v1/configmaps", "get", "list"),
        (f"{IN_NAMESPACE}/configmaps", "post", "post"),
        (f"{IN_NAMESPACE}/configmaps", "delete", "deletecollection"),
        (f"{IN_NAMESPACE}/configmaps/{{name}}", "get", "get"),
        (f"{IN_NAMESPACE}/configmaps/{{name}}", "put", "put"),
        (f"{IN_NAMESPACE}/configmaps/{{name}}", "patch", "patch"),
        (f"{IN_NAMESPACE}/configmaps/{{name}}", "delete", "delete"),
    ]
    assert [(path, each.method) for path, each in operations_of(WIDGETS)] == [
        ("/apis/example.com/v1/widgets", "post"),
        ("/apis/example.com/v1/widgets/{name}", "get"),
        ("/apis/example.com/v1/widgets/{name}", "patch"),
    ]


def test_a_patch_takes_field_validation_and_says_its_kind() -> None:
    """What kubectl looks for before it trusts the server to validate."""
    patch = operations(CONFIG_MAPS)[f"{IN_NAMESPACE}/configmaps/{{name}}", "patch"]
    assert patch.about == GroupVersionKind("", "v1", "ConfigMap")
    assert {"fieldValidation", "fieldManager", "dryRun", "force"} <= {
        parameter.name for parameter in patch.parameters
    }
    assert patch.body is PATCH


def test_custom_resources_have_no_strategic_merge() -> None:
    custom = operations(WIDGETS)["/apis/example.com/v1/widgets/{name}", "patch"]
    builtin = operations(CONFIG_MAPS)[f"{IN_NAMESPACE}/configmaps/{{name}}", "patch"]
    assert set(builtin.consumes) - set(custom.consumes) == {
        "application/strategic-merge-patch+json"
    }


def test_subresources_have_bodies_of_their_own() -> None:
    found = operations(PODS)
    pod = f"{IN_NAMESPACE}/pods/{{name}}"
    eviction = found[f"{pod}/eviction", "post"]
    assert eviction.about == GroupVersionKind("policy", "v1", "Eviction")
    assert eviction.body is schema_of("policy", "v1", "Eviction")
    assert found[f"{pod}/status", "put"].identifier == "replaceCoreV1NamespacedPodStatus"
    assert found[f"{pod}/log", "get"].produces[0] == "text/plain"
    assert found[f"{pod}/exec", "post"].action == "connect"
    assert found[f"{pod}/exec", "get"].answer is None


@pytest.mark.parametrize(
    ("group", "identifier", "tag"),
    [
        ("", "getCoreV1APIResources", "core_v1"),
        ("apps", "getAppsV1APIResources", "apps_v1"),
        (
            "rbac.authorization.k8s.io",
            "getRbacAuthorizationV1APIResources",
            "rbacAuthorization_v1",
        ),
        ("stable.example.com", "getStableExampleComV1APIResources", "stableExampleCom_v1"),
    ],
)
def test_identifiers_begin_with_the_group(group: str, identifier: str, tag: str) -> None:
    path, operation = root_operation(group, "v1")
    assert (operation.identifier, operation.tag) == (identifier, tag)
    assert path == (f"/apis/{group}/v1/" if group else "/api/v1/")


def test_a_custom_schema_is_named_by_its_group() -> None:
    assert named(WIDGETS).schema.name == "com.example.v1.Widget"
    assert named(CONFIG_MAPS) is CONFIG_MAPS


def test_a_list_of_custom_resources_is_made() -> None:
    listed = list_schema(named(WIDGETS))
    assert listed.name == "com.example.v1.WidgetList"
    assert listed.fields["items"].required
    assert list_schema(CONFIG_MAPS) is schema_of("", "v1", "ConfigMapList")


def test_deleting_is_answered_with_a_status_or_the_object() -> None:
    status = operations(CONFIG_MAPS)[f"{IN_NAMESPACE}/configmaps/{{name}}", "delete"].answer
    assert status is schema_of("", "v1", "Status")
    assert operations(PODS)[f"{IN_NAMESPACE}/pods/{{name}}", "delete"].answer is PODS.schema
