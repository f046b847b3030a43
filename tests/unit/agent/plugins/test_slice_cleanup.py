"""Slices go when their driver stays away, and only then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from dray.agent.plugins.plugin import Change, Plugin, PluginChange, PluginService
from dray.agent.plugins.slice_cleanup import SliceCleanup
from dray.api.core import Node
from dray.api.meta import ObjectMeta
from dray.api.resource import ResourcePool, ResourceSlice, ResourceSliceSpec
from dray.client import Client
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.cluster import Cluster

NODE = "node-1"


class Plugged:
    """A plugin that is only there or not."""

    offers_health = False

    def __init__(self, driver: str, *, connected: bool = True) -> None:
        self.driver = driver
        self.instance = driver
        self.connected = connected

    @property
    def service(self) -> PluginService:
        raise AssertionError("nobody calls it")


class Board:
    """Plugins as a test sets them."""

    def __init__(self) -> None:
        self.plugins: dict[str, Plugged] = {}
        self._listeners: list[Callable[[PluginChange], None]] = []

    def set(self, driver: str, change: Change) -> None:
        plugin = self.plugins.setdefault(driver, Plugged(driver, connected=False))
        if change in (Change.CONNECTED, Change.DISCONNECTED):
            plugin.connected = change is Change.CONNECTED
        if change is Change.DEREGISTERED:
            del self.plugins[driver]
        for listener in self._listeners:
            listener(PluginChange(plugin, change))

    def find(self, driver: str) -> Plugin | None:
        return self.plugins.get(driver)

    def instances(self, driver: str) -> Sequence[Plugin]:
        return [plugin for name, plugin in self.plugins.items() if name == driver]

    def drivers(self) -> Sequence[str]:
        return sorted(self.plugins)

    def listen(self, listener: Callable[[PluginChange], None]) -> None:
        self._listeners.append(listener)


def resource_slice(driver: str, *, node: str | None = NODE) -> ResourceSlice:
    return ResourceSlice(
        metadata=ObjectMeta(name=f"{driver}-{node or 'network'}"),
        spec=ResourceSliceSpec(
            driver=driver,
            node_name=node,
            all_nodes=None if node else True,
            pool=ResourcePool(name=node or "network", generation=1, resource_slice_count=1),
            devices=(),
        ),
    )


class Scene:
    def __init__(self, client: Client, clock: FakeClock) -> None:
        self.client = client
        self.clock = clock
        self.board = Board()
        self.cleanup = SliceCleanup(client, self.board, NODE, clock=clock, entropy=SeededEntropy(1))

    async def slices(self) -> list[str]:
        return [item.metadata.name for item in (await self.client.list(ResourceSlice)).items]

    async def pass_seconds(self, seconds: float) -> None:
        await settle()
        self.clock.advance(seconds)
        await settle()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.cleanup.run())
        try:
            await settle()
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))
            assert task.cancelled(), task.exception()


async def settle() -> None:
    """Let requests to the server in this process come and go; none of them waits for time."""
    for _ in range(200):
        await asyncio.sleep(0)


def scene(body: Callable[[Scene], Awaitable[None]], *, node: bool = True) -> None:
    async def run() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock) as cluster:
            if node:
                await cluster.client.create(Node(metadata=ObjectMeta(name=NODE)))
            await body(Scene(cluster.client, clock))

    asyncio.run(run())


def test_the_slices_of_a_lost_driver_go_after_half_a_minute() -> None:
    """Row 2; those of other drivers, other nodes and the network stay."""

    async def body(at: Scene) -> None:
        for item in (
            resource_slice("a.example.com"),
            resource_slice("b.example.com"),
            resource_slice("a.example.com", node="node-2"),
            resource_slice("a.example.com", node=None),
        ):
            await at.client.create(item)
        async with at.running():
            at.board.set("a.example.com", Change.CONNECTED)
            at.board.set("b.example.com", Change.CONNECTED)
            await at.pass_seconds(100.0)
            at.board.set("a.example.com", Change.DISCONNECTED)
            await at.pass_seconds(29.9)
            assert len(await at.slices()) == 4
            await at.pass_seconds(0.1)
            assert await at.slices() == [
                "a.example.com-network",
                "a.example.com-node-2",
                "b.example.com-node-1",
            ]
            assert not at.cleanup.pending

    scene(body)


def test_a_driver_that_returns_in_time_keeps_its_slices() -> None:
    """Row 1."""

    async def body(at: Scene) -> None:
        await at.client.create(resource_slice("a.example.com"))
        async with at.running():
            at.board.set("a.example.com", Change.CONNECTED)
            at.board.set("a.example.com", Change.DISCONNECTED)
            await at.pass_seconds(29.0)
            at.board.set("a.example.com", Change.CONNECTED)
            await at.pass_seconds(60.0)
            assert len(await at.slices()) == 1

    scene(body)


def test_a_deadline_stays_whatever_else_happens_to_a_lost_driver() -> None:
    async def body(at: Scene) -> None:
        await at.client.create(resource_slice("a.example.com"))
        async with at.running():
            at.board.set("a.example.com", Change.CONNECTED)
            at.board.set("a.example.com", Change.DISCONNECTED)
            deadline = at.cleanup.pending["a.example.com"]
            await at.pass_seconds(20.0)
            at.board.set("a.example.com", Change.DEREGISTERED)
            at.board.set("a.example.com", Change.REGISTERED)
            assert at.cleanup.pending["a.example.com"] == deadline
            await at.pass_seconds(10.0)
            assert await at.slices() == []

    scene(body)


def test_slices_of_drivers_that_appear_in_time_survive_a_start() -> None:
    async def body(at: Scene) -> None:
        await at.client.create(resource_slice("back.example.com"))
        await at.client.create(resource_slice("gone.example.com"))
        async with at.running():
            await at.pass_seconds(20.0)
            at.board.set("back.example.com", Change.REGISTERED)
            at.board.set("back.example.com", Change.CONNECTED)
            await at.pass_seconds(10.0)
            assert await at.slices() == ["back.example.com-node-1"]

    scene(body)


def test_changes_before_the_start_count() -> None:
    async def body(at: Scene) -> None:
        await at.client.create(resource_slice("a.example.com"))
        at.board.set("a.example.com", Change.CONNECTED)
        at.board.set("a.example.com", Change.DISCONNECTED)
        at.clock.advance(29.0)
        async with at.running():
            await at.pass_seconds(1.0)
            assert await at.slices() == []

    scene(body)


def test_nothing_is_removed_in_the_name_of_a_node_that_does_not_exist_yet() -> None:
    async def body(at: Scene) -> None:
        await at.client.create(resource_slice("a.example.com"))
        async with at.running():
            await at.pass_seconds(30.0)
            assert len(await at.slices()) == 1
            await at.client.create(Node(metadata=ObjectMeta(name=NODE)))
            await at.pass_seconds(1.2)
            assert await at.slices() == []

    scene(body, node=False)


def test_a_node_may_do_this_with_its_own_rights() -> None:
    async def run() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock) as cluster:
            await cluster.client.create(Node(metadata=ObjectMeta(name=NODE)))
            await cluster.client.create(resource_slice("a.example.com"))
            node = cluster.client_of(f"system:node:{NODE}", groups=("system:nodes",))
            at = Scene(node, clock)
            async with at.running():
                await at.pass_seconds(30.0)
                assert (await cluster.client.list(ResourceSlice)).items == ()

    asyncio.run(run())


def test_refusals_are_tried_again_later_each_time_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock) as cluster:
            await cluster.client.create(Node(metadata=ObjectMeta(name=NODE)))
            stranger = cluster.client_of("somebody", groups=())
            at = Scene(stranger, clock)
            async with at.running():
                for seconds in (1.2, 2.4, 4.8):
                    await at.pass_seconds(seconds)

    with caplog.at_level(logging.DEBUG, "dray.agent.plugins.slice_cleanup"):
        asyncio.run(run())
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.WARNING, logging.DEBUG, logging.DEBUG, logging.DEBUG]
