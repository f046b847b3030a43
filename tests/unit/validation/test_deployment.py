"""Deployments."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.apps import DeploymentStrategy, RollingUpdateDeployment
from dray.api.core import PodResourceClaim
from dray.api.meta import LabelSelector
from dray.api.wire import replace
from dray.validation import validate_create
from tests.unit.validation.pod_builders import paths
from tests.unit.validation.workload_builders import (
    created,
    deployment,
    status_updated,
    template,
    updated,
    with_status,
)


def rolling(**fields: Any) -> DeploymentStrategy:
    return DeploymentStrategy(
        type="RollingUpdate", rolling_update=RollingUpdateDeployment(**fields)
    )


def test_a_plain_deployment_may_be_created_and_written_back() -> None:
    plain = deployment()
    assert created(plain) == []
    assert updated(plain, plain) == []
    assert status_updated(plain, plain) == []


def test_claims_in_the_template_are_checked() -> None:
    broken = deployment(template=template(resource_claims=(PodResourceClaim(name="GPU"),)))
    assert paths(created(broken)) == [
        "spec.template.spec.resourceClaims[0].name",
        "spec.template.spec.resourceClaims[0]",
    ]


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        pytest.param({"replicas": -1}, ["spec.replicas"], id="fewer-than-none"),
        pytest.param({"revision_history_limit": -1}, ["spec.revisionHistoryLimit"], id="history"),
        pytest.param({"selector": LabelSelector()}, ["spec.selector"], id="selects-everything"),
        pytest.param(
            {"progress_deadline_seconds": -1},
            ["spec.progressDeadlineSeconds"] * 2,
            id="deadline-in-the-past",
        ),
        pytest.param(
            {"min_ready_seconds": 600}, ["spec.progressDeadlineSeconds"], id="never-in-time"
        ),
    ],
)
def test_what_a_deployment_may_not_be(spec: dict[str, Any], where: list[str]) -> None:
    assert paths(created(deployment(**spec))) == where


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        pytest.param(
            rolling(max_unavailable=0, max_surge="0%"),
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: "
            "may not be 0 when `maxSurge` is 0",
            id="stands-still",
        ),
        pytest.param(
            rolling(max_unavailable="101%"),
            'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": '
            "must not be greater than 100%",
            id="more-than-all",
        ),
        pytest.param(
            rolling(max_surge=-1),
            "spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: "
            "must be greater than or equal to 0",
            id="negative",
        ),
        pytest.param(
            DeploymentStrategy(type="Recreate", rolling_update=RollingUpdateDeployment()),
            "spec.strategy.rollingUpdate: Forbidden: "
            "may not be specified when strategy `type` is 'Recreate'",
            id="recreate-does-not-roll",
        ),
        pytest.param(
            DeploymentStrategy(type="X", rolling_update=RollingUpdateDeployment(max_surge=1)),
            "spec.strategy: Unsupported value: "
            '{"Type":"X","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}: '
            'supported values: "Recreate", "RollingUpdate"',
            id="unknown",
        ),
        pytest.param(
            DeploymentStrategy(type="X"),
            'spec.strategy: Unsupported value: {"Type":"X","RollingUpdate":null}: '
            'supported values: "Recreate", "RollingUpdate"',
            id="unknown-and-empty",
        ),
    ],
)
def test_strategies_that_lead_nowhere(strategy: DeploymentStrategy, told: str) -> None:
    assert created(deployment(strategy=strategy)) == [told]


def test_a_strategy_without_its_defaults_is_told_so() -> None:
    plain = deployment()
    bare = replace(plain.spec, strategy=DeploymentStrategy(type="RollingUpdate"))
    (error,) = validate_create(replace(plain, spec=bare))
    assert str(error) == (
        "spec.strategy.rollingUpdate: Required value: this should be defaulted and never be nil"
    )


def test_the_selector_is_for_life() -> None:
    new = deployment(
        selector=LabelSelector(match_labels={"app": "b"}), template=template(labels={"app": "b"})
    )
    assert paths(updated(new, deployment())) == ["spec.selector"]


def test_an_update_is_forgiven_what_is_stored() -> None:
    cost = {"controller.kubernetes.io/pod-deletion-cost": "cheap"}
    pods = template()
    odd = replace(pods, metadata=replace(pods.metadata, annotations=cost))
    path = "spec.template.annotations[controller.kubernetes.io/pod-deletion-cost]"
    assert paths(updated(deployment(template=odd), deployment())) == [path]
    assert updated(deployment(template=odd, replicas=3), deployment(template=odd)) == []


def test_a_status_counts_no_more_than_there_are_and_never_back() -> None:
    old = with_status(deployment(), collision_count=2)
    new = with_status(deployment(), replicas=1, updated_replicas=2, collision_count=1)
    assert status_updated(new, old) == [
        "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.collisionCount: Invalid value: 1: cannot be decremented",
    ]
