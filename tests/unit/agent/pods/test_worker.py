"""A pod's life, told as scenarios on a node whose containers are simulated."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dray.api.core import Pod
from tests.unit.agent.pods.stage import Stage, make_pod


def play(scenario: Callable[[Stage], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Stage() as stage:
            await scenario(stage)

    asyncio.run(run())


def phase_is(phase: str) -> Callable[[Pod], bool]:
    return lambda pod: pod.status.phase == phase


def test_a_pod_runs_and_is_deleted() -> None:
    async def scenario(stage: Stage) -> None:
        pod = await stage.add(make_pod())
        running = await stage.until("web", phase_is("Running"))
        assert running.status.container_statuses[0].ready
        assert running.status.pod_ip == "10.244.0.1"
        assert {c.type: c.status for c in running.status.conditions} == {
            "PodReadyToStartContainers": "True",
            "Initialized": "True",
            "Ready": "True",
            "ContainersReady": "True",
            "PodScheduled": "True",
        }
        await stage.client.delete(Pod, "web", namespace="default")
        await stage.until_gone("web")
        await stage.settle()
        assert await stage.runtime.list_sandboxes() == []
        assert stage.events.reasons == ["Pulled", "Created", "Started", "Killing"]
        assert stage.health.forgotten == [pod.metadata.uid]

    play(scenario)
