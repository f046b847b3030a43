"""Starting containers. Backoffs and devices in a pod's life are in test_worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from dray.agent.claims.failures import ClaimInfoMissing
from dray.agent.pods.checks import Checker
from dray.agent.pods.container_statuses import Waiting
from dray.agent.pods.devices import DeviceKeeper
from dray.agent.pods.hooks import Hooks
from dray.agent.pods.plan import Kind, Start
from dray.agent.pods.pod_state import Look, PodState
from dray.agent.pods.starting import ConfigFailed, Starter, pod_text
from dray.agent.runtimes.memory import MemoryRuntime
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


def test_a_start_tells_its_story() -> None:
    async def scenario(found: Set) -> None:
        always = Container(name="main", image="app:1", image_pull_policy="Always")
        assert await found.start(always)
        assert found.events.reasons == ["Pulling", "Pulled", "Created", "Started"]
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


def test_an_image_that_is_never_pulled_is_not() -> None:
    async def scenario(found: Set) -> None:
        await found.start(Container(name="main", image="app:1", image_pull_policy="Never"))
        assert found.runtime.pulled == set()

    play(scenario)


def test_a_pod_is_named_as_upstream_names_it() -> None:
    assert pod_text(make(MAIN)) == "web_default(uid)"
