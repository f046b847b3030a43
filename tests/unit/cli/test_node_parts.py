"""Parts of nodes that commands share."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from dray.agent.agent import Agent
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.settings import AgentSettings
from dray.cli.node_parts import cdi_directory, open_runtime, pods_known, settled
from dray.clock import SystemClock
from dray.drivers.simulated import SimulatedDriver, default_fleet
from dray.entropy import SeededEntropy, SystemEntropy
from dray.sdk import RunningDriver, Settings, serve
from dray.testing import FakeClock
from dray.testing.cluster import Cluster


@pytest.mark.parametrize("name", ["process", "cri"])
def test_devices_of_bundled_drivers_are_looked_up_by_every_runtime(
    tmp_path: Path, name: str
) -> None:
    cdi = tmp_path / "cdi"
    cdi.mkdir()
    (cdi / "broken.json").write_text("{")

    async def body() -> None:
        async with open_runtime(
            name, tmp_path, cdi, "unix:///nowhere", SystemClock(), SystemEntropy()
        ) as runtime:
            files = runtime._devices  # type: ignore[attr-defined]  # both have them
            assert str(cdi / "broken.json") in files.problems

    asyncio.run(body())


def test_drivers_write_where_the_runtime_looks() -> None:
    root = Path("/root/dray")
    assert cdi_directory(None, "process", root) == root / "cdi"
    assert cdi_directory(None, "cri", root) == Path("/var/run/cdi")
    assert cdi_directory(Path("/given"), "cri", root) == Path("/given")
    assert cdi_directory(Path("given"), "process", root).is_absolute()


def test_what_a_driver_lacks_is_said_and_not_waited_for_without_end(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(running: RunningDriver) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(RunningDriver, "registered", never)

    async def body() -> None:
        async with Cluster(clock=FakeClock()) as cluster:
            place = Settings(node_name="n", in_memory=True)
            driver = SimulatedDriver(default_fleet())
            clock = FakeClock()
            async with serve(
                driver, place, client=cluster.client, clock=clock, entropy=SeededEntropy(1)
            ) as running:
                waiting = asyncio.ensure_future(settled(running, clock))
                while not waiting.done():
                    await asyncio.sleep(0)
                    clock.advance(0.1)
                await waiting

    with caplog.at_level(logging.WARNING, logger="dray.cli"):
        asyncio.run(body())
    assert caplog.messages[-1] == (
        "driver gpu.simulated.dev is not registered yet: not done after 5 s"
    )


def test_pods_that_are_not_known_are_said_and_not_waited_for_without_end(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    async def body() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock) as cluster:
            agent = Agent(
                cluster.client,
                MemoryRuntime(clock),
                AgentSettings(node_name="n", root=tmp_path, simulated=True),
                clock=clock,
                entropy=SeededEntropy(1),
            )
            release_pods = agent.hold_pods()
            running = asyncio.ensure_future(agent.run())
            waiting = asyncio.ensure_future(pods_known(agent, clock))
            while not waiting.done():
                await asyncio.sleep(0)
                clock.advance(0.1)
            assert not agent.pods.recovered
            release_pods()
            await pods_known(agent, clock)
            assert agent.pods.recovered
            running.cancel()
            await asyncio.wait((running,))

    with caplog.at_level(logging.WARNING, logger="dray.cli"):
        asyncio.run(asyncio.wait_for(body(), 60))
    assert caplog.messages == ["pods of node n are not known yet: not done after 5 s"]
