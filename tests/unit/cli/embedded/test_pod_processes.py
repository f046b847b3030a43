"""What pods run is ended with their cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import pytest

from dray.agent.runtimes.failures import RUN_CONTAINER_ERROR, RuntimeFailed
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import (
    ContainerConfig,
    ContainerState,
    PodIdentity,
    SandboxConfig,
)
from dray.cli.embedded.pod_processes import GRACE_SECONDS_MAX, KILL_SECONDS, end_containers
from dray.testing import FakeClock


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
    ("graces", "used"),
    [
        pytest.param({"a": 2.0, "b": 5.0}, [2.0, 5.0], id="each-its-own"),
        pytest.param({"a": 3600.0, "b": 0.0}, [0.0, GRACE_SECONDS_MAX], id="bounded"),
        pytest.param({}, [GRACE_SECONDS_MAX] * 2, id="unknown-pods"),
    ],
)
def test_containers_end_within_their_grace(graces: Mapping[str, float], used: list[float]) -> None:
    async def scenario() -> None:
        runtime = Stubborn(FakeClock(), "at once")
        await containers(runtime, "a", "b")
        assert await end_containers(runtime, graces, FakeClock()) == 2
        assert sorted(runtime.graces) == used
        states = {one.state for one in await runtime.list_containers()}
        assert states == {ContainerState.EXITED}
        assert await end_containers(runtime, graces, FakeClock()) == 0

    run(scenario())


def test_patience_ends_when_it_is_told_to() -> None:
    async def scenario() -> None:
        runtime, hurry = Stubborn(FakeClock(), "killed"), asyncio.Event()
        clock = FakeClock()
        await containers(runtime, "a")
        ending = asyncio.ensure_future(end_containers(runtime, {}, clock, hurry=hurry))
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
def test_what_cannot_be_ended_is_told_of_and_left(
    how: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        runtime = Stubborn(clock, how)
        await containers(runtime, "a")
        ending = asyncio.ensure_future(end_containers(runtime, {"a": 1.0}, clock))
        await turns()
        clock.advance(1.0 + KILL_SECONDS + 0.1)
        assert await ending == 1

    run(scenario())
    assert "container main of pod default/pod-a" in caplog.text
    assert told in caplog.text


def test_containers_of_others_are_left_alone_where_the_runtime_is_shared() -> None:
    async def scenario() -> None:
        runtime = Stubborn(FakeClock(), "at once")
        await containers(runtime, "ours", "theirs")
        assert await end_containers(runtime, {"ours": 1.0}, FakeClock(), others=False) == 1
        states = {one.pod.uid: one.state for one in await runtime.list_containers()}
        assert states["ours"] is ContainerState.EXITED
        assert states["theirs"] is ContainerState.RUNNING

    run(scenario())
