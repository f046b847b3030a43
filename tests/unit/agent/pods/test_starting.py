"""Starting containers. Backoffs and devices in a pod's life are in test_worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from dray.agent.claims.failures import ClaimInfoMissing
from dray.agent.pods.checks import Checker
from dray.agent.pods.container_statuses import Waiting
from dray.agent.pods.devices import DeviceKeeper
from dray.agent.pods.hooks import Hooks
from dray.agent.pods.plan import Kind, Start
from dray.agent.pods.pod_state import Look, PodState
from dray.agent.pods.starting import ConfigFailed, Starter, pod_text
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.memory import MISSING_IMAGES, MemoryRuntime
from dray.agent.runtimes.runtime import (
    ContainerConfig,
    ContainerState,
    PodIdentity,
    Sandbox,
    SandboxConfig,
)
from dray.api.carried import write_part
from dray.api.core import Container, Pod, PodResourceClaim, PodSpec
from dray.api.core.parts import ExecAction, Lifecycle, LifecycleHandler
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from tests.unit.agent.pods.stage import FakeClaims, FakeHealth, Recorder

T = TypeVar("T")

ID = PodIdentity("default", "web", "uid")


class Set:
    """A starter and everything around it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.runtime = MemoryRuntime(self.clock)
        self.claims, self.events = FakeClaims(), Recorder()
        self.failures: list[Exception] = []
        entropy = SeededEntropy(1)
        devices = DeviceKeeper(
            self.claims, FakeHealth(), self.events, clock=self.clock, entropy=entropy
        )
        self.starter = Starter(
            self.runtime,
            self._configure,
            devices,
            Hooks(Checker(self.runtime, clock=self.clock), clock=self.clock),
            self.events,
            clock=self.clock,
            entropy=entropy,
            report=int,  # type: ignore[arg-type] # does nothing
            patiently=self._patiently,
        )

    async def _configure(self, pod: Pod, start: Start, sandbox: Sandbox) -> ContainerConfig:
        if self.failures:
            raise self.failures.pop(0)
        return ContainerConfig(start.container.name, start.attempt, start.container.image)

    async def _patiently(self, awaitable: Awaitable[T]) -> T:
        return await awaitable

    async def state(self) -> PodState:
        await self.runtime.run_sandbox(SandboxConfig(ID, 0, "web", ""))
        sandboxes = await self.runtime.list_sandboxes()
        return Look(sandboxes, await self.runtime.list_containers()).state(ID.uid)

    async def start(self, container: Container, attempt: int = 0) -> bool:
        start = Start(container, Kind.MAIN, attempt)
        return await self.starter.start(make(container), start, await self.state())


def make(container: Container) -> Pod:
    return Pod(
        metadata=ObjectMeta(name="web", namespace="default", uid="uid"),
        spec=PodSpec(
            containers=(container,),
            resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="gpu"),),
        ),
    )


def play(scenario: Callable[[Set], Awaitable[None]]) -> None:
    async def run() -> None:
        await scenario(Set())

    asyncio.run(run())


MAIN = Container(name="main", image="app:1")
PRESENT = 'Container image "app:1" already present on machine'


def test_a_start_tells_its_story() -> None:
    async def scenario(found: Set) -> None:
        assert await found.start(MAIN)
        assert found.events.reasons == ["Pulled", "Created", "Started"]
        assert found.events.messages("Pulled") == [PRESENT]
        assert found.events.messages("Started") == ["Container started"]
        assert found.events.paths[-1] == "spec.containers{main}"
        state = await found.state()
        assert [one.state for one in state.containers] == [ContainerState.RUNNING]

    play(scenario)


