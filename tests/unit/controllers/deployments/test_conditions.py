"""Conditions of deployments."""

from __future__ import annotations

from datetime import timedelta

from dray.api.apps import ReplicaSetCondition
from dray.api.wire import Time
from dray.controllers.deployments.conditions import (
    find_condition,
    progressing,
    promoted,
    with_condition,
    without_condition,
)
from tests.unit.controllers.deployments.deployment_parts import NOW

LATER = NOW + timedelta(seconds=9)
KNOWN = progressing("True", "ReplicaSetUpdated", "one", NOW)


def test_what_says_the_same_for_the_same_reason_stays() -> None:
    again = progressing("True", "ReplicaSetUpdated", "two", LATER)
    assert with_condition((KNOWN,), again) == (KNOWN,)


def test_what_is_renewed_keeps_the_time_since_when_it_holds() -> None:
    again = progressing("True", "ReplicaSetUpdated", "two", LATER)
    (renewed,) = with_condition((KNOWN,), again, renewed=True)
    assert (renewed.last_update_time, renewed.last_transition_time) == (Time(LATER), Time(NOW))


def test_what_changed_has_a_new_time() -> None:
    late = progressing("False", "ProgressDeadlineExceeded", "late", LATER)
    assert with_condition((KNOWN,), late) == (late,)
    other = progressing("True", "NewReplicaSetAvailable", "done", LATER)
    (changed,) = with_condition((KNOWN,), other)
    assert changed.last_transition_time == Time(NOW)


def test_conditions_are_found_and_removed_by_type() -> None:
    assert find_condition((KNOWN,), "Progressing") == KNOWN
    assert find_condition((KNOWN,), "Available") is None
    assert without_condition((KNOWN,), "Progressing") == ()


def test_a_replica_set_is_quoted() -> None:
    time = Time(NOW)
    said = ReplicaSetCondition(
        type="ReplicaFailure",
        status="True",
        reason="FailedCreate",
        message="no",
        last_transition_time=time,
    )
    quoted = promoted(said)
    assert (quoted.type, quoted.reason, quoted.message) == ("ReplicaFailure", "FailedCreate", "no")
    assert quoted.last_update_time == quoted.last_transition_time == time
