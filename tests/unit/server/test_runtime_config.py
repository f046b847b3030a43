from __future__ import annotations

import pytest

from dray.errors import ConfigurationError
from dray.server.runtime_config import parse_runtime_config


def serves(text: str, group: str, version: str) -> bool:
    found = parse_runtime_config(text)
    assert found is not None
    return found(group, version)


def test_without_a_word_everything_is_as_by_default() -> None:
    assert parse_runtime_config("") is None


@pytest.mark.parametrize(
    ("text", "group", "version", "served"),
    [
        pytest.param("v1=true", "resource.k8s.io", "v1", True, id="default-on"),
        pytest.param("v1=true", "resource.k8s.io", "v1beta1", False, id="default-off"),
        pytest.param(
            "resource.k8s.io/v1beta1=true", "resource.k8s.io", "v1beta1", True, id="switched-on"
        ),
        pytest.param("resource.k8s.io/v1beta1", "resource.k8s.io", "v1beta1", True, id="bare"),
        pytest.param("batch/v1=false", "batch", "v1", False, id="switched-off"),
        pytest.param("v1=false", "", "v1", False, id="core"),
        pytest.param("api/beta=true", "resource.k8s.io", "v1beta2", True, id="all-betas"),
        pytest.param("api/beta=true", "resource.k8s.io", "v1alpha3", False, id="not-alphas"),
        pytest.param("api/ga=false", "apps", "v1", False, id="nothing-stable"),
        pytest.param("apps/v1=true,api/all=false", "apps", "v1", True, id="the-narrower-word-wins"),
        pytest.param("api/all=true,api/alpha=false", "resource.k8s.io", "v1alpha3", False),
    ],
)
def test_versions_are_switched_by_name_and_by_class(
    text: str, group: str, version: str, *, served: bool
) -> None:
    assert serves(text, group, version) is served


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("apps/v1=perhaps", "say true or false", id="no-switch"),
        pytest.param("apps/v9=true", "apps/v9", id="no-version"),
        pytest.param("nonsense", "nonsense", id="no-name"),
    ],
)
def test_words_that_mean_nothing_are_refused(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        parse_runtime_config(text)
