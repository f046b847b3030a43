"""A pod's life, told as scenarios on a node whose containers are simulated."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from dray.agent.claims.claim_info import ClaimName
from dray.agent.claims.failures import (
    ClaimFailure,
    DeviceFailure,
    ErrorClass,
    PrepareFailed,
    UnprepareFailed,
)
from dray.agent.plugins.plugin import Change, PluginChange
from dray.agent.pods.starting import ConfigFailed
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.memory import MISSING_IMAGES, MemoryRuntime
from dray.agent.runtimes.runtime import Sandbox, SandboxConfig
from dray.api.carried import write_part
from dray.api.core import (
    Container,
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    ContainerStatus,
    Pod,
    PodCondition,
    PodResourceClaim,
    ResourceHealth,
    ResourceRequirements,
    ResourceStatus,
)
from dray.api.core import ResourceClaim as ClaimUse
from dray.api.core.parts import (
    ExecAction,
    HTTPGetAction,
    Lifecycle,
    LifecycleHandler,
    Probe,
    SleepAction,
)
from dray.client import PatchType
from dray.testing import FakeClock
from tests.unit.agent.pods.stage import Stage, make_pod

CLAIMS = (PodResourceClaim(name="gpu", resource_claim_name="gpu"),)
GPU_CONTAINER = Container(
    name="main",
    image="registry.example/main:1",
    resources=ResourceRequirements(claims=(ClaimUse(name="gpu"),)),
)


def play(
    scenario: Callable[[Stage], Awaitable[None]],
    runtime: Callable[[FakeClock], MemoryRuntime] = MemoryRuntime,
) -> None:
    async def run() -> None:
        async with Stage(make_runtime=runtime) as stage:
            await scenario(stage)

    asyncio.run(run())


def phase_is(phase: str) -> Callable[[Pod], bool]:
    return lambda pod: pod.status.phase == phase


def container(pod: Pod, name: str = "main") -> ContainerStatus:
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return next((status for status in statuses if status.name == name), ContainerStatus())


def waits_for(reason: str, name: str = "main") -> Callable[[Pod], bool]:
    def holds(pod: Pod) -> bool:
        return any(
            status.name == name and status.state.waiting and status.state.waiting.reason == reason
            for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
        )

    return holds


def condition(pod: Pod, kind: str) -> PodCondition | None:
    return next((one for one in pod.status.conditions if one.type == kind), None)


def image(name: str, **fields: Any) -> Container:
    return Container(name=name, image=f"registry.example/{name}:1", **fields)


def simulate(**settings: str) -> dict[str, str]:
    return {
        f"simulation.dray.dev/{key.replace('_', '-').replace('--', '.')}": value
        for key, value in settings.items()
    }


def failure(error_class: ErrorClass, text: str = "no") -> PrepareFailed:
    device = DeviceFailure("node-1", "gpu-0", text, error_class)
    claim = ClaimName("default", "gpu", "1")
    return PrepareFailed(text, [ClaimFailure(claim, text, "gpu.dev", error_class, (device,))])


# Starting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_pod_that_starts_quickly_is_written_twice(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(stage: Stage) -> None:
        phases: list[str | None] = []
        patch = stage.node_client.patch

        async def counted(kind: type[Pod], name: str, body: Any, **options: Any) -> Pod:
            phases.append(body["status"].get("phase"))
            return await patch(kind, name, body, **options)

        monkeypatch.setattr(stage.node_client, "patch", counted)
        containers = (GPU_CONTAINER, *(image(f"c{n}") for n in range(1, count)))
        await stage.add(make_pod(containers=containers, resource_claims=CLAIMS))
        await stage.until("web", phase_is("Running"))
        await stage.settle()
        assert phases == [None, "Running"]

    play(scenario)


def test_a_pod_runs_and_is_deleted() -> None:
    async def scenario(stage: Stage) -> None:
        pod = await stage.add(make_pod())
        running = await stage.until("web", phase_is("Running"))
        assert container(running).ready
        assert running.status.pod_ip == "10.244.0.1"
        assert running.status.host_ip == "192.0.2.1"
        assert running.status.start_time is not None
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
        assert stage.manager is not None
        assert stage.manager.active_pods() == []

    play(scenario)


def test_init_containers_run_one_after_the_other_before_the_rest() -> None:
    async def scenario(stage: Stage) -> None:
        annotations = simulate(exit_after__one="5s", exit_after__two="5s")
        pod = make_pod(init_containers=(image("one"), image("two")), annotations=annotations)
        await stage.add(pod)
        first = await stage.until("web", lambda p: container(p, "one").state.running is not None)
        assert first.status.phase == "Pending"
        assert waits_for("PodInitializing")(first)
        await stage.pass_time(5)
        second = await stage.until("web", lambda p: container(p, "two").state.running is not None)
        assert container(second, "one").ready
        assert waits_for("PodInitializing")(second)
        initialized = condition(second, "Initialized")
        assert initialized is not None
        assert initialized.reason == "ContainersNotInitialized"
        assert initialized.message == "containers with incomplete status: [two]"
        await stage.pass_time(5)
        await stage.until("web", phase_is("Running"))

    play(scenario)


def test_a_sidecar_is_up_before_what_follows_it_and_outlives_the_rest() -> None:
    async def scenario(stage: Stage) -> None:
        sidecar = image("proxy", restart_policy="Always")
        pod = make_pod(
            init_containers=(sidecar,),
            restart_policy="Never",
            annotations=simulate(exit_after__main="10s"),
        )
        await stage.add(pod)
        running = await stage.until("web", phase_is("Running"))
        assert container(running, "proxy").started
        await stage.pass_time(10)
        done = await stage.until("web", phase_is("Succeeded"))
        assert container(done, "proxy").state.terminated is not None

    play(scenario)


def test_an_init_container_that_fails_ends_a_pod_that_never_restarts() -> None:
    async def scenario(stage: Stage) -> None:
        annotations = simulate(exit_after__one="1s", exit_code__one="2")
        pod = make_pod(
            init_containers=(image("one"),), restart_policy="Never", annotations=annotations
        )
        await stage.add(pod)
        await stage.until("web", lambda p: container(p, "one").state.running is not None)
        await stage.pass_time(1)
        failed = await stage.until("web", phase_is("Failed"))
        ended = container(failed, "one").state.terminated
        assert ended is not None
        assert ended.exit_code == 2
        assert not [c for c in await stage.runtime.list_containers() if c.name == "main"]

    play(scenario)


def test_a_container_that_exits_again_and_again_waits_longer_each_time() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod(annotations=simulate(exit_after="1s", exit_code="1")))
        await stage.until("web", phase_is("Running"))
        await stage.pass_time(1)
        # The first restart is free.
        await stage.until("web", lambda p: container(p).restart_count == 1)
        for count, text in ((2, "10s"), (3, "20s"), (4, "40s"), (5, "1m20s"), (6, "2m40s")):
            await stage.pass_time(1)
            crashing = await stage.until("web", waits_for("CrashLoopBackOff"))
            waiting = container(crashing).state.waiting
            assert waiting is not None
            assert waiting.message.startswith(
                f"back-off {text} restarting failed container=main pod=web_default("
            )
            ended = container(crashing).last_state.terminated
            assert ended is not None
            assert ended.exit_code == 1
            assert crashing.status.phase == "Running"
            await stage.pass_time(400 if text == "2m40s" else 10 * 2 ** (count - 2))
            await stage.until("web", lambda p, n=count: container(p).restart_count == n)  # type: ignore[misc] # bound now
        # Only the last two are kept.
        assert len(await stage.runtime.list_containers()) == 2

    play(scenario)


def test_an_image_that_cannot_be_pulled_backs_off() -> None:
    async def scenario(stage: Stage) -> None:
        missing = f"{MISSING_IMAGES}app:1"
        await stage.add(make_pod(containers=(Container(name="main", image=missing),)))
        pulled = await stage.until("web", waits_for("ImagePullBackOff"))
        waiting = container(pulled).state.waiting
        assert waiting is not None
        assert waiting.message == (
            f'Back-off pulling image "{missing}": ErrImagePull: image {missing} does not exist'
        )
        assert pulled.status.phase == "Pending"
        assert stage.events.messages("Failed") == [
            f'Failed to pull image "{missing}": image {missing} does not exist',
            "Error: ErrImagePull",
        ]
        await stage.client.delete(Pod, "web", namespace="default")
        await stage.until_gone("web")

    play(scenario)


# Ending ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "phase", "reason"), [("0", "Succeeded", "PodCompleted"), ("1", "Failed", "PodFailed")]
)
def test_a_pod_that_never_restarts_ends_as_its_containers_did(
    code: str, phase: str, reason: str
) -> None:
    async def scenario(stage: Stage) -> None:
        annotations = simulate(exit_after="5s", exit_code=code)
        await stage.add(make_pod(restart_policy="Never", annotations=annotations))
        await stage.until("web", phase_is("Running"))
        await stage.pass_time(5)
        done = await stage.until("web", phase_is(phase))
        ready = condition(done, "Ready")
        assert ready is not None
        assert (ready.status, ready.reason) == ("False", reason)
        assert not (await stage.runtime.list_sandboxes())[0].ready
        assert stage.manager is not None
        assert stage.manager.active_pods() == []
        await stage.client.delete(Pod, "web", namespace="default")
        await stage.until_gone("web")

    play(scenario)


def test_deleting_waits_for_the_grace_period_and_less_of_it_is_less() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod(annotations=simulate(stop_after="1h")))
        await stage.until("web", phase_is("Running"))
        await stage.client.delete(Pod, "web", namespace="default", grace_period_seconds=30)
        await stage.pass_time(20)
        still = await stage.client.get(Pod, "web", namespace="default")
        assert container(still).state.running is not None
        await stage.client.delete(Pod, "web", namespace="default", grace_period_seconds=5)
        await stage.pass_time(2)
        await stage.until_gone("web")

    play(scenario)


def test_a_pod_that_vanished_is_killed_and_gives_its_devices_back() -> None:
    async def scenario(stage: Stage) -> None:
        pod = await stage.add(make_pod(resource_claims=CLAIMS))
        await stage.until("web", phase_is("Running"))
        await stage.client.delete(Pod, "web", namespace="default", grace_period_seconds=0)
        await stage.pass_time(2)
        assert await stage.runtime.list_sandboxes() == []
        assert stage.claims.calls == ["prepare web", "unprepare web"]
        assert stage.health.frozen == [pod.metadata.uid]

    play(scenario)


def test_sidecars_end_last_in_reverse_and_hooks_take_from_the_grace_period() -> None:
    async def scenario(stage: Stage) -> None:
        hook = Lifecycle(pre_stop=LifecycleHandler(sleep=SleepAction(seconds=4)))
        main = image("main", lifecycle=write_part(hook))
        pod = make_pod(
            containers=(main,),
            init_containers=(
                image("first", restart_policy="Always"),
                image("second", restart_policy="Always"),
            ),
            annotations=simulate(stop_after="2s"),
        )
        await stage.add(pod)
        await stage.until("web", phase_is("Running"))
        await stage.client.delete(Pod, "web", namespace="default", grace_period_seconds=30)
        ends: dict[str, float] = {}
        for second in range(1, 12):
            await stage.pass_time(1)
            found = {one.name: one.state.value for one in await stage.runtime.list_containers()}
            for name in ("main", "second", "first"):
                if found.get(name, "exited") == "exited":
                    ends.setdefault(name, second)
        assert ends == {"main": 6, "second": 8, "first": 10}
        await stage.until_gone("web")

    play(scenario)


def test_a_pod_past_its_deadline_is_failed() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod(active_deadline_seconds=60))
        await stage.until("web", phase_is("Running"))
        await stage.pass_time(60)
        failed = await stage.until("web", phase_is("Failed"))
        assert failed.status.reason == "DeadlineExceeded"
        assert failed.status.message == (
            "Pod was active on the node longer than the specified deadline"
        )

    play(scenario)


# Probes ----------------------------------------------------------------------------------------


def test_a_container_is_ready_once_its_probe_says_so() -> None:
    async def scenario(stage: Stage) -> None:
        probe = Probe(http_get=HTTPGetAction(path="/", port=80), period_seconds=1)
        main = image("main", readiness_probe=write_part(probe))
        await stage.add(make_pod(containers=(main,), annotations=simulate(ready_after="3s")))
        running = await stage.until("web", phase_is("Running"))
        assert not container(running).ready
        ready = condition(running, "ContainersReady")
        assert ready is not None
        assert ready.message == "containers with unready status: [main]"
        await stage.pass_time(4, steps=4)
        await stage.until("web", lambda p: container(p).ready)
        assert stage.events.messages("Unhealthy")[0].startswith('Readiness probe failed: Get "http')

    play(scenario)


def test_a_container_that_fails_its_liveness_probe_is_restarted_whatever_it_exits_with() -> None:
    async def scenario(stage: Stage) -> None:
        probe = Probe(exec=ExecAction(command=("check",)), period_seconds=1, failure_threshold=2)
        main = image("main", liveness_probe=write_part(probe))
        pod = make_pod(
            containers=(main,),
            restart_policy="OnFailure",
            annotations=simulate(fail_after="5s"),
        )
        await stage.add(pod)
        await stage.until("web", phase_is("Running"))
        await stage.pass_time(8, steps=8)
        again = await stage.until("web", lambda p: container(p).restart_count == 1)
        assert again.status.phase == "Running"
        assert "Container main failed liveness probe, will be restarted" in stage.events.messages(
            "Killing"
        )

    play(scenario)


def test_a_startup_probe_holds_back_the_others() -> None:
    async def scenario(stage: Stage) -> None:
        startup = Probe(exec=ExecAction(command=("up",)), period_seconds=1, failure_threshold=30)
        main = image("main", startup_probe=write_part(startup))
        await stage.add(make_pod(containers=(main,), annotations=simulate(ready_after="5s")))
        running = await stage.until("web", phase_is("Running"))
        assert container(running).started is False
        await stage.pass_time(6, steps=6)
        started = await stage.until("web", lambda p: container(p).started is True)
        assert container(started).ready

    play(scenario)


# What goes wrong ---------------------------------------------------------------------------------


class ShakyRuntime(MemoryRuntime):
    """Fails as often as it is told to."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.lists_failing = 0
        self.sandboxes_failing = 0

    async def list_sandboxes(self) -> Sequence[Sandbox]:
        if self.lists_failing:
            self.lists_failing -= 1
            raise RuntimeFailed("the runtime is away", reason="")
        return await super().list_sandboxes()

    async def run_sandbox(self, config: SandboxConfig) -> str:
        if self.sandboxes_failing:
            self.sandboxes_failing -= 1
            raise RuntimeFailed("no network", reason="CreatePodSandboxError")
        return await super().run_sandbox(config)


