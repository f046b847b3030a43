"""Deployments and their replica sets, as values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from dray.api.apps import (
    Deployment,
    DeploymentSpec,
    DeploymentStatus,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicaSetStatus,
    RollingUpdateDeployment,
)
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.controllers.deployments.family import DESIRED_REPLICAS, MAX_REPLICAS
from tests.unit.controllers.workloads import make_template

__all__ = ["NOW", "make_deployment", "make_replica_set"]

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make_deployment(
    replicas: int = 10,
    *,
    surge: int | str = 3,
    unavailable: int | str = 2,
    strategy: str = "RollingUpdate",
    status: DeploymentStatus | None = None,
    **spec: Any,
) -> Deployment:
    update = RollingUpdateDeployment(max_surge=surge, max_unavailable=unavailable)
    rolling = strategy == "RollingUpdate"
    return Deployment(
        metadata=ObjectMeta(name="web", namespace="default", uid="web", generation=1),
        spec=DeploymentSpec(
            replicas=replicas,
            template=make_template({"app": "web"}, image="new"),
            strategy=DeploymentStrategy(type=strategy, rolling_update=update if rolling else None),
            **spec,
        ),
        status=status or DeploymentStatus(),
    )


def make_replica_set(
    name: str,
    replicas: int,
    *,
    available: int | None = None,
    desired: int | None = None,
    most: int | None = None,
    image: str = "",
    age: float = 0,
    annotations: dict[str, str] | None = None,
    **status: Any,
) -> ReplicaSet:
    """A replica set whose pods are all available, unless it is said how many are."""
    noted = dict(annotations or {})
    if desired is not None:
        noted[DESIRED_REPLICAS] = str(desired)
    if most is not None:
        noted[MAX_REPLICAS] = str(most)
    count = replicas if available is None else available
    return ReplicaSet(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=name,
            annotations=noted,
            creation_timestamp=Time(NOW - timedelta(seconds=age)),
        ),
        spec=ReplicaSetSpec(
            replicas=replicas, template=make_template({"app": "web"}, image=image or name)
        ),
        status=ReplicaSetStatus(
            **{
                "replicas": replicas,
                "ready_replicas": count,
                "available_replicas": count,
                "observed_generation": 1,
                "terminating_replicas": 0,
                **status,
            }
        ),
    )
