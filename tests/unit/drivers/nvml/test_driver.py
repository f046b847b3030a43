"""GPUs and their parts, given to claims and watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dray.drivers.nvml import NvmlDriver, events, read_config
from dray.sdk import (
    DeviceFailed,
    DeviceHealth,
    Health,
    InvalidConfig,
    PermanentError,
    TransientError,
)
from dray.testing import FakeClock
from tests.unit.drivers.nvml import fake_nvml
from tests.unit.drivers.nvml.fake_nvml import FakeGpu, Killed, Machine
from tests.unit.drivers.nvml.machines import machine_of, make_files
from tests.unit.drivers.surroundings import Memory, claimed, opaque, placed, prepared
from tests.unit.sdk.turns import settle

PART = "gpu-0-mig-14-2-2"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can wake a thread that waits in NVML, so tests have it wait for a moment only."""
    monkeypatch.setattr(events, "WAIT_MILLISECONDS", 20)


@asynccontextmanager
async def running(
    root: Path, config: str = "", clock: FakeClock | None = None
) -> AsyncIterator[NvmlDriver]:
    told = read_config(f"root: {root}\n{config}")
    driver: NvmlDriver = placed(NvmlDriver(told, load=lambda: fake_nvml), clock=clock)
    await driver.started()
    try:
        await driver.discover()
        yield driver
    finally:
        await driver.stopped()


def scenario(root: Path, *gpus: FakeGpu) -> Callable[[Callable[[Machine], Awaitable[None]]], None]:
    """Run this with a machine of these GPUs."""
    make_files(root)

    def run(body: Callable[[Machine], Awaitable[None]]) -> None:
        async def inside(machine: Machine) -> None:
            await body(machine)

        with machine_of(*gpus, initialized=False) as machine:
            asyncio.run(inside(machine))
            assert machine.initialized == 0

    return run


def test_a_whole_gpu_is_given_to_a_claim(tmp_path: Path) -> None:
    @scenario(tmp_path, FakeGpu(0))
    async def _(machine: Machine) -> None:
        async with running(tmp_path) as driver:
            edits = await driver.prepare(claimed("gpu-0"))
            assert edits.device_nodes[0].path == "/dev/nvidia0"
            await driver.unprepare(prepared("gpu-0"))


def test_what_claims_ask_for_in_vain_is_refused_by_its_name(tmp_path: Path) -> None:
    @scenario(tmp_path, FakeGpu(0))
    async def _(machine: Machine) -> None:
        async with running(tmp_path) as driver:
            with pytest.raises(InvalidConfig, match="unknown field `sharing`"):
                await driver.prepare(claimed("gpu-0", config=(opaque({"sharing": {}}),)))
            with pytest.raises(DeviceFailed, match="no longer there"):
                await driver.prepare(claimed("gpu-9"))


def test_an_instance_is_made_for_a_claim_and_undone_after_it(tmp_path: Path) -> None:
    @scenario(tmp_path, FakeGpu(0, mig=True))
    async def _(machine: Machine) -> None:
        async with running(tmp_path, "mig: dynamic") as driver:
            before = await driver.discover()
            memory = Memory()
            edits = await driver.prepare(claimed(PART, memory=memory))
            assert edits.device_nodes[-1].path.startswith("/dev/nvidia-caps/")
            assert machine.gpus[0].instances == {1: (14, 2, {0: 1})}
            # It was remembered before it was made, and what claims have changes no offer.
            assert [state["uuid"][:4] for state in memory.states] == ["", "MIG-"]
            assert await driver.discover() == before
            await driver.unprepare(prepared(PART, state=memory.states[-1]))
            assert machine.gpus[0].instances == {}
            assert await driver.discover() == before


@pytest.mark.parametrize("calls", [0, 1])
@pytest.mark.parametrize("again", [True, False])
def test_a_crash_while_an_instance_is_made_leaves_nothing(
    tmp_path: Path, calls: int, again: bool
) -> None:
    @scenario(tmp_path, FakeGpu(0, mig=True))
    async def _(machine: Machine) -> None:
        memory = Memory()
        async with running(tmp_path, "mig: dynamic") as driver:
            machine.fail_after = calls
            with pytest.raises(Killed):
                await driver.prepare(claimed(PART, memory=memory))
        machine.fail_after = None
        async with running(tmp_path, "mig: dynamic") as driver:
            driver.context = _with_prepared(driver.context, memory)
            await driver.discover()
            if again:
                await driver.prepare(claimed(PART, memory=memory, state=memory.states[-1]))
                assert len(machine.gpus[0].instances) == 1
            await driver.unprepare(prepared(PART, state=memory.states[-1]))
            assert machine.gpus[0].instances == {}


def _with_prepared(context: Any, memory: Memory) -> Any:
    from dataclasses import replace

    return replace(context, prepared=lambda: (prepared(PART, state=memory.states[-1]),))


