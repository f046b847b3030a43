"""A node for scenarios: a real API server, a runtime in memory, claims and health as told."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dray.agent.claims.claim_info import ClaimInfo, ClaimName
from dray.agent.plugins.plugin import PluginChange
from dray.agent.pods.manager import PodManager
from dray.agent.pods.starting import ConfigFailed
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import Container as RunContainer
from dray.api.core import Container, Pod, PodSpec, ResourceStatus
from dray.api.meta import Object, ObjectMeta
from dray.client import Client, Informer
from dray.entropy import SeededEntropy
from dray.errors import NotFound
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

NODE = "node-1"


class FakeClaims:
    """Prepares whatever it is asked to, unless told what to fail with."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.prepare_failures: list[Exception] = []
        self.unprepare_failures: list[Exception] = []
        self.held: dict[str, tuple[ClaimInfo, ...]] = {}
        self.devices: dict[str, tuple[str, ...]] = {}
        self.gate: asyncio.Event | None = None
        self.on_refresh: Callable[[], object] = int  # does nothing

    async def prepare(self, pod: Pod) -> None:
        self.calls.append(f"prepare {pod.metadata.name}")
        self.held[pod.metadata.uid] = (ClaimInfo(ClaimName("default", "claim", "1")),)
        if self.gate is not None:
            await self.gate.wait()
        if self.prepare_failures:
            raise self.prepare_failures.pop(0)

    async def refresh(self, pod: Pod) -> None:
        self.calls.append(f"refresh {pod.metadata.name}")
        self.on_refresh()
        if self.prepare_failures:
            raise self.prepare_failures.pop(0)

    async def unprepare(self, pod: Pod) -> None:
        self.calls.append(f"unprepare {pod.metadata.name}")
        if self.unprepare_failures:
            raise self.unprepare_failures.pop(0)
        self.held.pop(pod.metadata.uid, None)

    def cdi_devices(self, pod: Pod, container_name: str) -> tuple[str, ...]:
        return self.devices.get(container_name, ())

    def claims_of(self, pod_uid: str) -> Sequence[ClaimInfo]:
        return self.held.get(pod_uid, ())


class FakeHealth:
    """Says what it was given."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[ResourceStatus, ...]] = {}
        self.frozen: list[str] = []
        self.forgotten: list[str] = []
        self.retained: Collection[str] | None = None
        self._listeners: list[Callable[[frozenset[str]], None]] = []

    def statuses(self, pod: Pod, container_name: str) -> tuple[ResourceStatus, ...]:
        return self.found.get(container_name, ())

    def listen(self, listener: Callable[[frozenset[str]], None]) -> None:
        self._listeners.append(listener)

    def freeze(self, pod: Pod) -> None:
        self.frozen.append(pod.metadata.uid)

    def forget(self, pod_uid: str) -> None:
        self.forgotten.append(pod_uid)

    def retain(self, pod_uids: Collection[str]) -> None:
        self.retained = pod_uids

    def change(self, uid: str) -> None:
        for listener in self._listeners:
            listener(frozenset({uid}))


class FakePlugins:
    """Says when a driver is back."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[PluginChange], None]] = []

    def listen(self, listener: Callable[[PluginChange], None]) -> None:
        self._listeners.append(listener)

    def change(self, change: PluginChange) -> None:
        for listener in self._listeners:
            listener(change)


