"""What is asked of pods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dray.api.core import Pod, PodCondition, PodStatus
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.controllers.pod_states import (
    is_active,
    is_available,
    is_ready,
    is_terminal,
    is_terminating,
    ready_since,
    seconds_to_available,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make_pod(phase: str = "Running", *, going: bool = False, ready: float | None = None) -> Pod:
    conditions: tuple[PodCondition, ...] = ()
    if ready is not None:
        at = Time(NOW - timedelta(seconds=ready))
        conditions = (PodCondition(type="Ready", status="True", last_transition_time=at),)
    return Pod(
        metadata=ObjectMeta(deletion_timestamp=Time(NOW) if going else None),
        status=PodStatus(phase=phase, conditions=conditions),
    )


@pytest.mark.parametrize(
    ("pod", "active", "terminating", "terminal"),
    [
        pytest.param(make_pod("Pending"), True, False, False, id="pending"),
        pytest.param(make_pod(), True, False, False, id="running"),
        pytest.param(make_pod(going=True), False, True, False, id="stopping"),
        pytest.param(make_pod("Failed"), False, False, True, id="failed"),
        pytest.param(make_pod("Succeeded", going=True), False, False, True, id="ended-and-going"),
    ],
)
def test_a_pod_counts_until_it_ends_or_is_asked_to(
    pod: Pod, active: bool, terminating: bool, terminal: bool
) -> None:
    assert (is_active(pod), is_terminating(pod), is_terminal(pod)) == (
        active,
        terminating,
        terminal,
    )


@pytest.mark.parametrize(
    ("ready", "seconds", "available"),
    [
        pytest.param(None, 0, False, id="not-ready"),
        pytest.param(0, 0, True, id="nothing-asked"),
        pytest.param(9, 10, False, id="not-yet"),
        pytest.param(10, 10, True, id="just-now"),
    ],
)
def test_a_pod_is_available_after_being_ready_for_so_long(
    ready: float | None, seconds: int, available: bool
) -> None:
    assert is_available(make_pod(ready=ready), seconds, NOW) is available


def test_a_pod_that_does_not_say_since_when_it_is_ready_is_not_available_for_any_time() -> None:
    pod = Pod(status=PodStatus(conditions=(PodCondition(type="Ready", status="True"),)))
    assert is_ready(pod)
    assert ready_since(pod) is None
    assert not is_available(pod, 1, NOW)


def test_the_next_to_become_available_is_the_one_that_has_been_ready_longest() -> None:
    pods = [make_pod(ready=3), make_pod(ready=8), make_pod(ready=12), make_pod()]
    assert seconds_to_available(pods, 10, NOW) == 2
    assert seconds_to_available(pods[2:], 10, NOW) is None
    assert seconds_to_available(pods, 0, NOW) is None
