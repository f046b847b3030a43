"""Looking at the runtime for all pods at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dray.agent.pods.observer import Observer
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import PodIdentity, Sandbox, SandboxConfig
from dray.testing import FakeClock

POD = PodIdentity("default", "web", "uid")


class SlowRuntime(MemoryRuntime):
    """Answers when told to."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.gate = asyncio.Event()
        self.looks = 0

    async def list_sandboxes(self) -> Sequence[Sandbox]:
        self.looks += 1
        found = await super().list_sandboxes()
        await self.gate.wait()
        return found


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_those_who_look_at_the_same_time_share_a_look_that_began_after_they_asked() -> None:
    async def scenario() -> None:
        runtime = SlowRuntime()
        observer = Observer(runtime)
        first = asyncio.ensure_future(observer.observe(POD.uid))
        await settle()
        await runtime.run_sandbox(SandboxConfig(POD, 0, "web", ""))
        later = [asyncio.ensure_future(observer.observe(POD.uid)) for _ in range(10)]
        await settle()
        runtime.gate.set()
        # The first began to look before there was anything to see, the others did not.
        assert (await first).sandboxes == ()
        for one in later:
            assert len((await one).sandboxes) == 1
        assert runtime.looks == 2

    asyncio.run(scenario())


def test_one_who_gives_up_leaves_the_others_their_look() -> None:
    async def scenario() -> None:
        runtime = SlowRuntime()
        observer = Observer(runtime)
        first = asyncio.ensure_future(observer.observe(POD.uid))
        second = asyncio.ensure_future(observer.observe(POD.uid))
        await settle()
        first.cancel()
        runtime.gate.set()
        assert (await second).sandboxes == ()

    asyncio.run(scenario())
