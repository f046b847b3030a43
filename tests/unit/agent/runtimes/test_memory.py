"""The runtime that only remembers: the common suite, and what annotations make containers do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dray.agent.runtimes.failures import RuntimeFailed, UnresolvedDevices
from dray.agent.runtimes.memory import MISSING_IMAGES, MemoryRuntime
from dray.agent.runtimes.runtime import (
    Container,
    ContainerConfig,
    ContainerState,
    PodIdentity,
    Runtime,
    Sandbox,
    SandboxConfig,
)
from dray.testing import FakeClock
from dray.testing.runtime_suite import RuntimeSuite

POD = PodIdentity("default", "web", "uid-1")


class TestMemoryRuntime(RuntimeSuite):
    runs_processes = False

    @asynccontextmanager
    async def open_runtime(self, directory: Path) -> AsyncIterator[Runtime]:
        def unresolved(devices: object) -> tuple[str, ...]:
            return tuple(str(device) for device in devices)  # type: ignore[attr-defined] # any

        yield MemoryRuntime(FakeClock(), unresolved=unresolved)


async def start(
    runtime: MemoryRuntime, annotations: Mapping[str, str], *names: str
) -> tuple[Sandbox, list[str]]:
    sandbox_id = await runtime.run_sandbox(
        SandboxConfig(
            POD,
            0,
            "web",
            "/nowhere",
            annotations={f"simulation.dray.dev/{k}": v for k, v in annotations.items()},
        )
    )
    sandbox = next(one for one in await runtime.list_sandboxes() if one.id == sandbox_id)
    ids = []
    for name in names or ("main",):
        ids.append(await runtime.create_container(sandbox, ContainerConfig(name, 0, "image")))
        await runtime.start_container(ids[-1])
    return sandbox, ids


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def the_container(runtime: MemoryRuntime, name: str = "main") -> Container:
    return next(one for one in await runtime.list_containers() if one.name == name)


def test_a_container_exits_when_and_how_its_annotations_say() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        runtime = MemoryRuntime(clock)
        await start(runtime, {"exit-after.main": "1m5s", "exit-code": "3"}, "main", "other")
        changes = runtime.changes()
        clock.advance(64)
        assert (await the_container(runtime)).state is ContainerState.RUNNING
        heard = asyncio.ensure_future(anext(changes))
        await settle()
        clock.advance(1)
        assert await heard == POD.uid
        ended = await the_container(runtime)
        assert (ended.state, ended.exit_code, ended.reason) == (ContainerState.EXITED, 3, "Error")
        assert (await the_container(runtime, "other")).state is ContainerState.RUNNING
        await changes.aclose()  # type: ignore[attr-defined] # a generator

    asyncio.run(scenario())


def test_a_container_that_takes_longer_to_stop_than_it_may_is_killed() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        runtime = MemoryRuntime(clock)
        _, ids = await start(runtime, {"stop-after": "10s"})
        stop = asyncio.ensure_future(runtime.stop_container(ids[0], 3))
        await settle()
        clock.advance(2.9)
        await settle()
        assert not stop.done()
        clock.advance(0.1)
        await stop
        assert ((await the_container(runtime)).exit_code) == 137

    asyncio.run(scenario())


def test_stopping_again_with_less_time_ends_a_container_sooner() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        runtime = MemoryRuntime(clock)
        _, ids = await start(runtime, {"stop-after": "1h"})
        slow = asyncio.ensure_future(runtime.stop_container(ids[0], 60))
        await settle()
        fast = asyncio.ensure_future(runtime.stop_container(ids[0], 2))
        await settle()
        clock.advance(2)
        await fast
        assert (await the_container(runtime)).state is ContainerState.EXITED
        clock.advance(58)
        await slow

    asyncio.run(scenario())


@pytest.mark.parametrize(("age", "code"), [(4, 1), (5, 0), (19, 0), (20, 1)])
def test_probes_are_answered_from_ready_until_fail(age: float, code: int) -> None:
    async def scenario() -> None:
        clock = FakeClock()
        runtime = MemoryRuntime(clock)
        sandbox, ids = await start(runtime, {"ready-after": "5s", "fail-after": "20s"})
        clock.advance(age)
        result = await runtime.execute(ids[0], ["true"], timeout_seconds=1)
        assert result.exit_code == code
        if code:
            with pytest.raises(RuntimeFailed, match="port 80"):
                await runtime.connect(sandbox.id, 80)
        else:
            pieces, sink = await runtime.connect(sandbox.id, 80)
            await sink.write(b"GET / HTTP/1.1\r\n\r\n")
            assert (await anext(pieces)).startswith(b"HTTP/1.1 200 ")

    asyncio.run(scenario())


def test_missing_images_and_unknown_devices_are_refused_with_their_reason() -> None:
    async def scenario() -> None:
        runtime = MemoryRuntime(FakeClock(), unresolved=lambda devices: devices)
        with pytest.raises(RuntimeFailed) as refused:
            await runtime.pull_image(f"{MISSING_IMAGES}app:1")
        assert refused.value.reason == "ErrImagePull"
        assert await runtime.find_image(f"{MISSING_IMAGES}app:1") == ""
        assert await runtime.find_image("app:1", always=True) == "memory://app:1"
        sandbox, _ = await start(runtime, {})
        config = ContainerConfig("gpu", 0, "image", cdi_devices=("a/b=c",))
        with pytest.raises(UnresolvedDevices) as unresolved:
            await runtime.create_container(sandbox, config)
        assert unresolved.value.devices == ("a/b=c",)

    asyncio.run(scenario())
