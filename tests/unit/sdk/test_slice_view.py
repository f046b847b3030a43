"""What is known of a driver's slices on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.resource import ResourcePool, ResourceSlice, ResourceSliceSpec
from dray.api.wire import replace
from dray.client import Client
from dray.entropy import SeededEntropy
from dray.sdk._slice_view import SliceView
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.unit.sdk.faulty_transport import FaultyTransport
from tests.unit.sdk.turns import settle

OWNER = OwnerReference(api_version="v1", kind="Node", name="node-1", uid="u", controller=True)


def slice_of(
    name: str, *, driver: str = "gpu.example.com", node: str | None = "node-1", owned: bool = False
) -> ResourceSlice:
    return ResourceSlice(
        metadata=ObjectMeta(name=name, owner_references=(OWNER,) if owned else ()),
        spec=ResourceSliceSpec(
            driver=driver,
            pool=ResourcePool(name="p", generation=1, resource_slice_count=1),
            node_name=node,
            all_nodes=None if node else True,
            devices=(),
        ),
    )


class World:
    def __init__(self, cluster: Cluster, clock: FakeClock, node_name: str) -> None:
        self.client = cluster.client
        self.transport = FaultyTransport(cluster.transport())
        self.foreign: list[tuple[str, bool]] = []
        self.surveys: list[list[str]] = []
        self.view = SliceView(
            Client(self.transport, clock=clock),
            driver="gpu.example.com",
            node_name=node_name,
            clock=clock,
            entropy=SeededEntropy(1),
            on_foreign=lambda pool, deleted: self.foreign.append((pool, deleted)),
            on_synced=lambda names: self.surveys.append(sorted(names)),
        )

    def names(self) -> list[str]:
        return [each.metadata.name for each in self.view.of_pool("p")]


def run(body: Callable[[World], Coroutine[Any, Any, None]], node_name: str = "node-1") -> None:
    async def main() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock) as cluster:
            world = World(cluster, clock, node_name)
            for slice_ in (
                slice_of("mine"),
                slice_of("of-another-node", node="node-2"),
                slice_of("of-another-driver", driver="nic.example.com"),
                slice_of("for-all-by-this-node", node=None, owned=True),
                slice_of("for-all-by-nobody", node=None),
            ):
                await cluster.client.create(slice_)
            task = asyncio.create_task(world.view.run())
            await settle(200)
            try:
                await body(world)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def test_a_node_sees_its_own_slices_and_those_for_others_when_it_has_any() -> None:
    async def body(world: World) -> None:
        assert world.names() == ["mine"]
        assert world.surveys == [["p"]]
        assert world.view.is_synced(local=True)
        assert not world.view.is_synced(local=False)
        world.view.look_beyond_the_node()
        assert not world.view.is_complete
        await settle(200)
        assert world.view.is_complete
        assert world.names() == ["mine", "for-all-by-this-node"]

    run(body)


def test_a_driver_without_a_node_sees_what_no_node_owns() -> None:
    async def body(world: World) -> None:
        assert world.names() == ["for-all-by-nobody"]
        assert not world.view.is_synced(local=True)

    run(body, node_name="")


def test_changes_by_others_are_told() -> None:
    async def body(world: World) -> None:
        world.foreign.clear()
        (mine,) = world.view.of_pool("p")
        labelled = replace(mine.metadata, labels={"a": "b"})
        await world.client.update(replace(mine, metadata=labelled))
        await settle(100)
        assert world.foreign == [("p", False)]
        await world.client.delete(ResourceSlice, "mine")
        await settle(100)
        assert world.foreign[1:] == [("p", True)]
        assert world.names() == []

    run(body)


def test_what_was_deleted_is_gone_at_once() -> None:
    async def body(world: World) -> None:
        world.view.deleted("mine")
        assert world.names() == []

    run(body)


def test_a_second_look_shows_what_is_there_unless_it_fails() -> None:
    async def body(world: World) -> None:
        world.view.wrote(replace(slice_of("imagined"), metadata=ObjectMeta(name="imagined")))
        world.transport.go_down()
        await world.view.look_again()
        assert world.names() == ["imagined", "mine"]
        world.transport.recover()
        await world.view.look_again()
        assert world.names() == ["mine"]

    run(body)
