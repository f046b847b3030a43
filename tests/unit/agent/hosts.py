"""A node with everything but containers: a real agent, a real API server, a driver, and files.

Time stands still until the test lets it pass. The directory, the runtime's containers and the
driver outlive an agent, as they do on a machine.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace as replaced
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dray.agent.agent import Agent
from dray.agent.plugins.plugin import PluginService
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.settings import AgentSettings
from dray.api.core import (
    Container,
    Pod,
    PodResourceClaim,
    PodSpec,
    ResourceRequirements,
)
from dray.api.core import ResourceClaim as ContainerClaim
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from dray.api.wire import replace
from dray.client import EventType
from dray.drivers.simulated import Faults, SimulatedDriver, default_fleet
from dray.entropy import SeededEntropy
from dray.sdk import Settings, serve
from dray.sdk._runner import RunningDriver
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

__all__ = ["DRIVER", "NODE", "Host", "health_of"]

NODE = "node-1"
DRIVER = default_fleet().driver

# Real time: for what has gone wrong, never for what takes long.
PATIENCE_SECONDS = 20.0


class Host:
    """Entered with an API server; agents and drivers are started by the test."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.cluster = Cluster(clock=self.clock)
        self.runtime = MemoryRuntime(self.clock)
        self._directory = tempfile.TemporaryDirectory(prefix="dray", dir="/tmp")
        self.settings = AgentSettings(node_name=NODE, root=Path(self._directory.name))
        self._running: asyncio.Task[None] | None = None

    @property
    def root(self) -> Path:
        return self.settings.root

    async def __aenter__(self) -> Self:
        await self.cluster.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()
        await self.cluster.__aexit__(kind, error, traceback)
        self._directory.cleanup()

    async def start(
        self, *, prepare: Callable[[Agent], object] | None = None, **settings: Any
    ) -> Agent:
        """An agent, once it is ready; `prepare` is called before it runs."""
        self.settings = replaced(self.settings, **settings)
        agent = Agent(
            self.cluster.client_of(f"system:node:{NODE}", groups=("system:nodes",)),
            self.runtime,
            self.settings,
            clock=self.clock,
            entropy=SeededEntropy(7),
        )
        if prepare is not None:
            prepare(agent)
        self._running = asyncio.ensure_future(agent.run())
        ready = asyncio.ensure_future(agent.ready())
        await asyncio.wait((ready, self._running), return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            failed, self._running = self._running, None
            failed.result()
        return agent

    async def stop(self) -> None:
        """End the agent; everything else goes on."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
            self._running = None

    @asynccontextmanager
    async def driver(self, faults: Faults | None = None) -> AsyncIterator[RunningDriver]:
        """A driver in this process, without files or sockets."""
        driver = SimulatedDriver(default_fleet(), faults)
        place = Settings(node_name=NODE, in_memory=True)
        async with serve(
            driver,
            place,
            client=self.cluster.client,
            clock=self.clock,
            entropy=SeededEntropy(8),
        ) as running:
            yield running

    @asynccontextmanager
    async def node(
        self, service: PluginService | None = None, **settings: Any
    ) -> AsyncIterator[Agent]:
        """An agent with a driver: one of the test's own, or a simulated one."""
        async with AsyncExitStack() as stack:
            if service is None:
                service = (await stack.enter_async_context(self.driver())).service
            agent = await self.start(**settings)
            stack.callback(agent.attach(DRIVER, service))
            stack.push_async_callback(self.stop)
            yield agent

    # The cluster --------------------------------------------------------------------------------

    async def add(self, name: str, *devices: str) -> Pod:
        """A pod on the node, with a claim of its name that has these devices."""
        client = self.cluster.client
        request = ExactDeviceRequest(device_class_name="class.example.com")
        claim = await client.create(
            ResourceClaim(
                metadata=ObjectMeta(name=name, namespace="default"),
                spec=ResourceClaimSpec(
                    devices=DeviceClaim(requests=(DeviceRequest(name="r", exactly=request),))
                ),
            )
        )
        pod = await client.create(_pod(name))
        results = tuple(
            DeviceRequestAllocationResult(request="r", driver=DRIVER, pool=NODE, device=device)
            for device in devices
        )
        consumer = ResourceClaimConsumerReference(resource="pods", name=name, uid=pod.metadata.uid)
        status = ResourceClaimStatus(
            allocation=AllocationResult(devices=DeviceAllocationResult(results=results)),
            reserved_for=(consumer,),
        )
        await client.update_status(replace(claim, status=status))
        patch = {"metadata": {"labels": {"ready": "yes"}}}
        return await client.patch(Pod, name, patch, namespace="default")

    async def until(self, name: str, holds: Callable[[Pod], bool]) -> Pod:
        """The pod, once the API shows it so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            watch = self.cluster.client.watch(Pod, field_selector=f"metadata.name={name}")
            async for event in watch:
                if event.type is not EventType.BOOKMARK and holds(event.object):
                    return event.object
        raise AssertionError("the watch ended")

    async def get(self, name: str) -> Pod:
        return await self.cluster.client.get(Pod, name, namespace="default")

    async def settle(self) -> None:
        """Let everything that can happen now happen."""
        for _ in range(300):
            await asyncio.sleep(0)

    async def pass_time(self, seconds: float, *, steps: int = 1) -> None:
        for _ in range(steps):
            await self.settle()
            self.clock.advance(seconds / steps)
        await self.settle()


def _pod(name: str) -> Pod:
    claims = (ContainerClaim(name="device"),)
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=PodSpec(
            node_name=NODE,
            containers=(
                Container(
                    name="main",
                    image="registry.example/main:1",
                    resources=ResourceRequirements(claims=claims),
                ),
            ),
            resource_claims=(PodResourceClaim(name="device", resource_claim_name=name),),
        ),
    )


def health_of(pod: Pod) -> list[tuple[str, str]]:
    """Health and message of every device that the pod's containers show."""
    return [
        (resource.health or "", resource.message or "")
        for status in pod.status.container_statuses
        for entry in status.allocated_resources_status
        for resource in entry.resources
    ]