def test_what_somebody_else_made_is_used_and_stays(tmp_path: Path) -> None:
    @scenario(tmp_path, FakeGpu(0, mig=True))
    async def _(machine: Machine) -> None:
        async with running(tmp_path, "mig: dynamic") as driver:
            machine.gpus[0].instances[4] = (14, 2, {0: 1})
            memory = Memory()
            await driver.prepare(claimed(PART, memory=memory))
            await driver.unprepare(prepared(PART, state=memory.states[-1]))
            assert machine.gpus[0].instances == {4: (14, 2, {0: 1})}


def test_whoever_only_looks_makes_nothing_and_undoes_nothing(tmp_path: Path) -> None:
    @scenario(tmp_path, FakeGpu(0, mig=True))
    async def _(machine: Machine) -> None:
        async with running(tmp_path, "mig: dynamic") as driver:
            with pytest.raises(PermanentError, match="nothing to look at"):
                await driver.prepare(claimed(PART, admin_access=True))
            await driver.prepare(claimed(PART, memory=Memory()))
            looking = Memory()
            await driver.prepare(claimed(PART, admin_access=True, memory=looking))
            await driver.unprepare(prepared(PART, state=looking.states[-1]))
            assert len(machine.gpus[0].instances) == 1


def test_a_gpu_that_stops_answering_keeps_its_place(tmp_path: Path) -> None:
    @scenario(tmp_path, FakeGpu(0), FakeGpu(1))
    async def _(machine: Machine) -> None:
        async with running(tmp_path) as driver:
            before = await driver.discover()
            machine.gpus[0].lost = True
            assert await driver.discover() == before
            del machine.gpus[0]
            assert [device.name for _, device in (await driver.discover()).devices()] == ["gpu-1"]


def test_without_a_kernel_driver_the_driver_does_not_start(tmp_path: Path) -> None:
    @scenario(tmp_path)
    async def _(machine: Machine) -> None:
        machine.driver_loaded = False
        driver: NvmlDriver = placed(NvmlDriver(load=lambda: fake_nvml))
        with pytest.raises(TransientError, match="Driver Not Loaded"):
            await driver.started()


def by_name(words: Any) -> dict[str, DeviceHealth]:
    return {word.device: word for word in words}


def test_an_xid_is_reported_at_once_and_recovery_later(tmp_path: Path) -> None:
    @scenario(tmp_path, FakeGpu(0), FakeGpu(1))
    async def _(machine: Machine) -> None:
        clock = FakeClock()
        async with running(tmp_path, "health: {recoverSeconds: 60}", clock) as driver:
            reports: Any = driver.watch_health()
            words = by_name(await anext(reports))
            assert {word.health for word in words.values()} == {Health.HEALTHY}
            machine.xid(0, 94)
            words = by_name(await anext(reports))
            assert words["gpu-0"].health is Health.UNHEALTHY
            assert words["gpu-0"].message.startswith("XID 94: contained memory error")
            assert words["gpu-1"].health is Health.HEALTHY
            coming = asyncio.ensure_future(anext(reports))
            await settle()
            clock.advance(61.0)
            assert by_name(await coming)["gpu-0"].health is Health.HEALTHY
            await reports.aclose()


def test_a_lost_gpu_takes_all_its_parts_along(tmp_path: Path) -> None:
    instances = {1: (9, 0, {0: 2}), 2: (9, 4, {0: 2})}

    @scenario(tmp_path, FakeGpu(0, mig=True, instances=instances), FakeGpu(1))
    async def _(machine: Machine) -> None:
        async with running(tmp_path) as driver:
            reports: Any = driver.watch_health()
            await anext(reports)
            machine.xid(0, 94, instance=2)
            words = by_name(await anext(reports))
            assert words["gpu-0-mig-9-0-4"].health is Health.HEALTHY
            assert words["gpu-0-mig-9-4-4"].health is Health.UNHEALTHY
            machine.gpus[0].lost = True
            machine.xid(0, 79)
            words = by_name(await anext(reports))
            assert words["gpu-1"].health is Health.HEALTHY
            for name in ("gpu-0-mig-9-0-4", "gpu-0-mig-9-4-4"):
                assert words[name].health is Health.UNHEALTHY
                assert "XID 79" in words[name].message
            await reports.aclose()


def test_a_gpu_that_comes_back_is_listened_to_again(tmp_path: Path) -> None:
    @scenario(tmp_path, FakeGpu(0))
    async def _(machine: Machine) -> None:
        clock = FakeClock()
        async with running(tmp_path, clock=clock) as driver:
            reports: Any = driver.watch_health()
            await anext(reports)
            for lost in (True, False, False):
                machine.gpus[0].lost = lost
                if lost:
                    machine.registered.clear()
                coming = asyncio.ensure_future(anext(reports))
                await settle()
                clock.advance(5.0)
                await coming
            assert machine.registered == {0}
            await reports.aclose()


def test_a_gpu_without_events_is_probed_and_says_so(tmp_path: Path) -> None:
    @scenario(tmp_path, FakeGpu(0, events=False))
    async def _(machine: Machine) -> None:
        async with running(tmp_path) as driver:
            reports: Any = driver.watch_health()
            (word,) = await anext(reports)
            assert word.health is Health.HEALTHY
            assert word.message.startswith("only probed, XID errors go unseen")
            await reports.aclose()
