"""Paths of kinds."""

from __future__ import annotations

import pytest

from dray.api import authorization
from dray.api.core import Node, Pod
from dray.api.meta import Object
from dray.api.resource import ResourceClaim, v1beta1
from dray.client._resources import namespace_for, path_of, resource_of
from dray.errors import BadRequest, ConfigurationError


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "subresource", "path"),
    [
        (Pod, "", "", "", "/api/v1/pods"),
        (Pod, "ns", "p", "status", "/api/v1/namespaces/ns/pods/p/status"),
        (Node, "", "n", "", "/api/v1/nodes/n"),
        (ResourceClaim, "ns", "", "", "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"),
        (
            authorization.SubjectAccessReview,
            "",
            "",
            "",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        ),
    ],
    ids=["all", "status", "cluster", "group", "review"],
)
def test_paths_are_those_of_the_api(
    kind: type[Object], namespace: str, name: str, subresource: str, path: str
) -> None:
    found = resource_of(kind)
    assert (
        path_of(found, found.hub, namespace=namespace, name=name, subresource=subresource) == path
    )


def test_only_the_newest_version_of_a_kind_is_asked_for_by_type() -> None:
    with pytest.raises(ConfigurationError, match="newest version"):
        resource_of(v1beta1.ResourceClaim)


def test_a_namespace_is_asked_for_where_one_belongs_and_dropped_where_none_does() -> None:
    assert namespace_for(resource_of(Node), "ns", required=True) == ""
    assert namespace_for(resource_of(Pod), "", required=False) == ""
    with pytest.raises(BadRequest, match="say which one"):
        namespace_for(resource_of(Pod), "", required=True)