def test_a_runtime_that_is_away_is_waited_for() -> None:
    async def scenario(stage: Stage) -> None:
        assert isinstance(stage.runtime, ShakyRuntime)
        await stage.add(make_pod())
        await stage.until("web", phase_is("Running"))
        await stage.stop()
        stage.runtime.lists_failing = 4
        await stage.start()
        await stage.pass_time(20, steps=20)
        pod = await stage.client.get(Pod, "web", namespace="default")
        assert pod.status.phase == "Running"
        assert stage.runtime.lists_failing == 0
        await stage.client.delete(Pod, "web", namespace="default")
        await stage.until_gone("web")

    play(scenario, ShakyRuntime)


async def lose_everything(stage: Stage) -> None:
    """The agent ends, and with it a runtime that only remembers; another starts."""
    await stage.stop()
    stage.runtime = MemoryRuntime(stage.clock)
    await stage.start()


def test_a_pod_that_never_restarts_has_failed_once_the_runtime_forgot_it() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod(restart_policy="Never", resource_claims=CLAIMS))
        await stage.until("web", phase_is("Running"))
        await lose_everything(stage)
        failed = await stage.until("web", phase_is("Failed"))
        ended = container(failed).state.terminated
        assert ended is not None
        assert (ended.reason, ended.exit_code) == ("ContainerStatusUnknown", 137)
        assert container(failed).restart_count == 0
        assert await stage.runtime.list_sandboxes() == []
        assert stage.claims.calls == ["prepare web", "unprepare web"]

    play(scenario)


