"""What a status remembers."""

from __future__ import annotations

from dray.agent.pods.pod_state import NOTHING
from dray.agent.pods.status_memory import attempts, forgotten, was_restarting_all
from dray.api.core import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStatus,
    PodCondition,
    PodStatus,
)

RUNNING = ContainerState(running=ContainerStateRunning())


def ended(code: int) -> ContainerState:
    return ContainerState(terminated=ContainerStateTerminated(exit_code=code))


def test_only_containers_that_ran_have_attempts() -> None:
    status = PodStatus(
        init_container_statuses=(ContainerStatus(name="setup", container_id="x"),),
        container_statuses=(
            ContainerStatus(name="again", last_state=ended(1), restart_count=3),
            ContainerStatus(name="never"),
        ),
    )
    assert attempts(status) == {"setup": 0, "again": 3}


def test_what_ended_and_is_not_shown_any_more_is_forgotten() -> None:
    status = PodStatus(
        init_container_statuses=(ContainerStatus(name="setup", state=ended(0)),),
        container_statuses=(
            ContainerStatus(name="main", state=ended(3)),
            ContainerStatus(name="other", state=RUNNING, last_state=ended(1)),
        ),
    )
    assert forgotten(status, NOTHING) == {"setup": 0, "main": 3}


def test_a_restart_of_all_goes_on_where_the_condition_says_so() -> None:
    def status(value: str) -> PodStatus:
        return PodStatus(conditions=(PodCondition(type="AllContainersRestarting", status=value),))

    assert was_restarting_all(status("True"))
    assert not was_restarting_all(status("False"))
    assert not was_restarting_all(PodStatus())
