"""What a deployment says about its rollout: how many pods, whether enough, whether it gets on.

Upstream counterparts: calculateStatus in sync.go, and progress.go.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from dray.api.apps import (
    DEPLOYMENT_CONDITION_AVAILABLE,
    DEPLOYMENT_CONDITION_PROGRESSING,
    DEPLOYMENT_CONDITION_REPLICA_FAILURE,
    REPLICA_SET_CONDITION_REPLICA_FAILURE,
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
)
from dray.api.wire import replace
from dray.controllers.deployments.conditions import (
    find_condition,
    make_condition,
    progressing,
    promoted,
    with_condition,
    without_condition,
)
from dray.controllers.deployments.family import Family, replicas_of
from dray.controllers.deployments.limits import max_unavailable, wanted_replicas

__all__ = [
    "PAUSED",
    "RESUMED",
    "current_status",
    "has_deadline",
    "is_complete",
    "rollout_status",
    "seconds_to_timeout",
]

PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"
_AVAILABLE: Final = "NewReplicaSetAvailable"
_UPDATED: Final = "ReplicaSetUpdated"
_TIMED_OUT: Final = "ProgressDeadlineExceeded"

_NO_DEADLINE: Final = 2**31 - 1


def has_deadline(deployment: Deployment) -> bool:
    """Whether it matters how long a rollout takes."""
    return deployment.spec.progress_deadline_seconds not in (None, _NO_DEADLINE)


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Whether by this status all pods are new and available, and no others are left."""
    wanted = wanted_replicas(deployment)
    counts = (status.updated_replicas, status.replicas, status.available_replicas)
    seen = status.observed_generation >= deployment.metadata.generation
    return seen and counts == (wanted, wanted, wanted)


def current_status(deployment: Deployment, family: Family, now: datetime) -> DeploymentStatus:
    """The counts of now, and whether enough pods are available."""
    statuses = [each.status for each in family.all]
    available = sum(each.available_replicas for each in statuses)
    known = [each for each in statuses if each.observed_generation or each.terminating_replicas]
    terminating = [each.terminating_replicas for each in known]
    enough = available >= wanted_replicas(deployment) - max_unavailable(deployment)
    if enough:
        told = "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
    else:
        told = (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    condition = make_condition(DEPLOYMENT_CONDITION_AVAILABLE, *told, now)
    return DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(each.replicas for each in statuses),
        updated_replicas=family.new.status.replicas if family.new is not None else 0,
        ready_replicas=sum(each.ready_replicas for each in statuses),
        available_replicas=available,
        unavailable_replicas=max(0, sum(map(replicas_of, family.all)) - available),
        terminating_replicas=(
            None if None in terminating else sum(each or 0 for each in terminating)
        ),
        conditions=with_condition(deployment.status.conditions, condition),
        collision_count=deployment.status.collision_count,
    )


def rollout_status(
    deployment: Deployment, family: Family, stored: DeploymentStatus, now: datetime
) -> DeploymentStatus:
    """The status while templates change: it also says whether that gets on.

    Progress is measured against the stored status, which was written when it was last measured.
    """
    status = current_status(deployment, family, now)
    conditions = status.conditions
    if has_deadline(deployment):
        conditions = _with_progress(deployment, family, status, stored, now)
    else:
        conditions = without_condition(conditions, DEPLOYMENT_CONDITION_PROGRESSING)
    failures = [
        promoted(condition)
        for each in (*([family.new] if family.new is not None else []), *family.old)
        for condition in each.status.conditions
        if condition.type == REPLICA_SET_CONDITION_REPLICA_FAILURE
    ]
    if failures:
        conditions = with_condition(conditions, failures[0])
    else:
        conditions = without_condition(conditions, DEPLOYMENT_CONDITION_REPLICA_FAILURE)
    return replace(status, conditions=conditions)


def seconds_to_timeout(
    deployment: Deployment, status: DeploymentStatus, now: datetime
) -> float | None:
    """When a rollout that does not get on is to be looked at again; None if it need not be."""
    condition = find_condition(status.conditions, DEPLOYMENT_CONDITION_PROGRESSING)
    if not has_deadline(deployment) or condition is None or condition.last_update_time is None:
        return None
    if condition.reason in (_TIMED_OUT, _AVAILABLE) or is_complete(deployment, status):
        return None
    seconds = deployment.spec.progress_deadline_seconds or 0
    deadline = condition.last_update_time.instant + timedelta(seconds=seconds)
    # Times on the wire are whole seconds: a second later it is surely over.
    return max(0.0, (deadline - now).total_seconds()) + 1.0


def _with_progress(
    deployment: Deployment,
    family: Family,
    status: DeploymentStatus,
    stored: DeploymentStatus,
    now: datetime,
) -> tuple[DeploymentCondition, ...]:
    conditions = status.conditions
    known = find_condition(conditions, DEPLOYMENT_CONDITION_PROGRESSING)
    reason = known.reason if known is not None else ""
    if status.replicas == status.updated_replicas and reason == _AVAILABLE:
        return conditions  # nothing is being rolled out
    subject = f'Deployment "{deployment.metadata.name}"'
    if family.new is not None:
        subject = f'ReplicaSet "{family.new.metadata.name}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return with_condition(conditions, progressing("True", _AVAILABLE, message, now))
    if _gets_on(status, stored):
        message = f"{subject} is progressing."
        condition = progressing("True", _UPDATED, message, now)
        return with_condition(conditions, condition, renewed=True)
    if reason != _AVAILABLE and _is_late(deployment, known, now):
        message = f"{subject} has timed out progressing."
        return with_condition(conditions, progressing("False", _TIMED_OUT, message, now))
    return conditions


def _gets_on(status: DeploymentStatus, stored: DeploymentStatus) -> bool:
    return (
        status.updated_replicas > stored.updated_replicas
        or status.replicas - status.updated_replicas < stored.replicas - stored.updated_replicas
        or status.ready_replicas > stored.ready_replicas
        or status.available_replicas > stored.available_replicas
    )


def _is_late(deployment: Deployment, known: DeploymentCondition | None, now: datetime) -> bool:
    if known is None or known.last_update_time is None:
        return False
    seconds = deployment.spec.progress_deadline_seconds or 0
    return known.last_update_time.instant + timedelta(seconds=seconds) < now