def test_a_container_that_succeeded_is_not_run_again_after_the_runtime_forgot_it() -> None:
    async def scenario(stage: Stage) -> None:
        pod = await stage.add(
            make_pod(containers=(image("main"), image("done")), restart_policy="OnFailure")
        )
        await stage.until("web", phase_is("Running"))
        stage.runtime.exit_container(pod.metadata.uid, "done", 0)
        await stage.until("web", lambda p: container(p, "done").state.terminated is not None)
        await lose_everything(stage)
        again = await stage.until(
            "web", lambda p: container(p).restart_count == 1 and container(p).ready
        )
        ended = container(again, "done").state.terminated
        assert ended is not None
        assert (ended.exit_code, container(again, "done").restart_count) == (0, 0)
        assert [one.name for one in await stage.runtime.list_containers()] == ["main"]

    play(scenario)


class SlowRuntime(MemoryRuntime):
    """Answers so many questions, and then waits."""

    answers = 1_000

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.gate = asyncio.Event()

    async def list_sandboxes(self) -> Sequence[Sandbox]:
        if not self.answers:
            await self.gate.wait()
        self.answers -= 1
        return await super().list_sandboxes()


def test_nothing_is_reported_before_the_runtime_was_asked() -> None:
    async def scenario(stage: Stage) -> None:
        assert isinstance(stage.runtime, SlowRuntime)
        pod = await stage.add(make_pod(restart_policy="Never"))
        await stage.until("web", phase_is("Running"))
        await stage.settle()
        running = await stage.client.get(Pod, "web", namespace="default")
        await stage.stop()
        stage.runtime.answers = 1  # of the look that finds out which pods there are
        await stage.start()
        await stage.settle()
        stage.health.change(pod.metadata.uid)
        await stage.settle()
        assert await stage.client.get(Pod, "web", namespace="default") == running
        stage.runtime.answers = 1_000
        stage.runtime.gate.set()
        await stage.settle()
        assert await stage.client.get(Pod, "web", namespace="default") == running

    play(scenario, SlowRuntime)


