"""What pods run is ended with their cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from dray.agent.pods.stopping import MINIMUM_GRACE_SECONDS
from dray.agent.runtimes.failures import RUN_CONTAINER_ERROR, RuntimeFailed
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import (
    ContainerConfig,
    ContainerState,
    PodIdentity,
    SandboxConfig,
)
from dray.api.carried import write_part
from dray.api.core import Container, Pod, PodSpec
from dray.api.core.parts import Lifecycle, LifecycleHandler, SleepAction
from dray.api.meta import ObjectMeta
from dray.cli.embedded.pod_processes import GRACE_SECONDS_MAX, KILL_SECONDS, end_containers
from dray.clock import SystemClock
from dray.testing import FakeClock
from dray.testing.runtime_suite import POD
from tests.unit.agent.runtimes.process.hosts import host


class Stubborn(MemoryRuntime):
    """Ends containers as told: at once, only when killed, never, or with an error."""

    def __init__(self, clock: FakeClock, how: str) -> None:
        super().__init__(clock)
        self.how = how
        self.graces: list[float] = []

    async def stop_container(self, container_id: str, grace_seconds: float) -> None:
        self.graces.append(grace_seconds)
        if self.how == "broken":
            raise RuntimeFailed("it is broken", reason=RUN_CONTAINER_ERROR)
        if self.how == "never" or (self.how == "killed" and grace_seconds):
            await asyncio.Event().wait()
        await super().stop_container(container_id, grace_seconds)


def pod(uid: str, grace_seconds: int, pre_stop: LifecycleHandler | None = None) -> Pod:
    lifecycle = write_part(Lifecycle(pre_stop=pre_stop))
    container = Container(name="main", image="image", lifecycle=lifecycle)
    spec = PodSpec(containers=(container,), termination_grace_period_seconds=grace_seconds)
    metadata = ObjectMeta(namespace="default", name=f"pod-{uid}", uid=uid)
    return Pod(metadata=metadata, spec=spec)


async def containers(runtime: MemoryRuntime, *uids: str) -> None:
    for uid in uids:
        pod = PodIdentity("default", f"pod-{uid}", uid)
        await runtime.run_sandbox(SandboxConfig(pod, 0, "host", "/nonexistent"))
        sandbox = next(one for one in await runtime.list_sandboxes() if one.pod == pod)
        made = await runtime.create_container(sandbox, ContainerConfig("main", 0, "image"))
        await runtime.start_container(made)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 10))


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("pods", "used"),
    [
        pytest.param([pod("a", 3), pod("b", 5)], [3.0, 5.0], id="each-its-own"),
        pytest.param(
            [pod("a", 3600), pod("b", 0)],
            [MINIMUM_GRACE_SECONDS, GRACE_SECONDS_MAX],
            id="bounded",
        ),
        pytest.param([], [GRACE_SECONDS_MAX] * 2, id="unknown-pods"),
    ],
)
def test_containers_end_within_their_grace(pods: Sequence[Pod], used: list[float]) -> None:
    async def scenario() -> None:
        runtime = Stubborn(FakeClock(), "at once")
        await containers(runtime, "a", "b")
        assert await end_containers(runtime, pods, FakeClock()) == 2
        assert sorted(runtime.graces) == used
        states = {one.state for one in await runtime.list_containers()}
        assert states == {ContainerState.EXITED}
        assert await end_containers(runtime, pods, FakeClock()) == 0

    run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["known-pod", "unknown-pod"])
def test_a_container_that_is_about_to_run_is_ended_too(known: bool) -> None:
    async def scenario() -> None:
        async with host() as here:
            made = await here.create("sleep", "1000")
            leaving = asyncio.ensure_future(here.runtime.start_container(made))
            await asyncio.sleep(0)
            leaving.cancel()  # as an agent that is ended; its container starts all the same
            await asyncio.wait((leaving,))
            pods = [pod(POD.uid, 1)] if known else []
            await end_containers(here.runtime, pods, SystemClock())
            (left,) = await here.runtime.list_containers()
            assert left.state is ContainerState.EXITED

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_hooks_run_before_their_containers_end() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        runtime = Stubborn(clock, "at once")
        await containers(runtime, "a")
        sleeping = pod("a", 10, LifecycleHandler(sleep=SleepAction(seconds=4)))
        ending = asyncio.ensure_future(end_containers(runtime, [sleeping], clock))
        await turns()
        clock.advance(3.9)
        await turns()
        assert not runtime.graces
        clock.advance(0.1)
        assert await ending == 1
        assert runtime.graces == [6.0]

    run(scenario())


def test_hooks_are_not_waited_for_in_a_hurry() -> None:
    async def scenario() -> None:
        clock, hurry = FakeClock(), asyncio.Event()
        runtime = Stubborn(clock, "at once")
        await containers(runtime, "a")
        sleeping = pod("a", 10, LifecycleHandler(sleep=SleepAction(seconds=4)))
        hurry.set()
        assert await end_containers(runtime, [sleeping], clock, hurry=hurry) == 1
        assert runtime.graces == [0.0]

    run(scenario())


def test_a_hook_that_fails_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        runtime = Stubborn(FakeClock(), "at once")
        await containers(runtime, "a")
        failing = pod("a", 10, LifecycleHandler())
        assert await end_containers(runtime, [failing], FakeClock()) == 1

    run(scenario())
    assert "pod default/pod-a, spec.containers{main}: FailedPreStopHook" in caplog.text


def test_patience_ends_when_it_is_told_to() -> None:
    async def scenario() -> None:
        runtime, hurry = Stubborn(FakeClock(), "killed"), asyncio.Event()
        clock = FakeClock()
        await containers(runtime, "a")
        ending = asyncio.ensure_future(end_containers(runtime, (), clock, hurry=hurry))
        await turns()
        assert not ending.done()
        hurry.set()
        await turns()
        clock.advance(GRACE_SECONDS_MAX + KILL_SECONDS + 1)
        assert await ending == 1
        assert runtime.graces == [GRACE_SECONDS_MAX, 0.0]
        (one,) = await runtime.list_containers()
        assert one.state is ContainerState.EXITED

    run(scenario())


@pytest.mark.parametrize(
    ("how", "told"), [("never", "cannot be ended"), ("broken", "it is broken")]
)
@pytest.mark.parametrize(
    ("pods", "what"),
    [
        pytest.param([pod("a", 1)], "pod default/pod-a", id="known"),
        pytest.param([], "container main of pod default/pod-a", id="unknown"),
    ],
)
def test_what_cannot_be_ended_is_told_of_and_left(
    how: str, told: str, pods: Sequence[Pod], what: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        runtime = Stubborn(clock, how)
        await containers(runtime, "a")
        ending = asyncio.ensure_future(end_containers(runtime, pods, clock))
        await turns()
        clock.advance(GRACE_SECONDS_MAX + KILL_SECONDS + 0.1)
        assert await ending == 1

    run(scenario())
    assert what in caplog.text
    assert told in caplog.text


def test_containers_of_others_are_left_alone_where_the_runtime_is_shared() -> None:
    async def scenario() -> None:
        runtime = Stubborn(FakeClock(), "at once")
        await containers(runtime, "ours", "theirs")
        assert await end_containers(runtime, [pod("ours", 1)], FakeClock(), others=False) == 1
        states = {one.pod.uid: one.state for one in await runtime.list_containers()}
        assert states["ours"] is ContainerState.EXITED
        assert states["theirs"] is ContainerState.RUNNING

    run(scenario())