class Recorder:
    """Events in the order they came."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.paths: list[str] = []

    def record(
        self,
        regarding: Object,
        type: str,  # noqa: A002
        reason: str,
        message: str,
        *,
        field_path: str = "",
    ) -> None:
        self.events.append((type, reason, message))
        self.paths.append(field_path)

    @property
    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.events]

    def messages(self, reason: str) -> list[str]:
        return [message for _, found, message in self.events if found == reason]


class FakeStorage:
    """Nothing to mount."""

    def __init__(self) -> None:
        self.failures: list[ConfigFailed] = []
        self.torn_down: list[str] = []
        self.retained: Collection[str] | None = None

    async def set_up(self, pod: Pod) -> None:
        if self.failures:
            raise self.failures.pop(0)

    async def release(self, pod_uid: str) -> None:
        pass

    def refreshes(self, pod: Pod) -> bool:
        return False

    async def tear_down(self, pod_uid: str) -> None:
        self.torn_down.append(pod_uid)

    async def retain(self, pod_uids: Collection[str]) -> None:
        self.retained = pod_uids

    def last_words(self, pod: Pod, container: RunContainer) -> str:
        return ""


class Stage:
    """One node, started on entering and stopped on leaving. Its pods outlive an agent."""

    def __init__(
        self,
        *,
        make_runtime: Callable[[FakeClock], MemoryRuntime] = MemoryRuntime,
        pods_max: int | None = None,
    ) -> None:
        self._pods_max = pods_max
        self.clock = FakeClock()
        self.cluster = Cluster(clock=self.clock)
        self.runtime = make_runtime(self.clock)
        self.claims = FakeClaims()
        self.health = FakeHealth()
        self.plugins = FakePlugins()
        self.events = Recorder()
        self.storage = FakeStorage()
        self.manager: PodManager | None = None
        self._agent: asyncio.Task[None] | None = None
        self._directory = tempfile.TemporaryDirectory(prefix="dray")
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self.cluster.__aenter__()
        await self.cluster.add_node(NODE)
        await self.start()
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

    @property
    def client(self) -> Client:
        return self.cluster.client

    async def start(self) -> None:
        """Start an agent, with the rights of a node."""
        client = self.cluster.client_of(f"system:node:{NODE}", groups=("system:nodes",))
        pods: Informer[Pod] = Informer(
            client,
            Pod,
            clock=self.clock,
            entropy=SeededEntropy(1),
            field_selector=f"spec.nodeName={NODE}",
        )
        self.pods = pods
        self.node_client = client
        self.manager = PodManager(
            client,
            self.runtime,
            self.claims,
            self.health,
            pods=pods,
            node_name=NODE,
            root=Path(self._directory.name),
            clock=self.clock,
            entropy=SeededEntropy(2),
            events=self.events,
            simulated=True,
            storage=self.storage,
            plugins=self.plugins,
            host_addresses=("192.0.2.1",),
            pods_max=self._pods_max,
        )
        pods.listen(lambda before, now: self._changed.set())

        async def agent(manager: PodManager) -> None:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(pods.run())
                tasks.create_task(manager.run())

        self._agent = asyncio.ensure_future(agent(self.manager))

    async def stop(self) -> None:
        """Stop the agent; pods go on."""
        if self._agent is not None:
            self._agent.cancel()
            await asyncio.gather(self._agent, return_exceptions=True)
            self._agent = None

    async def add(self, pod: Pod) -> Pod:
        return await self.client.create(pod)

    async def until(self, name: str, holds: Callable[[Pod], bool]) -> Pod:
        """Wait until the API shows the pod so."""
        while True:
            self._changed.clear()
            if self._agent is not None and self._agent.done():
                self._agent.result()
            found = self.pods.get(name, "default")
            if found is not None and holds(found):
                return found
            async with asyncio.timeout(5):
                await self._changed.wait()

    async def until_gone(self, name: str) -> None:
        while True:
            self._changed.clear()
            try:
                await self.client.get(Pod, name, namespace="default")
            except NotFound:
                return
            async with asyncio.timeout(5):
                await self._changed.wait()

    async def settle(self) -> None:
        """Let everything that can happen now happen."""
        for _ in range(200):
            await asyncio.sleep(0)

    async def pass_time(self, seconds: float, *, steps: int = 1) -> None:
        """Let time pass, a step at a time."""
        for _ in range(steps):
            await self.settle()
            self.clock.advance(seconds / steps)
        await self.settle()


def make_pod(
    name: str = "web",
    *,
    containers: Sequence[Container] = (Container(name="main", image="registry.example/main:1"),),
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Pod:
    """A pod on the node."""
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", annotations=dict(annotations or {})),
        spec=PodSpec(node_name=NODE, containers=tuple(containers), **spec),
    )