def test_a_sandbox_that_cannot_be_made_is_tried_again() -> None:
    async def scenario(stage: Stage) -> None:
        assert isinstance(stage.runtime, ShakyRuntime)
        stage.runtime.sandboxes_failing = 2
        await stage.add(make_pod(resource_claims=CLAIMS))
        await stage.pass_time(4, steps=4)
        await stage.until("web", phase_is("Running"))
        assert (
            stage.events.messages("FailedCreatePodSandBox")
            == ["Failed to create pod sandbox: no network"] * 2
        )

    play(scenario, ShakyRuntime)


def test_volumes_that_cannot_be_mounted_hold_a_pod_back() -> None:
    async def scenario(stage: Stage) -> None:
        stage.storage.failures = [ConfigFailed('configmap "x" not found')]
        await stage.add(make_pod(resource_claims=CLAIMS))
        await stage.settle()
        assert stage.claims.calls == []
        assert stage.events.messages("FailedMount") == [
            'Unable to attach or mount volumes: configmap "x" not found'
        ]
        await stage.pass_time(1)
        await stage.until("web", phase_is("Running"))

    play(scenario)


def test_a_pod_that_others_declare_failed_is_ended() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod(resource_claims=CLAIMS))
        await stage.until("web", phase_is("Running"))
        patch = {"status": {"phase": "Failed", "reason": "Evicted"}}
        await stage.client.patch(Pod, "web", patch, namespace="default", subresource="status")
        await stage.settle()
        assert stage.claims.calls == ["prepare web", "unprepare web"]
        pod = await stage.client.get(Pod, "web", namespace="default")
        assert (pod.status.phase, pod.status.reason) == ("Failed", "Evicted")
        assert container(pod).state.terminated is not None

    play(scenario)


