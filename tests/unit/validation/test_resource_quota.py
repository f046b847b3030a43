"""Quotas."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceQuotaStatus,
    ScopedResourceSelectorRequirement,
    ScopeSelector,
)
from dray.api.wire import replace
from tests.unit.validation.pod_builders import paths, quantities
from tests.unit.validation.workload_builders import created, metadata, status_updated, updated


def quota(hard: dict[str, str] | None = None, **spec: Any) -> ResourceQuota:
    made = ResourceQuotaSpec(hard=quantities(hard or {}), **spec)
    return ResourceQuota(metadata=metadata(), spec=made)


def scoped(name: str, operator: str, *values: str, hard: str = "pods") -> ResourceQuota:
    clause = ScopedResourceSelectorRequirement(scope_name=name, operator=operator, values=values)
    return quota({hard: "1"}, scope_selector=ScopeSelector(match_expressions=(clause,)))


@pytest.mark.parametrize(
    "name",
    [
        "pods",
        "requests.cpu",
        "limits.memory",
        "hugepages-2Mi",
        "count/resourceclaims.resource.k8s.io",
        "gpu.deviceclass.resource.k8s.io/devices",
        "requests.nvidia.com/gpu",
    ],
)
def test_what_can_be_bounded(name: str) -> None:
    fine = quota({name: "1"})
    assert created(fine) == updated(fine, fine) == []


@pytest.mark.parametrize(
    ("name", "amount", "texts"),
    [
        (
            "foo",
            "1",
            [
                'Invalid value: "foo": must be a standard resource type or fully qualified',
                'Invalid value: "foo": must be a standard resource for quota',
            ],
        ),
        ("storage", "1", ['Invalid value: "storage": must be a standard resource for quota']),
        ("cpu", "-1", ['Invalid value: "-1": must be greater than or equal to 0']),
        ("pods", "500m", ['Invalid value: "500m": must be an integer']),
    ],
)
def test_what_cannot(name: str, amount: str, texts: list[str]) -> None:
    assert created(quota({name: amount})) == [f"spec.hard[{name}]: {text}" for text in texts]
    status = ResourceQuotaStatus(used=quantities({name: amount}))
    new = replace(quota(), status=status)
    assert status_updated(new, quota()) == [f"status.used[{name}]: {text}" for text in texts]


def test_scopes_are_known_fit_and_do_not_contradict() -> None:
    odd = quota({"secrets": "1"}, scopes=("X", "BestEffort", "NotBestEffort"))
    shown = '["X","BestEffort","NotBestEffort"]'
    assert created(odd) == [
        f"spec.scopes: Invalid value: {shown}: unsupported scope",
        f"spec.scopes: Invalid value: {shown}: unsupported scope applied to resource",
        f"spec.scopes: Invalid value: {shown}: conflicting scopes",
    ]


@pytest.mark.parametrize(
    ("made", "where"),
    [
        pytest.param(scoped("PriorityClass", "In", "high"), [], id="fine"),
        pytest.param(scoped("Terminating", "Exists"), [], id="plain"),
        pytest.param(scoped("PriorityClass", "In"), ["values"], id="in-nothing"),
        pytest.param(scoped("PriorityClass", "Exists", "x"), ["values"], id="exists-as"),
        pytest.param(scoped("PriorityClass", "Is", "x"), ["operator"], id="unknown-operator"),
        pytest.param(scoped("Terminating", "In", "x"), ["operator"], id="plain-with-value"),
        pytest.param(scoped("X", "Exists"), ["scopeName"], id="unknown"),
    ],
)
def test_selectors_of_scopes(made: ResourceQuota, where: list[str]) -> None:
    path = "spec.scopeSelector.matchExpressions"
    assert paths(created(made)) == [f"{path}.{name}" for name in where]


def test_a_scope_must_fit_what_is_bounded() -> None:
    (text,) = created(scoped("BestEffort", "Exists", hard="cpu"))
    assert text == (
        "spec.scopeSelector.matchExpressions: Invalid value: "
        '{"MatchExpressions":[{"ScopeName":"BestEffort","Operator":"Exists","Values":null}]}: '
        "unsupported scope applied to resource"
    )


def test_scopes_are_for_life() -> None:
    old = quota({"pods": "1"}, scopes=("Terminating", "BestEffort"))
    assert updated(quota({"pods": "2"}, scopes=("BestEffort", "Terminating")), old) == []
    assert updated(quota({"pods": "1"}), old) == [
        "spec.scopes: Invalid value: null: field is immutable"
    ]
