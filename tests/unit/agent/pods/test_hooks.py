"""What a container wants done at either end."""

from __future__ import annotations

import asyncio

from dray.agent.pods.checks import Checker
from dray.agent.pods.hooks import Hooks, lifecycle_of
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import ContainerConfig, PodIdentity, SandboxConfig
from dray.api.carried import write_part
from dray.api.core import Container
from dray.api.core.parts import (
    ExecAction,
    HTTPGetAction,
    Lifecycle,
    LifecycleHandler,
    SleepAction,
)
from dray.testing import FakeClock

MAIN = Container(name="main")


def test_hooks_are_read_from_what_the_container_carries() -> None:
    hook = LifecycleHandler(sleep=SleepAction(seconds=1))
    carried = write_part(Lifecycle(pre_stop=hook))
    assert lifecycle_of(Container(name="main", lifecycle=carried)).pre_stop == hook
    assert lifecycle_of(MAIN) == Lifecycle()


def test_each_kind_of_hook_runs() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        runtime = MemoryRuntime(clock)
        pod = PodIdentity("d", "p", "u")
        await runtime.run_sandbox(SandboxConfig(pod, 0, "p", ""))
        box = (await runtime.list_sandboxes())[0]
        container_id = await runtime.create_container(box, ContainerConfig("main", 0, "image"))
        await runtime.start_container(container_id)
        hooks = Hooks(Checker(runtime, clock=clock), clock=clock)
        for handler in (
            LifecycleHandler(exec=ExecAction(command=("true",))),
            LifecycleHandler(http_get=HTTPGetAction(path="/", port=80)),
        ):
            answer = await hooks.run(handler, MAIN, container_id, box, 10)
            assert answer.success
        nap = LifecycleHandler(sleep=SleepAction(seconds=60))
        sleeping = asyncio.ensure_future(hooks.run(nap, MAIN, container_id, box, 5))
        await asyncio.sleep(0)
        clock.advance(5)
        assert (await sleeping).success
        assert not (await hooks.run(LifecycleHandler(), MAIN, container_id, box, 1)).success

    asyncio.run(scenario())