def test_a_sidecar_that_ends_is_started_again_while_the_pod_runs() -> None:
    async def scenario(stage: Stage) -> None:
        sidecar = image("proxy", restart_policy="Always")
        pod = await stage.add(make_pod(init_containers=(sidecar,), restart_policy="Never"))
        await stage.until("web", phase_is("Running"))
        stage.runtime.exit_container(pod.metadata.uid, "proxy", 1)
        again = await stage.until("web", lambda p: container(p, "proxy").restart_count == 1)
        assert again.status.phase == "Running"
        assert container(again).restart_count == 0

    play(scenario)


def test_another_image_replaces_the_container() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod())
        await stage.until("web", phase_is("Running"))
        patch = {"spec": {"containers": [{"name": "main", "image": "registry.example/main:2"}]}}
        await stage.client.patch(Pod, "web", patch, namespace="default", type=PatchType.STRATEGIC)
        again = await stage.until("web", lambda p: container(p).restart_count == 1)
        assert container(again).image == "registry.example/main:2"
        assert stage.events.messages("Killing") == [
            "Container main definition changed, will be restarted"
        ]

    play(scenario)


# Restart rules -----------------------------------------------------------------------------------


def rule(action: str, code: int) -> ContainerRestartRule:
    codes = ContainerRestartRuleOnExitCodes(operator="In", values=(code,))
    return ContainerRestartRule(action=action, exit_codes=codes)


