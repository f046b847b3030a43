"""All pods of a node: recovery, orphans, outages of the API, many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dray.agent.pods.manager import PodManager
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import ContainerState
from dray.api.carried import write_part
from dray.api.core import (
    Container,
    Pod,
    PodResourceClaim,
    ResourceHealth,
    ResourceRequirements,
    ResourceStatus,
)
from dray.api.core import ResourceClaim as ClaimUse
from dray.api.core.parts import ExecAction, Probe
from dray.entropy import SeededEntropy
from dray.errors import TransportError
from dray.testing import FakeClock
from tests.unit.agent.pods.stage import FakeClaims, FakeHealth, Recorder, Stage, make_pod

CLAIMS = (PodResourceClaim(name="gpu", resource_claim_name="gpu"),)


def play(scenario: Callable[[Stage], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Stage() as stage:
            await scenario(stage)

    asyncio.run(run())


def is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running"


def is_ready(pod: Pod) -> bool:
    return any(status.ready for status in pod.status.container_statuses)


def restarted_once(pod: Pod) -> bool:
    return pod.status.container_statuses[0].restart_count == 1


def test_a_new_agent_adopts_what_runs() -> None:
    async def scenario(stage: Stage) -> None:
        probe = Probe(exec=ExecAction(command=("ready",)), period_seconds=10)
        main = Container(name="main", image="app", readiness_probe=write_part(probe))
        pod = make_pod(containers=(main,), resource_claims=CLAIMS)
        await stage.add(pod)
        before = await stage.until(
            "web",
            lambda p: (
                p.status.container_statuses[0:1] != () and p.status.container_statuses[0].ready
            ),
        )
        events = list(stage.events.reasons)
        await stage.stop()
        await stage.start()
        await stage.settle()
        after = await stage.client.get(Pod, "web", namespace="default")
        assert after.status == before.status
        assert after.metadata.resource_version == before.metadata.resource_version
        assert stage.events.reasons == events
        assert stage.claims.calls == ["prepare web"]
        assert stage.manager is not None
        assert [one.metadata.name for one in stage.manager.active_pods()] == ["web"]

    play(scenario)


def test_what_runs_for_a_pod_that_is_gone_is_ended_and_gives_back_its_devices() -> None:
    async def scenario(stage: Stage) -> None:
        pod = await stage.add(make_pod(resource_claims=CLAIMS))
        await stage.until("web", is_running)
        await stage.stop()
        await stage.client.delete(Pod, "web", namespace="default", grace_period_seconds=0)
        await stage.start()
        await stage.settle()
        assert await stage.runtime.list_sandboxes() == []
        assert stage.claims.calls == ["prepare web", "unprepare web"]
        assert stage.manager is not None
        assert stage.manager.pod(pod.metadata.uid) is None

    play(scenario)


def test_what_is_kept_of_pods_that_nobody_knows_goes_when_an_agent_starts() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.settle()
        assert stage.health.retained == stage.storage.retained == frozenset()
        pod = await stage.add(make_pod())
        await stage.until("web", is_running)
        await stage.stop()
        await stage.start()
        await stage.settle()
        assert stage.health.retained == stage.storage.retained == {pod.metadata.uid}

    play(scenario)


def test_a_pod_deleted_meanwhile_is_ended_gracefully() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod(resource_claims=CLAIMS))
        await stage.until("web", is_running)
        await stage.stop()
        await stage.client.delete(Pod, "web", namespace="default")
        await stage.start()
        await stage.until_gone("web")
        assert stage.claims.calls == ["prepare web", "unprepare web"]

    play(scenario)


def test_a_pod_that_is_over_is_known_until_it_is_deleted() -> None:
    async def scenario(stage: Stage) -> None:
        annotations = {"simulation.dray.dev/exit-after": "1s"}
        pod = make_pod(restart_policy="Never", annotations=annotations)
        await stage.add(pod)
        await stage.until("web", is_running)
        await stage.pass_time(1)
        await stage.until("web", lambda p: p.status.phase == "Succeeded")
        await stage.settle()
        assert stage.manager is not None
        assert stage.manager.active_pods() == []
        assert [one.metadata.name for one in stage.manager.pods()] == ["web"]
        await stage.client.delete(Pod, "web", namespace="default")
        await stage.until_gone("web")
        await stage.settle()
        assert stage.manager.pods() == []

    play(scenario)


def test_containers_whose_sandbox_was_lost_go_with_their_pod() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod())
        await stage.until("web", is_running)
        await stage.stop()
        await stage.client.delete(Pod, "web", namespace="default", grace_period_seconds=0)
        (sandbox,) = await stage.runtime.list_sandboxes()
        del stage.runtime._sandboxes[sandbox.id]
        await stage.start()
        await stage.settle()
        await stage.pass_time(60, steps=6)
        assert await stage.runtime.list_containers() == []
        assert stage.manager is not None
        assert stage.manager.active_pods() == []

    play(scenario)


OUT_OF_PODS = "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2"


def is_failed(pod: Pod) -> bool:
    return pod.status.phase == "Failed"


def test_a_node_takes_no_more_pods_than_it_says() -> None:
    async def scenario() -> None:
        async with Stage(pods_max=2) as stage:
            for name in ("a", "b"):
                await stage.add(make_pod(name))
                await stage.until(name, is_running)
            await stage.add(make_pod("c", resource_claims=CLAIMS))
            rejected = await stage.until("c", is_failed)
            assert (rejected.status.reason, rejected.status.message) == (
                "OutOfpods",
                f"Pod was rejected: {OUT_OF_PODS}",
            )
            assert stage.events.messages("OutOfpods") == [OUT_OF_PODS]
            assert "prepare c" not in stage.claims.calls
            assert len(await stage.runtime.list_sandboxes()) == 2
            # One that is over, or rejected, takes nobody's place.
            await stage.client.delete(Pod, "a", namespace="default")
            await stage.until_gone("a")
            await stage.settle()
            await stage.add(make_pod("d"))
            await stage.until("d", is_running)

    asyncio.run(scenario())


def test_a_new_agent_takes_those_first_who_run_already() -> None:
    async def scenario() -> None:
        async with Stage(pods_max=2) as stage:
            await stage.stop()
            await stage.add(make_pod("older"))
            stage.clock.advance(10)
            await stage.start()
            await stage.until("older", is_running)
            await stage.add(make_pod("z"))
            await stage.until("z", is_running)
            await stage.stop()
            await stage.add(make_pod("b"))
            await stage.start()
            assert (await stage.until("b", is_failed)).status.reason == "OutOfpods"
            await stage.settle()
            assert is_running(await stage.client.get(Pod, "z", namespace="default"))
            await stage.stop()
            await stage.start()
            await stage.settle()
            assert stage.events.reasons.count("OutOfpods") == 1

    asyncio.run(scenario())


def test_a_pod_that_was_never_started_here_is_not_prepared_when_it_is_being_deleted() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.stop()
        await stage.add(make_pod(resource_claims=CLAIMS))
        await stage.client.delete(Pod, "web", namespace="default")
        await stage.start()
        await stage.until_gone("web")
        assert "prepare web" not in stage.claims.calls

    play(scenario)


def test_a_container_that_ended_meanwhile_is_restarted_once() -> None:
    async def scenario(stage: Stage) -> None:
        pod = await stage.add(make_pod())
        await stage.until("web", is_running)
        await stage.stop()
        stage.runtime.exit_container(pod.metadata.uid, "main", 1)
        await stage.start()
        again = await stage.until("web", restarted_once)
        last = again.status.container_statuses[0].last_state.terminated
        assert last is not None
        assert last.exit_code == 1

    play(scenario)


def test_a_lost_sandbox_is_made_again_with_its_devices() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod(resource_claims=CLAIMS))
        await stage.until("web", is_running)
        await stage.stop()
        for sandbox in await stage.runtime.list_sandboxes():
            await stage.runtime.stop_sandbox(sandbox.id)
        await stage.start()
        await stage.settle()
        states = {one.attempt: one.ready for one in await stage.runtime.list_sandboxes()}
        assert states == {0: False, 1: True}
        assert stage.claims.calls == ["prepare web", "prepare web"]
        assert "SandboxChanged" in stage.events.reasons

    play(scenario)


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    async def scenario(stage: Stage) -> None:
        first = await stage.add(make_pod())
        await stage.until("web", is_running)
        await stage.client.delete(Pod, "web", namespace="default", grace_period_seconds=0)
        second = await stage.add(make_pod())
        await stage.until("web", lambda p: p.metadata.uid == second.metadata.uid and is_running(p))
        await stage.pass_time(2)
        uids = {one.pod.uid for one in await stage.runtime.list_sandboxes()}
        assert uids == {second.metadata.uid}
        assert first.metadata.uid != second.metadata.uid

    play(scenario)


def test_pods_of_other_nodes_in_a_shared_watch_are_left_alone() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        source = FakeSource([make_pod("elsewhere")])
        runtime = MemoryRuntime(clock)
        manager = PodManager(
            None,  # type: ignore[arg-type] # nobody asks it anything
            runtime,
            FakeClaims(),
            FakeHealth(),
            node_name="another",
            root=Path("/nonexistent"),
            clock=clock,
            entropy=SeededEntropy(1),
            events=Recorder(),
            pods=source,
            simulated=True,
        )
        task = asyncio.ensure_future(manager.run())
        for _ in range(20):
            await asyncio.sleep(0)
        assert manager.recovered
        assert await runtime.list_sandboxes() == []
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())


class FakeSource:
    """Pods from a list."""

    def __init__(self, pods: list[Pod]) -> None:
        self._pods = pods

    def listen(self, listener: Callable[[Pod | None, Pod | None], None]) -> None:
        pass

    async def synced(self) -> None:
        pass

    def values(self) -> list[Pod]:
        return self._pods


def test_an_agent_that_stops_leaves_its_pods_running() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod())
        await stage.until("web", is_running)
        await stage.stop()
        states = [one.state for one in await stage.runtime.list_containers()]
        assert states == [ContainerState.RUNNING]

    play(scenario)


@pytest.mark.slow
def test_a_hundred_pods_start_and_go() -> None:
    async def scenario(stage: Stage) -> None:
        names = [f"pod-{n}" for n in range(100)]
        for name in names:
            await stage.add(make_pod(name))
        for name in names:
            await stage.until(name, is_running)
        assert len(await stage.runtime.list_containers()) == 100
        for name in names:
            await stage.client.delete(Pod, name, namespace="default")
        for name in names:
            await stage.until_gone(name)
        await stage.settle()
        assert await stage.runtime.list_sandboxes() == []

    play(scenario)


@pytest.mark.slow
def test_every_change_of_health_arrives_for_all_pods() -> None:
    async def scenario(stage: Stage) -> None:
        use = ResourceRequirements(claims=(ClaimUse(name="gpu"),))
        main = Container(name="main", image="app", resources=use)
        pods = [
            await stage.add(make_pod(f"pod-{n}", containers=(main,), resource_claims=CLAIMS))
            for n in range(20)
        ]
        for pod in pods:
            await stage.until(pod.metadata.name, is_running)
        for word in ("Unhealthy", "Unknown", "Healthy", "Unhealthy"):
            health = tuple(ResourceHealth(resource_id=str(n), health=word) for n in range(50))
            stage.health.found["main"] = (ResourceStatus(name="claim:gpu", resources=health),)
            for pod in pods:
                stage.health.change(pod.metadata.uid)
        for pod in pods:
            await stage.until(pod.metadata.name, shows("Unhealthy"))

    play(scenario)


def shows(word: str) -> Callable[[Pod], bool]:
    def holds(pod: Pod) -> bool:
        found = pod.status.container_statuses[0].allocated_resources_status
        return bool(found) and {one.health for one in found[0].resources} == {word}

    return holds


def test_an_outage_of_the_api_delays_statuses_and_loses_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(stage: Stage) -> None:
        pod = await stage.add(make_pod())
        await stage.until("web", is_running)
        patch: Callable[..., Any] = stage.node_client.patch
        calls = []

        async def away(*arguments: Any, **options: Any) -> Any:
            calls.append(arguments)
            raise TransportError("nobody answers")

        monkeypatch.setattr(stage.node_client, "patch", away)
        stage.runtime.exit_container(pod.metadata.uid, "main", 1)
        await stage.pass_time(7, steps=14)
        assert len(calls) >= 3
        monkeypatch.setattr(stage.node_client, "patch", patch)
        await stage.pass_time(10)
        again = await stage.until("web", restarted_once)
        assert again.status.container_statuses[0].state.running is not None

    play(scenario)


def test_a_bug_that_one_pod_meets_is_not_the_end_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(stage: Stage) -> None:
        usual = stage.health.statuses
        broken = True

        def statuses(pod: Pod, container_name: str) -> tuple[ResourceStatus, ...]:
            if broken and pod.metadata.name == "unlucky":
                raise ZeroDivisionError("a bug")
            return usual(pod, container_name)

        monkeypatch.setattr(stage.health, "statuses", statuses)
        await stage.add(make_pod("unlucky"))
        await stage.add(make_pod("lucky"))
        await stage.until("lucky", is_running)
        assert "ZeroDivisionError: a bug" in stage.events.messages("PodWorkerFailed")[0]
        broken = False
        await stage.pass_time(2.0)
        await stage.until("unlucky", is_running)
        await stage.client.delete(Pod, "unlucky", namespace="default")
        await stage.until_gone("unlucky")

    play(scenario)


def test_a_pod_that_met_a_bug_is_deleted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(stage: Stage) -> None:
        async def prepare(pod: Pod) -> None:
            raise ZeroDivisionError("a bug")

        monkeypatch.setattr(stage.claims, "prepare", prepare)
        await stage.add(make_pod("unlucky", resource_claims=CLAIMS))
        await stage.settle()
        assert stage.events.messages("PodWorkerFailed")
        # No time passes.
        await stage.client.delete(Pod, "unlucky", namespace="default")
        await stage.until_gone("unlucky")

    play(scenario)