def test_a_configuration_that_fails_waits_and_is_tried_again_later() -> None:
    async def scenario(found: Set) -> None:
        found.failures = [ConfigFailed('configmap "x" not found')]
        assert not await found.start(MAIN)
        assert found.starter.waiting["main"] == Waiting(
            "CreateContainerConfigError", 'configmap "x" not found'
        )
        assert found.events.messages("Failed") == ['Error: configmap "x" not found']
        start = Start(MAIN, Kind.MAIN, 0)
        seconds = found.starter.ready_in(make(MAIN), start, await found.state())
        assert 0.8 <= seconds <= 1
        found.clock.advance(seconds)
        assert found.starter.ready_in(make(MAIN), start, await found.state()) == 0
        assert await found.start(MAIN)
        assert found.starter.waiting == {}

    play(scenario)


def test_claims_the_node_forgot_are_prepared_again() -> None:
    async def scenario(found: Set) -> None:
        found.failures = [ClaimInfoMissing("unable to get claim info")]
        assert await found.start(MAIN)
        assert found.claims.calls == ["prepare web"]

    play(scenario)


def test_a_hook_that_fails_ends_the_container() -> None:
    async def scenario(found: Set) -> None:
        hook = Lifecycle(post_start=LifecycleHandler(exec=ExecAction(command=("hi",))))
        container = Container(name="main", image="app:1", lifecycle=write_part(hook))

        async def refuse(*arguments: Any, **options: Any) -> Any:
            raise TimeoutError

        found.runtime.execute = refuse  # type: ignore[method-assign] # always late
        assert not await found.start(container)
        assert found.starter.waiting["main"].reason == "PostStartHookError"
        assert found.events.reasons[-3:] == ["FailedPostStartHook", "Killing", "Failed"]
        state = await found.state()
        assert [one.state for one in state.containers] == [ContainerState.EXITED]

    play(scenario)


@pytest.mark.parametrize("policy", ["Always", "IfNotPresent", "Never"])
def test_nobody_says_that_an_image_was_pulled_that_was_there(policy: str) -> None:
    async def scenario(found: Set) -> None:
        await found.start(replace(MAIN, image_pull_policy=policy))
        assert found.events.messages("Pulled") == [PRESENT]
        assert "Pulling" not in found.events.reasons

    play(scenario)


def test_an_image_that_is_pulled_is_told_before_and_after() -> None:
    async def scenario(found: Set) -> None:
        async def pull(image: str) -> str:
            found.clock.advance(1.5)
            return image

        found.runtime.pull_image = pull  # type: ignore[method-assign] # there is such an image now
        assert await found.start(replace(MAIN, image=f"{MISSING_IMAGES}app:1"))
        assert found.events.reasons[:2] == ["Pulling", "Pulled"]
        assert found.events.messages("Pulled") == [
            f'Successfully pulled image "{MISSING_IMAGES}app:1" in 1.5s (1.5s including waiting)'
        ]

    play(scenario)


def test_an_image_that_may_not_be_pulled_and_is_not_there_is_waited_for() -> None:
    async def scenario(found: Set) -> None:
        image = f"{MISSING_IMAGES}app:1"
        assert not await found.start(replace(MAIN, image=image, image_pull_policy="Never"))
        text = f'Container image "{image}" is not present with pull policy of Never'
        assert found.starter.waiting["main"] == Waiting("ErrImageNeverPull", text)
        assert found.events.reasons == ["ErrImageNeverPull", "Failed"]

    play(scenario)


def test_a_runtime_that_fails_after_a_failed_pull_is_not_asked_at_once_again() -> None:
    async def scenario(found: Set) -> None:
        missing = replace(MAIN, image=f"{MISSING_IMAGES}app:1")
        assert not await found.start(missing)
        found.clock.advance(60)

        async def fail(image: str, *, always: bool = False) -> str:
            raise RuntimeFailed(f"image {image}: out of reach", reason="ImageInspectError")

        found.runtime.find_image = fail  # type: ignore[method-assign] # gone away
        assert not await found.start(missing)
        assert found.starter.waiting["main"].reason == "ImageInspectError"
        start = Start(missing, Kind.MAIN, 0)
        assert found.starter.ready_in(make(missing), start, await found.state()) > 0

    play(scenario)


def test_a_pod_is_named_as_upstream_names_it() -> None:
    assert pod_text(make(MAIN)) == "web_default(uid)"