def test_a_rule_restarts_a_container_of_a_pod_that_never_restarts() -> None:
    async def scenario(stage: Stage) -> None:
        main = image("main", restart_policy="Never", restart_policy_rules=(rule("Restart", 42),))
        pod = await stage.add(make_pod(containers=(main,), restart_policy="Never"))
        await stage.until("web", phase_is("Running"))
        stage.runtime.exit_container(pod.metadata.uid, "main", 42)
        await stage.until("web", lambda p: container(p).restart_count == 1)
        stage.runtime.exit_container(pod.metadata.uid, "main", 1)
        await stage.until("web", phase_is("Failed"))

    play(scenario)


def test_a_rule_restarts_all_containers_without_preparing_again() -> None:
    async def scenario(stage: Stage) -> None:
        trainer = image(
            "main", restart_policy="Never", restart_policy_rules=(rule("RestartAllContainers", 88),)
        )
        pod = await stage.add(
            make_pod(
                containers=(trainer, image("other")),
                init_containers=(image("setup"),),
                restart_policy="Never",
                resource_claims=CLAIMS,
                annotations=simulate(exit_after__setup="1s"),
            )
        )
        await stage.until("web", lambda p: bool(p.status.init_container_statuses))
        await stage.pass_time(1)
        running = await stage.until("web", phase_is("Running"))
        sandbox = (await stage.runtime.list_sandboxes())[0].id
        stage.runtime.exit_container(pod.metadata.uid, "main", 88)
        again = await stage.until("web", lambda p: container(p, "setup").restart_count == 1)
        assert again.status.phase == "Pending"
        restarting = condition(running, "AllContainersRestarting")
        assert restarting is not None
        await stage.pass_time(1)
        done = await stage.until(
            "web",
            lambda p: p.status.phase == "Running" and container(p, "other").restart_count == 1,
        )
        assert container(done).restart_count == 1
        assert (await stage.runtime.list_sandboxes())[0].id == sandbox
        assert stage.claims.calls == ["prepare web"]

    play(scenario)


# Devices ---------------------------------------------------------------------------------------


def test_a_transient_failure_is_told_and_tried_again() -> None:
    async def scenario(stage: Stage) -> None:
        stage.claims.prepare_failures = [failure(ErrorClass.TRANSIENT, "busy") for _ in range(2)]
        await stage.add(make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS))
        pending = await stage.until("web", lambda p: condition(p, DEVICES_PREPARED) is not None)
        told = condition(pending, DEVICES_PREPARED)
        assert told is not None
        assert (told.status, told.reason) == ("False", "PrepareFailed")
        assert told.message.startswith(
            "driver gpu.dev: ResourceClaim default/gpu: device node-1/gpu-0: busy (attempt 1, next"
        )
        assert pending.status.phase == "Pending"
        assert waits_for("ContainerCreating")(pending)
        assert stage.events.events[0] == (
            "Warning",
            "FailedPrepareDynamicResources",
            "Failed to prepare dynamic resources: prepare dynamic resources: busy",
        )
        await stage.pass_time(1)
        assert stage.claims.calls == ["prepare web"] * 2
        await stage.pass_time(2)
        running = await stage.until("web", phase_is("Running"))
        told = condition(running, DEVICES_PREPARED)
        assert told is not None
        assert told.status == "True"

    play(scenario)


