"""Probes of one pod. How a pod takes their verdicts is in test_worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dray.agent.pods.checks import Checker
from dray.agent.pods.pod_state import Look, PodState
from dray.agent.pods.probe_results import ProbeResults
from dray.agent.pods.probes import Prober, Tally
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import ContainerConfig, PodIdentity, SandboxConfig
from dray.api.carried import write_part
from dray.api.core import Container, Pod, PodSpec
from dray.api.core.parts import ExecAction, Probe
from dray.testing import FakeClock
from tests.unit.agent.pods.stage import Recorder

ID = PodIdentity("d", "p", "u")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], None),
        ([True], None),
        ([True, True], True),
        ([True, True, False], None),
        ([False, False, False], False),
        ([False, False, True, False], None),
    ],
)
def test_a_verdict_needs_as_many_in_a_row_as_its_threshold(
    answers: list[bool], expected: bool | None
) -> None:
    tally = Tally()
    for answer in answers:
        tally = tally.add(success=answer)
    assert tally.verdict(Probe(success_threshold=2, failure_threshold=3)) is expected


def test_defaults_are_one_success_and_three_failures() -> None:
    assert Tally(success=True, count=1).verdict(Probe()) is True
    assert Tally(success=False, count=2).verdict(Probe()) is None
    assert Tally(success=False, count=3).verdict(Probe()) is False


class Set:
    """A prober, and a pod with one container to probe."""

    def __init__(self, tasks: asyncio.TaskGroup, settings: dict[str, str], **probes: Probe) -> None:
        self.clock = FakeClock()
        self.runtime = MemoryRuntime(self.clock)
        self.events = Recorder()
        self.changes = 0
        carried: Any = {name: write_part(probe) for name, probe in probes.items()}
        self.pod = Pod(spec=PodSpec(containers=(Container(name="main", **carried),)))
        self.annotations = {f"simulation.dray.dev/{k}": v for k, v in settings.items()}
        self.prober = Prober(
            Checker(self.runtime, clock=self.clock),
            self.events,
            clock=self.clock,
            tasks=tasks,
            changed=self._changed,
        )

    def _changed(self) -> None:
        self.changes += 1

    async def state(self) -> PodState:
        sandboxes = await self.runtime.list_sandboxes()
        containers = await self.runtime.list_containers()
        return Look(sandboxes, containers).state(ID.uid)

    async def start(self) -> str:
        config = SandboxConfig(ID, 0, "p", "", annotations=self.annotations)
        await self.runtime.run_sandbox(config)
        box = (await self.runtime.list_sandboxes())[0]
        container_id = await self.runtime.create_container(box, ContainerConfig("main", 0, "i"))
        await self.runtime.start_container(container_id)
        self.prober.update(self.pod, await self.state())
        return container_id

    async def seconds(self, count: int) -> None:
        for _ in range(count):
            for _ in range(20):
                await asyncio.sleep(0)
            self.clock.advance(1)
        for _ in range(20):
            await asyncio.sleep(0)


def probe(**fields: Any) -> Probe:
    return Probe(exec=ExecAction(command=("ok",)), period_seconds=1, **fields)


def play(scenario: Callable[[asyncio.TaskGroup], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            await scenario(tasks)

    asyncio.run(run())


def test_a_probe_waits_before_it_asks_for_the_first_time() -> None:
    async def scenario(tasks: asyncio.TaskGroup) -> None:
        found = Set(tasks, {}, readiness_probe=probe(initial_delay_seconds=5))
        container_id = await found.start()
        await found.seconds(4)
        assert found.prober.results == {}
        await found.seconds(1)
        assert found.prober.results[container_id].readiness is True
        assert found.changes == 1
        found.prober.stop()

    play(scenario)


def test_other_probes_wait_for_the_startup_probe() -> None:
    async def scenario(tasks: asyncio.TaskGroup) -> None:
        found = Set(
            tasks,
            {"ready-after": "3s"},
            startup_probe=probe(failure_threshold=30),
            liveness_probe=probe(failure_threshold=1),
        )
        container_id = await found.start()
        await found.seconds(2)
        assert found.prober.results == {}
        await found.seconds(3)
        results = found.prober.results[container_id]
        assert (results.startup, results.liveness) == (True, True)
        assert all(text.startswith("Startup") for text in found.events.messages("Unhealthy"))
        found.prober.stop()

    play(scenario)


def test_readiness_comes_and_goes_and_a_failed_liveness_stays() -> None:
    async def scenario(tasks: asyncio.TaskGroup) -> None:
        found = Set(
            tasks,
            {"fail-after": "3s"},
            readiness_probe=probe(failure_threshold=1),
            liveness_probe=probe(failure_threshold=2),
        )
        container_id = await found.start()
        await found.seconds(2)
        assert found.prober.results[container_id] == ProbeResults(readiness=True, liveness=True)
        await found.seconds(4)
        assert found.prober.results[container_id] == ProbeResults(readiness=False, liveness=False)
        found.prober.stop()

    play(scenario)


def test_a_container_that_ended_is_not_probed_and_a_removed_one_forgotten() -> None:
    async def scenario(tasks: asyncio.TaskGroup) -> None:
        found = Set(tasks, {}, readiness_probe=probe())
        container_id = await found.start()
        await found.seconds(1)
        await found.runtime.stop_container(container_id, 0)
        found.prober.update(found.pod, await found.state())
        events = len(found.events.events)
        await found.seconds(5)
        assert len(found.events.events) == events
        await found.runtime.remove_container(container_id)
        found.prober.update(found.pod, await found.state())
        assert found.prober.results == {}

    play(scenario)


def test_when_the_pod_ends_only_readiness_is_asked() -> None:
    async def scenario(tasks: asyncio.TaskGroup) -> None:
        found = Set(
            tasks,
            {"fail-after": "2s"},
            readiness_probe=probe(failure_threshold=1),
            liveness_probe=probe(failure_threshold=1),
        )
        container_id = await found.start()
        await found.seconds(1)
        found.prober.end()
        found.prober.update(found.pod, await found.state())
        await found.seconds(3)
        results = found.prober.results[container_id]
        assert (results.readiness, results.liveness) == (False, True)
        found.prober.stop()

    play(scenario)


def test_what_another_agent_had_found_out_is_taken_over() -> None:
    async def scenario(tasks: asyncio.TaskGroup) -> None:
        found = Set(tasks, {"fail-after": "0s"}, startup_probe=probe(failure_threshold=1))
        found.prober.seed("memory://2", ProbeResults(startup=True))
        container_id = await found.start()
        assert container_id == "memory://2"
        await found.seconds(3)
        assert found.prober.results[container_id].startup is True
        found.prober.stop()

    play(scenario)
