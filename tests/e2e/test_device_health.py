"""What a pod's status says of its devices, and when: driver, agent and API server together.

All of them are in this process, on one clock that stands still until the test lets it pass: that a
device is pushed as Unknown at its deadline means that nothing else happened meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, Self

import pytest

from dray.agent.plugins.plugin import PluginService
from dray.api.core import Pod
from dray.drivers.simulated import Fault, FaultKind, Faults
from dray.errors import TransientError
from dray.proto.dra_v1_pb2 import (
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import NodeWatchResourcesResponse
from tests.unit.agent.hosts import DRIVER, Host, health_of

pytestmark = pytest.mark.slow

# What the simulated driver says of its words, and how long words outlive their stream.
TIMEOUT_SECONDS = 20.0
GRACE_SECONDS = 5.0


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 60))


def shows(*health: str) -> Callable[[Pod], bool]:
    return lambda pod: [one for one, _ in health_of(pod)] == list(health)


class Wire:
    """A driver's service with a wire between it and the agent, which can be cut or go dead."""

    def __init__(self, service: PluginService) -> None:
        self._service = service
        self._cut = asyncio.Event()
        self._dead = False

    async def prepare(self, request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        return await self._service.prepare(request)

    async def unprepare(
        self, request: NodeUnprepareResourcesRequest
    ) -> NodeUnprepareResourcesResponse:
        return await self._service.unprepare(request)

    def cut(self) -> None:
        """Streams break, now and whenever one is opened."""
        self._cut.set()

    def mend(self) -> None:
        self._cut.clear()

    def die(self) -> None:
        """Streams stay open, and nothing comes any more."""
        self._dead = True

    async def watch_health(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        stream = aiter(self._service.watch_health())
        cut = asyncio.ensure_future(self._cut.wait())
        try:
            while True:
                report = asyncio.ensure_future(anext(stream))
                await asyncio.wait((report, cut), return_when=asyncio.FIRST_COMPLETED)
                if cut.done():
                    report.cancel()
                    await asyncio.wait((report,))
                    raise TransientError("the stream broke", driver=DRIVER)
                if self._dead:
                    await cut
                yield report.result()
        finally:
            cut.cancel()


class Node:
    """A host with a driver behind a wire, and a running pod."""

    def __init__(self) -> None:
        self.host = Host()
        self.faults = Faults()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.host)
        driver = await self._stack.enter_async_context(self.host.driver(self.faults))
        self.wire = Wire(driver.service)
        await self._stack.enter_async_context(self.host.node(self.wire))
        await self.host.add("web", "gpu-0")
        await self.host.pass_time(3.0, steps=12)
        await self.host.until("web", shows("Healthy"))
        return self

    async def __aexit__(self, *failed: object) -> None:
        await self._stack.aclose()

    async def health(self) -> list[tuple[str, str]]:
        await self.host.settle()
        return health_of(await self.host.get("web"))


def test_a_change_is_shown_without_any_time_passing() -> None:
    async def scenario() -> None:
        async with Node() as node:
            now = node.host.clock.monotonic()
            node.faults.inject(Fault(kind=FaultKind.UNHEALTHY, device="gpu-0", message="XID 79"))
            pod = await node.host.until("web", shows("Unhealthy"))
            assert health_of(pod) == [("Unhealthy", "XID 79")]
            assert node.host.clock.monotonic() == now

    run(scenario())


def test_a_broken_stream_is_believed_for_a_while_and_then_pushed_as_unknown() -> None:
    async def scenario() -> None:
        async with Node() as node:
            node.wire.cut()
            await node.host.pass_time(GRACE_SECONDS - 0.1)
            assert await node.health() == [("Healthy", "")]
            await node.host.pass_time(0.2)
            pod = await node.host.until("web", shows("Unknown"))
            [(_, message)] = health_of(pod)
            assert "last known Healthy at 2026-01-01T00:00" in message
            node.wire.mend()
            await node.host.pass_time(40.0, steps=80)
            await node.host.until("web", shows("Healthy"))

    run(scenario())


def test_a_stream_that_breaks_and_comes_back_leaves_no_trace_in_the_status() -> None:
    async def scenario() -> None:
        async with Node() as node:
            before = await node.host.get("web")
            node.wire.cut()
            await node.host.pass_time(1.0)
            node.wire.mend()
            await node.host.pass_time(15.0, steps=60)
            after = await node.host.get("web")
            assert after.metadata.resource_version == before.metadata.resource_version

    run(scenario())


def test_silence_on_an_open_stream_is_pushed_as_unknown_at_the_device_s_deadline() -> None:
    async def scenario() -> None:
        async with Node() as node:
            # One more report is heard, at a moment that is known.
            node.faults.inject(Fault(kind=FaultKind.UNHEALTHY, device="gpu-0", message="hot"))
            await node.host.until("web", shows("Unhealthy"))
            node.wire.die()
            await node.host.pass_time(TIMEOUT_SECONDS - 0.1, steps=10)
            assert await node.health() == [("Unhealthy", "hot")]
            await node.host.pass_time(0.2)
            pod = await node.host.until("web", shows("Unknown"))
            assert "last known Unhealthy at" in health_of(pod)[0][1]

    run(scenario())


def test_a_device_the_driver_stops_telling_of_becomes_unknown_while_others_stay() -> None:
    async def scenario() -> None:
        async with Node() as node:
            await node.host.add("other", "gpu-1")
            await node.host.pass_time(3.0, steps=12)
            await node.host.until("other", shows("Healthy"))
            node.faults.inject(Fault(kind=FaultKind.SILENT, device="gpu-0"))
            await node.host.pass_time(2 * TIMEOUT_SECONDS, steps=80)
            await node.host.until("web", shows("Unknown"))
            assert shows("Healthy")(await node.host.get("other"))

    run(scenario())


def test_a_driver_that_goes_away_is_unknown_and_one_that_comes_back_is_heard() -> None:
    async def scenario() -> None:
        async with Host() as host:
            agent = await host.start()
            async with host.driver() as driver:
                detach = agent.attach(DRIVER, driver.service)
                await host.add("web", "gpu-0")
                await host.pass_time(3.0, steps=12)
                await host.until("web", shows("Healthy"))
                detach()
            await host.pass_time(GRACE_SECONDS + 0.1, steps=10)
            await host.until("web", shows("Unknown"))
            faults = Faults()
            faults.inject(Fault(kind=FaultKind.UNHEALTHY, device="gpu-0", message="still bad"))
            async with host.driver(faults) as driver:
                agent.attach(DRIVER, driver.service)
                await host.pass_time(2.0, steps=10)
                pod = await host.until("web", shows("Unhealthy"))
                assert health_of(pod) == [("Unhealthy", "still bad")]
                await host.stop()

    run(scenario())


def test_after_a_restart_of_the_agent_nothing_old_is_believed() -> None:
    async def scenario() -> None:
        async with Host() as host, host.driver() as driver:
            agent = await host.start()
            agent.attach(DRIVER, driver.service)
            await host.add("web", "gpu-0")
            await host.pass_time(3.0, steps=12)
            await host.until("web", shows("Healthy"))
            await host.stop()
            agent = await host.start()
            await host.settle()
            pod = await host.until("web", shows("Unknown"))
            assert "last known Healthy" in health_of(pod)[0][1]
            agent.attach(DRIVER, driver.service)
            await host.until("web", shows("Healthy"))
            await host.stop()

    run(scenario())


def test_the_last_health_stays_with_a_pod_that_is_over() -> None:
    async def scenario() -> None:
        async with Node() as node:
            node.faults.inject(Fault(kind=FaultKind.UNHEALTHY, device="gpu-0", message="burnt"))
            pod = await node.host.until("web", shows("Unhealthy"))
            deadline = {"spec": {"activeDeadlineSeconds": 1}}
            await node.host.cluster.client.patch(Pod, "web", deadline, namespace="default")
            await node.host.pass_time(60.0, steps=60)
            ended = await node.host.until("web", lambda pod: pod.status.phase == "Failed")
            assert pod.metadata.uid == ended.metadata.uid
            assert health_of(ended) == [("Unhealthy", "burnt")]
            node.faults.recover()
            await node.host.pass_time(30.0, steps=10)
            assert await node.health() == [("Unhealthy", "burnt")]

    run(scenario())