def test_a_driver_that_returns_is_asked_at_once() -> None:
    async def scenario(stage: Stage) -> None:
        stage.claims.prepare_failures = [failure(ErrorClass.UNKNOWN) for _ in range(6)]
        await stage.add(make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS))
        for seconds in (1, 2, 4, 8, 16):
            await stage.pass_time(seconds)
        assert len(stage.claims.calls) == 6
        stage.plugins.change(PluginChange(FakePlugin("other.dev"), Change.CONNECTED))
        await stage.settle()
        assert len(stage.claims.calls) == 6
        stage.plugins.change(PluginChange(FakePlugin("gpu.dev"), Change.CONNECTED))
        await stage.until("web", phase_is("Running"))
        assert len(stage.claims.calls) == 7

    play(scenario)


@pytest.mark.parametrize(
    ("error_class", "reason", "disrupted"),
    [
        (ErrorClass.INVALID_CONFIG, "InvalidDeviceConfig", False),
        (ErrorClass.DEVICE_FAILED, "DeviceFailed", True),
        (ErrorClass.PERMANENT, "DevicePrepareFailed", False),
    ],
)
def test_a_failure_that_will_not_pass_ends_the_pod(
    error_class: ErrorClass, reason: str, disrupted: bool
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.claims.prepare_failures = [failure(error_class, "broken")]
        await stage.add(make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS))
        failed = await stage.until("web", phase_is("Failed"))
        assert failed.status.reason == reason
        assert failed.status.message == (
            "driver gpu.dev: ResourceClaim default/gpu: device node-1/gpu-0: broken"
        )
        target = condition(failed, "DisruptionTarget")
        assert (target is not None and target.status == "True") is disrupted
        assert stage.claims.calls == ["prepare web", "unprepare web"]
        assert await stage.runtime.list_sandboxes() == []
        await stage.pass_time(300)
        assert stage.claims.calls == ["prepare web", "unprepare web"]

    play(scenario)


def test_a_pod_stays_until_its_devices_are_given_back() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.add(make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS))
        await stage.until("web", phase_is("Running"))
        claim = ClaimName("default", "gpu", "1")
        gone = UnprepareFailed("gone", [ClaimFailure(claim, "gone", "gpu.dev")])
        stage.claims.unprepare_failures = [gone, gone]
        await stage.client.delete(Pod, "web", namespace="default")
        stuck = await stage.until("web", lambda p: condition(p, DEVICES_RELEASED) is not None)
        told = condition(stuck, DEVICES_RELEASED)
        assert told is not None
        assert (told.status, told.reason) == ("False", "UnprepareFailed")
        assert stuck.status.phase == "Running"
        assert stage.events.messages("FailedUnprepareDynamicResources") == [
            "Failed to unprepare dynamic resources: unprepare dynamic resources: gone"
        ]
        await stage.pass_time(1)
        await stage.pass_time(2)
        await stage.until_gone("web")
        assert stage.claims.calls.count("unprepare web") == 3

    play(scenario)


def test_a_pod_deleted_while_it_is_prepared_is_unprepared_after() -> None:
    async def scenario(stage: Stage) -> None:
        stage.claims.gate = asyncio.Event()
        await stage.add(make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS))
        await stage.settle()
        await stage.client.delete(Pod, "web", namespace="default")
        await stage.settle()
        assert stage.claims.calls == ["prepare web"]
        stage.claims.gate.set()
        await stage.until_gone("web")
        assert stage.claims.calls == ["prepare web", "unprepare web"]
        assert await stage.runtime.list_containers() == []

    play(scenario)


def test_devices_the_runtime_cannot_resolve_are_asked_of_their_driver_again() -> None:
    lost = ["gpu.dev/gpu=0"]

    async def scenario(stage: Stage) -> None:
        stage.claims.devices["main"] = ("gpu.dev/gpu=0",)
        stage.claims.on_refresh = lost.clear
        await stage.add(make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS))
        await stage.until("web", phase_is("Running"))
        assert stage.claims.calls == ["prepare web", "refresh web"]

    def unresolved(devices: Any) -> list[str]:
        return [device for device in devices if device in lost]

    play(scenario, lambda clock: MemoryRuntime(clock, unresolved=unresolved))


