"""Ending containers. Order and hooks of a whole pod are in test_worker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dray.agent.pods.checks import Checker
from dray.agent.pods.hooks import Hooks
from dray.agent.pods.plan import Kill, KillReason
from dray.agent.pods.pod_state import Look
from dray.agent.pods.stopping import Stopper, grace_of
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import ContainerConfig, PodIdentity, SandboxConfig
from dray.api.carried import write_part
from dray.api.core import Container, Pod, PodSpec
from dray.api.core.parts import ExecAction, Lifecycle, LifecycleHandler, Probe
from dray.api.meta import ObjectMeta
from dray.testing import FakeClock
from tests.unit.agent.pods.stage import Recorder

ID = PodIdentity("d", "p", "u")


@pytest.mark.parametrize(
    ("deletion", "asked", "expected"), [(None, None, 30), (None, 5, 5), (0, 5, 0), (60, 5, 60)]
)
def test_a_deletion_says_how_long_a_pod_may_take(
    deletion: int | None, asked: int | None, expected: float
) -> None:
    pod = Pod(
        metadata=ObjectMeta(deletion_grace_period_seconds=deletion),
        spec=PodSpec(termination_grace_period_seconds=asked),
    )
    assert grace_of(pod) == expected


class WatchedRuntime(MemoryRuntime):
    """Notes what it is asked to stop."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        super().__init__(self.clock)
        self.stops: list[tuple[str, float]] = []
        self.failing = ""

    async def stop_container(self, container_id: str, grace_seconds: float) -> None:
        self.stops.append((container_id, grace_seconds))
        if container_id == self.failing:
            raise RuntimeFailed("will not die", reason="")
        await super().stop_container(container_id, grace_seconds)


async def prepared(runtime: WatchedRuntime, *names: str) -> Any:
    await runtime.run_sandbox(SandboxConfig(ID, 0, "p", ""))
    box = (await runtime.list_sandboxes())[0]
    for name in names:
        container_id = await runtime.create_container(box, ContainerConfig(name, 0, "i"))
        await runtime.start_container(container_id)
    return Look([box], await runtime.list_containers()).state(ID.uid)


def stopper(runtime: WatchedRuntime, events: Recorder) -> Stopper:
    hooks = Hooks(Checker(runtime, clock=runtime.clock), clock=runtime.clock)
    return Stopper(runtime, hooks, events, clock=runtime.clock)


def test_everything_gets_a_minimum_of_time() -> None:
    async def scenario() -> None:
        runtime, events = WatchedRuntime(), Recorder()
        state = await prepared(runtime, "a", "b")
        pod = Pod(spec=PodSpec(containers=(Container(name="a"), Container(name="b"))))
        await stopper(runtime, events).stop_all(pod, state, 0)
        assert sorted(grace for _, grace in runtime.stops) == [2, 2]
        assert sorted(events.messages("Killing")) == [
            "Stopping container a",
            "Stopping container b",
        ]

    asyncio.run(scenario())


def test_one_that_will_not_end_does_not_keep_the_others() -> None:
    async def scenario() -> None:
        runtime = WatchedRuntime()
        state = await prepared(runtime, "a", "b")
        runtime.failing = state.latest("a").id
        pod = Pod(spec=PodSpec(containers=(Container(name="a"), Container(name="b"))))
        with pytest.raises(RuntimeFailed, match="will not die"):
            await stopper(runtime, Recorder()).stop_all(pod, state, 5)
        assert len(runtime.stops) == 2

    asyncio.run(scenario())


def test_a_probe_may_have_a_grace_period_of_its_own() -> None:
    async def scenario() -> None:
        runtime, events = WatchedRuntime(), Recorder()
        state = await prepared(runtime, "a")
        probe = Probe(exec=ExecAction(command=("x",)), termination_grace_period_seconds=7)
        container = Container(name="a", liveness_probe=write_part(probe))
        pod = Pod(spec=PodSpec(containers=(container,), termination_grace_period_seconds=60))
        kill = Kill(state.latest("a"), KillReason.LIVENESS_PROBE, "unwell")
        await stopper(runtime, events).kill(pod, state, kill)
        assert [grace for _, grace in runtime.stops] == [7]
        assert events.messages("Killing") == ["unwell"]

    asyncio.run(scenario())


def test_stopping_again_with_less_time_runs_no_hook_twice() -> None:
    async def scenario() -> None:
        runtime, events = WatchedRuntime(), Recorder()
        state = await prepared(runtime, "a")
        runs: list[str] = []
        execute = runtime.execute

        async def counted(container_id: str, *arguments: Any, **options: Any) -> Any:
            runs.append(container_id)
            await runtime.clock.sleep(100)
            return await execute(container_id, *arguments, **options)

        runtime.execute = counted  # type: ignore[method-assign] # counts
        hook = Lifecycle(pre_stop=LifecycleHandler(exec=ExecAction(command=("bye",))))
        container = Container(name="a", lifecycle=write_part(hook))
        pod = Pod(spec=PodSpec(containers=(container,)))
        stop = stopper(runtime, events)
        first = asyncio.ensure_future(stop.stop_all(pod, state, 30))
        for _ in range(10):
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await stop.stop_all(pod, state, 1)
        assert len(runs) == 1
        assert events.reasons == ["Killing"]

    asyncio.run(scenario())
