"""Writing one pool to a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dray.api.core import Node
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.resource import DeviceTaint, ResourceSlice
from dray.client import Call, Client
from dray.entropy import SeededEntropy
from dray.errors import NotFound, TransportError
from dray.sdk._inventory import InventoryError, Pool, device
from dray.sdk._pool_writer import PoolHistory, PoolWriter, Written
from dray.sdk._slice_view import SliceView
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.unit.sdk.faulty_transport import FaultyTransport
from tests.unit.sdk.turns import settle

TAINT = DeviceTaint(key="gpu.example.com/bad", effect="NoSchedule")


class World:
    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.cluster = cluster
        self.transport = FaultyTransport(cluster.transport())
        client = Client(self.transport, clock=clock)
        self.view = SliceView(
            client,
            driver="gpu.example.com",
            node_name="node-1",
            clock=clock,
            entropy=SeededEntropy(1),
            on_foreign=lambda _pool, _deleted: None,
            on_synced=lambda _names: None,
        )
        self.writer = PoolWriter(client, self.view, driver="gpu.example.com", node_name="node-1")
        self.history = PoolHistory()

    async def write(self, pool: Pool) -> Written:
        written = Written()
        await self.writer.write("node-1", pool, self.history, written)
        return written

    async def slices(self) -> tuple[ResourceSlice, ...]:
        return (await self.cluster.client.list(ResourceSlice)).items


def run(
    body: Callable[[World], Coroutine[Any, Any, None]], gates: FeatureGates = DEFAULT_GATES
) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock, gates=gates) as cluster:
            await cluster.add_node("node-1")
            world = World(cluster, clock)
            task = asyncio.create_task(world.view.run())
            await settle(100)
            try:
                await body(world)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def devices(count: int, tag: int = 0) -> Pool:
    return Pool([device(f"d{n}", attributes={"tag": tag}) for n in range(count)])


def test_what_was_done_is_told_by_verb() -> None:
    async def body(world: World) -> None:
        assert (await world.write(devices(300))).counts == {"create": 3}
        pool = devices(100, tag=1)
        assert (await world.write(pool)).counts == {"delete": 2, "update": 1}
        assert (await world.write(pool)).counts == {}
        assert world.writer.is_done("node-1", pool, world.history)
        assert not world.writer.is_done("node-1", devices(1), world.history)
        written = Written()
        await world.writer.remove("node-1", written)
        assert written.counts == {"delete": 1}
        assert await world.slices() == ()

    run(body)


def test_what_was_done_is_told_also_when_not_all_of_it_could_be() -> None:
    async def body(world: World) -> None:
        def stop_at_two(call: Call) -> None:
            if len(world.transport.writes) == 3:
                raise TransportError(f"{call}: no route to host")

        world.transport.before = stop_at_two
        written = Written()
        with pytest.raises(TransportError):
            await world.writer.write("node-1", devices(300), world.history, written)
        assert written.counts == {"create": 2}

    run(body)


def test_what_the_server_leaves_out_is_told_and_not_sent_again() -> None:
    async def body(world: World) -> None:
        pool = Pool([device("a", taints=[TAINT])])
        written = await world.write(pool)
        assert [each.gate for each in written.dropped] == ["DRADeviceTaints"]
        assert world.writer.is_done("node-1", pool, world.history)
        assert (await world.write(Pool([device("a", taints=[TAINT])]))).counts == {}
        changed = Pool([device("a", taints=[TAINT], attributes={"x": 1})])
        assert (await world.write(changed)).counts == {"update": 1}

    run(body, FeatureGates({"DRADeviceTaints": False, "DRADeviceTaintRules": False}))


def test_a_pool_that_no_server_would_take_is_not_sent() -> None:
    async def body(world: World) -> None:
        with pytest.raises(InventoryError, match="pool node-1: device a: taints"):
            await world.write(Pool([device("a", taints=[DeviceTaint(key="k", effect="Odd")])]))
        assert world.transport.writes == []

    run(body)


def test_the_owner_is_looked_up_once_and_again_when_in_doubt() -> None:
    async def body(world: World) -> None:
        await world.write(devices(1))
        await world.cluster.client.delete(Node, "node-1")
        await world.write(devices(2))
        world.writer.forget_owner()
        assert not world.writer.is_done("node-1", devices(2), world.history)
        with pytest.raises(NotFound, match="node-1 does not exist yet"):
            await world.write(devices(2))
        node = await world.cluster.add_node("node-1")
        await world.write(devices(2))
        (slice_,) = await world.slices()
        assert slice_.metadata.owner_references[0].uid == node.metadata.uid

    run(body)
