"""What is said about rollouts."""

from __future__ import annotations

from datetime import timedelta

from dray.api.apps import DeploymentCondition, DeploymentStatus, ReplicaSetCondition
from dray.controllers.deployments.conditions import find_condition, progressing
from dray.controllers.deployments.family import Family
from dray.controllers.deployments.status import (
    current_status,
    has_deadline,
    is_complete,
    rollout_status,
    seconds_to_timeout,
)
from tests.unit.controllers.deployments.deployment_parts import (
    NOW,
    make_deployment,
    make_replica_set,
)

NEW = make_replica_set("new", 4, available=3, terminating_replicas=1)
OLD = make_replica_set("old", 2, terminating_replicas=2)


def progress(status: DeploymentStatus) -> DeploymentCondition | None:
    return find_condition(status.conditions, "Progressing")


def test_counts_are_those_of_all_replica_sets() -> None:
    status = current_status(make_deployment(5, unavailable=0), Family(NEW, [OLD]), NOW)
    assert (status.replicas, status.updated_replicas, status.ready_replicas) == (6, 4, 5)
    assert (status.available_replicas, status.unavailable_replicas) == (5, 1)
    assert status.terminating_replicas == 3


def test_what_terminates_is_not_known_while_one_does_not_say() -> None:
    silent = make_replica_set("silent", 1, terminating_replicas=None)
    unseen = make_replica_set("unseen", 1, terminating_replicas=None, observed_generation=0)
    deployment = make_deployment(5)
    assert current_status(deployment, Family(NEW, [silent]), NOW).terminating_replicas is None
    assert current_status(deployment, Family(NEW, [unseen]), NOW).terminating_replicas == 1


def test_enough_are_available_if_no_more_are_missing_than_may() -> None:
    for unavailable, expected in ((2, "True"), (1, "False")):
        deployment = make_deployment(5, unavailable=unavailable)
        status = current_status(deployment, Family(NEW, []), NOW)
        condition = find_condition(status.conditions, "Available")
        assert condition is not None
        assert condition.status == expected


def test_a_rollout_is_complete_when_all_is_new_and_available() -> None:
    deployment = make_deployment(4)
    done = current_status(deployment, Family(make_replica_set("new", 4), []), NOW)
    assert is_complete(deployment, done)
    assert not is_complete(deployment, current_status(deployment, Family(NEW, []), NOW))


def test_progress_is_any_step_forward() -> None:
    deployment = make_deployment(4, progress_deadline_seconds=60)
    family = Family(NEW, [OLD])
    stored = DeploymentStatus(
        replicas=6, updated_replicas=4, ready_replicas=5, available_replicas=4
    )
    condition = progress(rollout_status(deployment, family, stored, NOW))
    assert condition is not None
    assert (condition.status, condition.reason) == ("True", "ReplicaSetUpdated")
    assert condition.message == 'ReplicaSet "new" is progressing.'


def test_without_a_step_time_runs_out() -> None:
    begun = progressing("True", "NewReplicaSetCreated", "", NOW)
    family = Family(NEW, [OLD])
    stored = DeploymentStatus(
        replicas=6,
        updated_replicas=4,
        ready_replicas=5,
        available_replicas=5,
        conditions=(begun,),
    )
    deployment = make_deployment(4, progress_deadline_seconds=60, status=stored)
    for seconds, reason in ((60, "NewReplicaSetCreated"), (61, "ProgressDeadlineExceeded")):
        later = NOW + timedelta(seconds=seconds)
        condition = progress(rollout_status(deployment, family, stored, later))
        assert condition is not None
        assert condition.reason == reason
    assert seconds_to_timeout(deployment, stored, NOW + timedelta(seconds=20)) == 41


def test_a_deadline_so_late_is_none() -> None:
    assert not has_deadline(make_deployment(progress_deadline_seconds=2**31 - 1))
    assert not has_deadline(make_deployment(progress_deadline_seconds=None))
    deployment = make_deployment(
        4,
        progress_deadline_seconds=None,
        status=DeploymentStatus(conditions=(progressing("True", "x", "", NOW),)),
    )
    status = rollout_status(deployment, Family(NEW, []), deployment.status, NOW)
    assert progress(status) is None
    assert seconds_to_timeout(deployment, deployment.status, NOW) is None


def test_failures_of_the_new_replica_set_come_first() -> None:
    def failing(name: str) -> ReplicaSetCondition:
        return ReplicaSetCondition(type="ReplicaFailure", status="True", message=name)

    new = make_replica_set("new", 1, conditions=(failing("new"),))
    old = make_replica_set("old", 1, conditions=(failing("old"),))
    deployment = make_deployment(1)
    for family, message in ((Family(new, [old]), "new"), (Family(NEW, [old]), "old")):
        status = rollout_status(deployment, family, deployment.status, NOW)
        condition = find_condition(status.conditions, "ReplicaFailure")
        assert condition is not None
        assert condition.message == message
