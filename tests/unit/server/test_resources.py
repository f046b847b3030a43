from __future__ import annotations

import pytest

from dray.server.registry import Registry
from dray.server.resources import Resource


def resource(group: str, plural: str) -> Resource:
    found = Registry().find(group, "v1", plural)
    assert found is not None
    return found.resource


@pytest.mark.parametrize(
    ("group", "plural", "api_version", "list_kind", "qualified"),
    [
        pytest.param("", "pods", "v1", "PodList", "pods", id="core"),
        pytest.param("apps", "deployments", "apps/v1", "DeploymentList", "deployments.apps"),
    ],
)
def test_a_resource_knows_what_it_is_called(
    group: str, plural: str, api_version: str, list_kind: str, qualified: str
) -> None:
    found = resource(group, plural)
    assert (found.api_version, found.list_kind, found.qualified) == (
        api_version,
        list_kind,
        qualified,
    )


def test_a_subresource_is_found_by_its_name() -> None:
    pods = resource("", "pods")
    eviction = pods.subresource("eviction")
    assert eviction is not None
    assert (eviction.kind, eviction.group, eviction.version) == ("Eviction", "policy", "v1")
    assert pods.subresource("scale") is None
