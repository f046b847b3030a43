from __future__ import annotations

import pytest

from dray.server.deprecations import deprecation_of
from dray.server.registry import Registry

REGISTRY = Registry(versions=lambda _group, _version: True)


@pytest.mark.parametrize(
    ("version", "plural", "told"),
    [
        pytest.param("v1", "resourceclaims", None, id="current"),
        pytest.param("v1beta2", "devicetaintrules", None, id="came-late"),
        pytest.param(
            "v1beta1",
            "resourceclaims",
            "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+",
            id="old",
        ),
        pytest.param(
            "v1alpha3",
            "devicetaintrules",
            "resource.k8s.io/v1alpha3 DeviceTaintRule is deprecated in v1.36+, "
            "unavailable in v1.39+",
            id="one-kind-of-a-version",
        ),
    ],
)
def test_users_of_old_versions_are_told_when_these_end(
    version: str, plural: str, told: str | None
) -> None:
    found = REGISTRY.find("resource.k8s.io", version, plural)
    assert found is not None
    assert deprecation_of(found.resource) == told