def test_devices_that_were_asked_for_again_go_by_the_names_they_have_now() -> None:
    async def scenario(stage: Stage) -> None:
        stage.claims.devices["main"] = ("gpu.dev/gpu=old",)
        stage.claims.on_refresh = lambda: stage.claims.devices.update(main=("gpu.dev/gpu=new",))
        await stage.add(make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS))
        await stage.until("web", phase_is("Running"))
        assert stage.claims.calls == ["prepare web", "refresh web"]

    def unresolved(devices: Any) -> list[str]:
        return [device for device in devices if device == "gpu.dev/gpu=old"]

    play(scenario, lambda clock: MemoryRuntime(clock, unresolved=unresolved))


def test_devices_nobody_brings_back_are_not_asked_for_without_pause() -> None:
    async def scenario(stage: Stage) -> None:
        stage.claims.devices["main"] = ("gpu.dev/gpu=0",)
        await stage.add(make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS))
        await stage.until("web", waits_for("CreateContainerError"))
        assert stage.claims.calls == ["prepare web", "refresh web"]
        await stage.pass_time(120, steps=120)
        assert 5 <= stage.claims.calls.count("refresh web") <= 10

    play(scenario, lambda clock: MemoryRuntime(clock, unresolved=lambda devices: devices))


def test_health_is_reported_at_once_and_kept_when_the_pod_is_over() -> None:
    async def scenario(stage: Stage) -> None:
        pod = await stage.add(
            make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS, restart_policy="Never")
        )
        await stage.until("web", phase_is("Running"))
        sick = ResourceStatus(
            name="claim:gpu",
            resources=(ResourceHealth(resource_id="0", health="Unhealthy", message="ECC"),),
        )
        stage.health.found["main"] = (sick,)
        stage.health.change(pod.metadata.uid)
        await stage.until("web", lambda p: container(p).allocated_resources_status == (sick,))
        stage.runtime.exit_container(pod.metadata.uid, "main", 1)
        failed = await stage.until("web", phase_is("Failed"))
        assert container(failed).allocated_resources_status == (sick,)
        await stage.stop()
        stage.health.found.clear()
        await stage.start()
        await stage.settle()
        kept = await stage.client.get(Pod, "web", namespace="default")
        assert container(kept).allocated_resources_status == (sick,)

    play(scenario)


def test_a_status_that_comes_back_is_no_reason_to_look_at_containers() -> None:
    async def scenario(stage: Stage) -> None:
        pod = await stage.add(make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS))
        await stage.until("web", phase_is("Running"))
        await stage.settle()
        looks = count_looks(stage.runtime)
        sick = ResourceStatus(
            name="claim:gpu", resources=(ResourceHealth(resource_id="0", health="Unhealthy"),)
        )
        stage.health.found["main"] = (sick,)
        stage.health.change(pod.metadata.uid)
        await stage.until("web", lambda p: container(p).allocated_resources_status == (sick,))
        await stage.settle()
        assert looks == []
        labelled = {"metadata": {"labels": {"a": "b"}}}
        await stage.client.patch(Pod, "web", labelled, namespace="default")
        await stage.settle()
        assert looks == ["look"]

    play(scenario)


def count_looks(runtime: MemoryRuntime) -> list[str]:
    looks: list[str] = []
    list_sandboxes = runtime.list_sandboxes

    async def counted() -> Sequence[Sandbox]:
        looks.append("look")
        return await list_sandboxes()

    runtime.list_sandboxes = counted  # type: ignore[method-assign]  # the runtime is the test's
    return looks


def test_health_is_reported_while_the_pod_waits_for_its_driver() -> None:
    async def scenario(stage: Stage) -> None:
        stage.claims.gate = asyncio.Event()
        pod = await stage.add(make_pod(containers=(GPU_CONTAINER,), resource_claims=CLAIMS))
        await stage.until("web", waits_for("ContainerCreating"))
        sick = ResourceStatus(
            name="claim:gpu", resources=(ResourceHealth(resource_id="0", health="Unhealthy"),)
        )
        stage.health.found["main"] = (sick,)
        stage.health.change(pod.metadata.uid)
        await stage.until("web", lambda p: container(p).allocated_resources_status == (sick,))
        stage.claims.gate.set()

    play(scenario)


DEVICES_PREPARED = "dray.dev/DevicesPrepared"
DEVICES_RELEASED = "dray.dev/DevicesReleased"


class FakePlugin:
    """A driver in name only."""

    instance = ""
    connected = True
    offers_health = False
    service: Any = None

    def __init__(self, driver: str) -> None:
        self.driver = driver
