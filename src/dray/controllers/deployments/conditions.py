"""The conditions of a deployment, and what makes two of them the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dray.api.apps import (
    DEPLOYMENT_CONDITION_PROGRESSING,
    DeploymentCondition,
    ReplicaSetCondition,
)
from dray.api.wire import Time, replace

__all__ = [
    "find_condition",
    "make_condition",
    "progressing",
    "promoted",
    "with_condition",
    "without_condition",
]

Conditions = tuple[DeploymentCondition, ...]


def make_condition(
    type_: str, status: str, reason: str, message: str, now: datetime
) -> DeploymentCondition:
    time = Time(now)
    return DeploymentCondition(
        type=type_,
        status=status,
        last_update_time=time,
        last_transition_time=time,
        reason=reason,
        message=message,
    )


def progressing(status: str, reason: str, message: str, now: datetime) -> DeploymentCondition:
    """How the rollout goes."""
    return make_condition(DEPLOYMENT_CONDITION_PROGRESSING, status, reason, message, now)


def promoted(condition: ReplicaSetCondition) -> DeploymentCondition:
    """What a replica set says, said by its deployment."""
    return DeploymentCondition(
        type=condition.type,
        status=condition.status,
        last_update_time=condition.last_transition_time,
        last_transition_time=condition.last_transition_time,
        reason=condition.reason,
        message=condition.message,
    )


def find_condition(
    conditions: Sequence[DeploymentCondition], type_: str
) -> DeploymentCondition | None:
    return next((each for each in conditions if each.type == type_), None)


def without_condition(conditions: Conditions, type_: str) -> Conditions:
    return tuple(each for each in conditions if each.type != type_)


def with_condition(
    conditions: Conditions, wanted: DeploymentCondition, *, renewed: bool = False
) -> Conditions:
    """With the condition; one that says the same for the same reason stays, unless renewed."""
    known = find_condition(conditions, wanted.type)
    if known is not None and known.status == wanted.status:
        if known.reason == wanted.reason and not renewed:
            return conditions
        wanted = replace(wanted, last_transition_time=known.last_transition_time)
    return (*without_condition(conditions, wanted.type), wanted)
