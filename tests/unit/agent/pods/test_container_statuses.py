"""What a status says of each container."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dray.agent.pods.container_statuses import (
    ContainerFacts,
    Waiting,
    container_statuses,
    settle,
)
from dray.agent.pods.pod_state import NOTHING, PodState
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.agent.runtimes.runtime import ContainerState as RunState
from dray.agent.runtimes.runtime import PodIdentity, Sandbox
from dray.api.carried import write_part
from dray.api.core import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodSpec,
    ResourceHealth,
    ResourceStatus,
)
from dray.api.core.parts import VolumeMount
from dray.api.wire import Time

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ID = PodIdentity("default", "web", "uid")
BOX = Sandbox("box", ID, 0, ready=True, created_at=NOW)
MAIN = Container(name="main", image="image")
POD = Pod(spec=PodSpec(containers=(MAIN,), restart_policy="Always"))
NO_FACTS = ContainerFacts()


def run(state: RunState, attempt: int = 0, name: str = "main", **fields: Any) -> RunContainer:
    return RunContainer(
        id=f"memory://{name}-{attempt}",
        sandbox_id="box",
        pod=ID,
        name=name,
        attempt=attempt,
        state=state,
        image="image",
        image_id="memory://image",
        started_at=NOW,
        **fields,
    )


def shown(
    *found: RunContainer,
    pod: Pod = POD,
    before: tuple[ContainerStatus, ...] = (),
    facts: ContainerFacts = NO_FACTS,
) -> ContainerStatus:
    state = PodState.of((BOX,), found) if found else NOTHING
    return container_statuses(pod, pod.spec.containers or (), state, before, facts)[0]


def test_a_container_that_was_never_made_is_being_created() -> None:
    status = shown()
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "ContainerCreating"
    assert (status.ready, status.started, status.restart_count) == (False, False, 0)
    pod = Pod(spec=PodSpec(containers=(MAIN,), init_containers=(Container(name="i"),)))
    waiting = shown(pod=pod).state.waiting
    assert waiting is not None
    assert waiting.reason == "PodInitializing"


def test_a_container_that_is_made_and_not_started_is_still_being_created() -> None:
    waiting = shown(run(RunState.CREATED)).state.waiting
    assert waiting is not None
    assert waiting.reason == "ContainerCreating"


def test_a_running_container_shows_since_when_and_from_what() -> None:
    status = shown(run(RunState.RUNNING, 2))
    assert status.state.running == ContainerStateRunning(started_at=Time(NOW))
    assert (status.container_id, status.image_id) == ("memory://main-2", "memory://image")
    assert (status.restart_count, status.ready, status.started) == (2, True, True)


def test_the_container_before_is_the_last_state() -> None:
    status = shown(
        run(RunState.RUNNING, 1),
        run(RunState.EXITED, 0, exit_code=3, reason="Error", finished_at=NOW),
    )
    ended = status.last_state.terminated
    assert ended is not None
    assert (ended.exit_code, ended.reason, ended.container_id) == (3, "Error", "memory://main-0")


def test_why_a_container_waits_is_shown_while_it_is_to_run_again() -> None:
    facts = ContainerFacts(waiting={"main": Waiting("CrashLoopBackOff", "back-off 10s")})
    status = shown(run(RunState.EXITED, exit_code=1), facts=facts)
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "CrashLoopBackOff"
    assert status.last_state.terminated is not None
    never = Pod(spec=PodSpec(containers=(MAIN,), restart_policy="Never"))
    assert shown(run(RunState.EXITED, exit_code=1), pod=never, facts=facts).state.terminated


def test_a_container_killed_to_be_restarted_never_shows_as_terminated() -> None:
    pod = Pod(spec=PodSpec(containers=(MAIN,), restart_policy="OnFailure"))
    facts = ContainerFacts(to_restart=frozenset({"memory://main-0"}))
    status = shown(run(RunState.EXITED, exit_code=0), pod=pod, facts=facts)
    assert status.state.terminated is None
    assert status.last_state.terminated is not None


def test_last_words_are_shown() -> None:
    facts = ContainerFacts(messages={"memory://main-0": "out of cheese"})
    ended = shown(run(RunState.EXITED, exit_code=1), facts=facts).state.terminated
    assert ended is not None
    assert ended.message == "out of cheese"


def test_a_container_that_vanished_did_run_once() -> None:
    before = ContainerStatus(
        name="main", state=ContainerState(running=ContainerStateRunning()), restart_count=1
    )
    status = shown(before=(before,))
    ended = status.last_state.terminated
    assert ended is not None
    assert (ended.reason, ended.exit_code) == ("ContainerStatusUnknown", 137)
    assert status.restart_count == 2


def test_a_container_that_was_forgotten_has_ended() -> None:
    pod = Pod(spec=PodSpec(containers=(MAIN,), restart_policy="Never"))
    running = ContainerState(running=ContainerStateRunning(started_at=Time(NOW)))
    before = ContainerStatus(
        name="main", state=running, container_id="memory://main-0", ready=True, started=True
    )
    status = shown(pod=pod, before=(before,))
    ended = status.state.terminated
    assert ended is not None
    assert (ended.reason, ended.exit_code) == ("ContainerStatusUnknown", 137)
    assert (ended.started_at, ended.container_id) == (Time(NOW), "memory://main-0")
    assert (status.ready, status.started, status.restart_count) == (False, False, 0)
    assert shown(pod=pod, before=(status,)).state == status.state


def test_how_a_removed_container_ended_is_remembered() -> None:
    ended = ContainerState(terminated=ContainerStateTerminated(exit_code=9, container_id="x"))
    before = ContainerStatus(name="main", state=ended, container_id="x", restart_count=4)
    assert shown(before=(before,)).state == ended
    again = shown(run(RunState.RUNNING, 5), before=(before,))
    assert (again.last_state, again.restart_count) == (ended, 5)


def test_while_all_containers_restart_a_removed_one_waits() -> None:
    before = ContainerStatus(name="main", state=ContainerState(running=ContainerStateRunning()))
    status = shown(before=(before,), facts=ContainerFacts(restarting_all=True))
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "RestartingAllContainers"
    assert status.last_state.terminated is not None
    assert status.last_state.terminated.exit_code == 137


def test_an_init_container_nobody_remembers_has_completed() -> None:
    pod = Pod(spec=PodSpec(containers=(MAIN,), init_containers=(Container(name="i"),)))
    state = PodState.of((BOX,), (run(RunState.RUNNING),))
    status = container_statuses(pod, pod.spec.init_containers, state, (), NO_FACTS, init=True)[0]
    assert status.state.terminated is not None
    assert (status.state.terminated.exit_code, status.ready) == (0, True)


def test_devices_and_mounts_are_shown() -> None:
    mounts = (VolumeMount(name="data", mount_path="/data", read_only=True),)
    main = Container(name="main", image="image", volume_mounts=write_part(mounts))
    health = (ResourceStatus(name="claim:gpu", resources=(ResourceHealth(resource_id="0"),)),)
    status = shown(
        pod=Pod(spec=PodSpec(containers=(main,))), facts=ContainerFacts(devices=lambda _: health)
    )
    assert status.allocated_resources_status == health
    assert status.volume_mounts[0].recursive_read_only == "Disabled"


def test_what_is_not_known_to_have_ended_has_ended_somehow() -> None:
    running = shown(run(RunState.RUNNING))
    done = shown(run(RunState.EXITED, exit_code=0))
    settled = settle((running, done))
    assert settled[1] is done
    assert settled[0].state.terminated is not None
    assert settled[0].state.terminated.reason == "ContainerStatusUnknown"
    assert not settled[0].ready
