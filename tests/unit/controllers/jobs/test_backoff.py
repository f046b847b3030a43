"""How long jobs wait after failures."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dray.api.core import (
    Container,
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
)
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.controllers.jobs.backoff import NO_FAILURES, Backoff, finished_at
from tests.unit.controllers.jobs.job_parts import NOW, make_pod


def ago(seconds: float) -> Time:
    return Time(NOW - timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (99, 600)]
)
def test_it_doubles_up_to_ten_minutes(failures: int, seconds: float) -> None:
    assert Backoff(failures, NOW).remaining_seconds(NOW) == seconds
    assert Backoff(failures, NOW).remaining_seconds(NOW + timedelta(seconds=seconds)) == 0


def test_failures_add_up_and_the_last_of_them_counts() -> None:
    failed = [make_pod("a", "Failed", ago=9), make_pod("b", "Failed", ago=3)]
    assert Backoff(2, NOW).after([], failed) == Backoff(4, ago(3).instant)
    assert Backoff(2, NOW).after([], []) == Backoff(2, NOW)


def test_a_success_makes_failures_before_it_past() -> None:
    succeeded = [make_pod("s", "Succeeded", ago=5)]
    failed = [make_pod("a", "Failed", ago=9), make_pod("b", "Failed", ago=3)]
    assert Backoff(7, NOW).after(succeeded, failed) == Backoff(1, ago(3).instant)
    assert Backoff(7, NOW).after(succeeded, failed[:1]) == NO_FAILURES
    assert Backoff(7, NOW).after(succeeded, []) == NO_FAILURES


def ended(name: str, seconds: float | None) -> ContainerStatus:
    if seconds is None:
        return ContainerStatus(name=name)
    terminated = ContainerStateTerminated(finished_at=ago(seconds))
    return ContainerStatus(name=name, state=ContainerState(terminated=terminated))


READY = PodCondition(type="Ready", status="False", last_transition_time=ago(50))
SPEC = PodSpec(init_containers=(Container(name="side", restart_policy="Always"),))


@pytest.mark.parametrize(
    ("metadata", "status", "seconds"),
    [
        pytest.param(
            {}, {"container_statuses": (ended("a", 9), ended("b", 4))}, 4, id="containers"
        ),
        pytest.param(
            {},
            {
                "container_statuses": (ended("a", 9),),
                "init_container_statuses": (ended("init", 1), ended("side", 2)),
            },
            2,
            id="sidecars-but-no-other-init-containers",
        ),
        pytest.param(
            {},
            {"container_statuses": (ended("a", 9), ended("b", None)), "conditions": (READY,)},
            50,
            id="not-ready-any-more",
        ),
        pytest.param(
            {"deletion_timestamp": ago(-30), "deletion_grace_period_seconds": 40},
            {},
            10,
            id="deleted",
        ),
        pytest.param({}, {}, 100, id="made"),
    ],
)
def test_when_a_pod_ended_is_told_by_the_best_it_says(
    metadata: dict[str, Any], status: dict[str, Any], seconds: float
) -> None:
    pod = Pod(
        metadata=ObjectMeta(creation_timestamp=ago(100), **metadata),
        spec=SPEC,
        status=PodStatus(**status),
    )
    assert finished_at(pod) == ago(seconds).instant
