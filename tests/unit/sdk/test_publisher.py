"""Publishing to a real API server, with others interfering and the way to it failing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.api.core import Node
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.meta import ObjectMeta
from dray.api.resource import Device, DeviceTaint, ResourceSlice
from dray.api.wire import replace
from dray.client import Call, Client, Reply, StreamedReply
from dray.entropy import SeededEntropy
from dray.errors import DrayError, Forbidden, Invalid, TransportError
from dray.sdk._dropped_fields import DroppedFields
from dray.sdk._inventory import Inventory, InventoryError, Pool, device
from dray.sdk._publisher import Publisher
from dray.sdk._slice_layout import Layout
from dray.testing import FakeClock
from dray.testing.cluster import Cluster
from tests.unit.sdk.faulty_transport import FaultyTransport
from tests.unit.sdk.turns import settle

T = TypeVar("T")

DRIVER = "gpu.example.com"
TAINT = DeviceTaint(key="gpu.example.com/bad", effect="NoExecute")

# Turns of the loop between two looks at the clock: enough for any request to be answered.
STEPS_MAX = 2000


class World:
    """A cluster, a publisher, and somebody who looks from outside."""

    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.transport = FaultyTransport(cluster.transport())
        self.errors: list[DrayError] = []
        self.publisher = self.new_publisher()

    def new_publisher(self, node_name: str = "node-1") -> Publisher:
        return Publisher(
            Client(self.transport, clock=self.clock),
            driver=DRIVER,
            node_name=node_name,
            clock=self.clock,
            entropy=SeededEntropy(7),
            on_error=self.errors.append,
        )

    async def publish(self, inventory: Inventory | list[Device]) -> None:
        self.publisher.publish(Inventory.of(inventory))
        await self.finish(self.publisher.published())

    async def finish(self, awaitable: Awaitable[T]) -> T:
        """Let time pass until this is done."""
        task = asyncio.ensure_future(awaitable)
        for _ in range(STEPS_MAX):
            await settle(20)
            if task.done():
                return task.result()
            self.clock.advance(0.25)
        task.cancel()
        raise AssertionError(f"not done: {self.publisher.problem()}; {self.errors}")

    async def slices(self) -> list[ResourceSlice]:
        listing = await self.cluster.client.list(ResourceSlice)
        return sorted(listing.items, key=lambda each: each.metadata.name)

    async def seen(self) -> dict[str, list[Device]]:
        """What a reader believes of each pool: its newest generation, if it is complete."""
        pools: dict[str, list[ResourceSlice]] = {}
        for each in await self.slices():
            pools.setdefault(each.spec.pool.name, []).append(each)
        believed = {}
        for name, slices in pools.items():
            newest = max(each.spec.pool.generation for each in slices)
            current = [each for each in slices if each.spec.pool.generation == newest]
            if all(each.spec.pool.resource_slice_count == len(current) for each in current):
                believed[name] = [it for each in current for it in each.spec.devices or ()]
        return believed


def run(
    body: Any, *, gates: FeatureGates | None = None, nodes: tuple[str, ...] = ("node-1",)
) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with Cluster(clock=clock, gates=gates or DEFAULT_GATES) as cluster:
            for node in nodes:
                await cluster.add_node(node)
            world = World(cluster, clock)
            async with running(world.publisher):
                await body(world)

    asyncio.run(main())


@asynccontextmanager
async def running(publisher: Publisher) -> AsyncIterator[None]:
    task = asyncio.create_task(publisher.run())
    try:
        yield
    finally:
        task.cancel()
        result = (await asyncio.gather(task, return_exceptions=True))[0]
        assert isinstance(result, asyncio.CancelledError), result


def gpus(count: int, **options: Any) -> list[Device]:
    return [device(f"gpu-{n}", **options) for n in range(count)]


def names(devices: list[Device]) -> list[str]:
    return [each.name for each in devices]


def test_devices_are_published_under_their_node() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(3))
        (slice_,) = await world.slices()
        assert slice_.metadata.name.startswith("00000-gpu.example.com-node-1-")
        assert slice_.spec.node_name == slice_.spec.pool.name == "node-1"
        assert slice_.spec.pool.generation == 1
        node = await world.cluster.client.get(Node, "node-1")
        (owner,) = slice_.metadata.owner_references
        assert (owner.kind, owner.uid, owner.controller) == ("Node", node.metadata.uid, True)
        assert not world.errors

    run(body)


def test_an_empty_inventory_is_an_empty_slice_and_none_is_none() -> None:
    async def body(world: World) -> None:
        await world.publish([])
        assert await world.seen() == {"node-1": []}
        await world.finish(world.publisher.withdraw())
        assert await world.slices() == []

    run(body)


def test_the_same_again_writes_nothing_also_after_a_restart() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(200, attributes={"model": "a", "memory": 1}))
        writes = len(world.transport.writes)
        await world.publish(gpus(200, attributes={"model": "a", "memory": 1}))
        world.publisher = world.new_publisher()
        async with running(world.publisher):
            await world.publish(gpus(200, attributes={"model": "a", "memory": 1}))
        assert len(world.transport.writes) == writes

    run(body)


def test_one_changed_device_is_one_write_in_place() -> None:
    async def body(world: World) -> None:
        devices = gpus(200)
        await world.publish(devices)
        before = await world.slices()
        devices[130] = device("gpu-130", attributes={"new": True})
        world.transport.writes.clear()
        await world.publish(devices)
        assert world.transport.writes == ["PUT"]
        after = await world.slices()
        assert [each.metadata.uid for each in after] == [each.metadata.uid for each in before]
        assert {each.spec.pool.generation for each in after} == {1}

    run(body)


def test_a_first_taint_cuts_the_pool_anew_and_the_next_ones_do_not() -> None:
    async def body(world: World) -> None:
        devices = gpus(100)
        await world.publish(devices)
        devices[3] = device("gpu-3", taints=[TAINT])
        await world.publish(devices)
        assert len(await world.slices()) == 2
        world.transport.writes.clear()
        await world.publish(gpus(100))
        devices[9] = device("gpu-9", taints=[TAINT])
        await world.publish(devices)
        assert world.transport.writes == ["PUT", "PUT"]

    run(body)


def test_the_latest_word_wins() -> None:
    async def body(world: World) -> None:
        for count in range(1, 30):
            world.publisher.publish(Inventory.of(gpus(count)))
        await world.finish(world.publisher.published())
        assert names((await world.seen())["node-1"]) == names(gpus(29))
        assert len(world.transport.writes) == 1

    run(body)


def test_pools_that_are_no_longer_wanted_are_deleted() -> None:
    async def body(world: World) -> None:
        a, b = Pool(gpus(1), name="a"), Pool(gpus(1), name="b")
        await world.publish(Inventory([a, b]))
        world.publisher = world.new_publisher()
        async with running(world.publisher):
            await world.publish(Inventory([b]))
            assert set(await world.seen()) == {"b"}

    run(body)


def test_slices_of_other_drivers_and_nodes_are_left_alone() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(1))
        (ours,) = await world.slices()
        for name, spec in (
            ("other-driver", replace(ours.spec, driver="nic.example.com")),
            ("other-node", replace(ours.spec, node_name="node-2")),
            ("all-nodes", replace(ours.spec, node_name=None, all_nodes=True)),
        ):
            await world.cluster.client.create(
                ResourceSlice(metadata=ObjectMeta(name=name), spec=spec)
            )
        await world.finish(world.publisher.withdraw())
        left = {each.metadata.name for each in await world.slices()}
        assert left == {"other-driver", "other-node", "all-nodes"}

    run(body, nodes=("node-1", "node-2"))


def test_a_wipe_is_repaired_within_seconds_and_taints_keep_their_time() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(70, taints=[TAINT]))
        times = {each.spec.devices[0].taints[0].time_added for each in await world.slices()}  # type: ignore[index] # they have devices
        world.clock.advance(100)
        await world.cluster.client.delete_collection(ResourceSlice)
        await settle(100)
        started = world.clock.monotonic()
        assert world.publisher.problem()
        await world.finish(world.publisher.published())
        assert world.clock.monotonic() - started < 3
        slices = await world.slices()
        assert [len(each.spec.devices or ()) for each in slices] == [64, 6]
        assert {each.spec.devices[0].taints[0].time_added for each in slices} == times  # type: ignore[index] # they have devices
        assert {each.spec.pool.generation for each in slices} == {2}

    run(body)


def test_what_somebody_changed_is_changed_back() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(2))
        (slice_,) = await world.slices()
        await world.cluster.client.update(
            replace(slice_, spec=replace(slice_.spec, devices=tuple(gpus(1))))
        )
        await settle(100)
        await world.finish(world.publisher.published())
        assert names((await world.seen())["node-1"]) == ["gpu-0", "gpu-1"]

    run(body)


def test_whoever_insists_is_not_fought_without_end() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(2))
        world.transport.writes.clear()
        for _ in range(300):
            (slice_,) = await world.slices()
            if len(slice_.spec.devices or ()) != 1:
                theirs = replace(slice_.spec, devices=tuple(gpus(1)))
                await world.cluster.client.update(replace(slice_, spec=theirs))
            await settle()
            world.clock.advance(1)
        assert 8 < len(world.transport.writes) < 20
        # In the end they give up, and after a while everything is as before.
        await world.finish(world.publisher.published())
        world.clock.advance(100)
        (slice_,) = await world.slices()
        await world.cluster.client.delete(ResourceSlice, slice_.metadata.name)
        await settle(100)
        started = world.clock.monotonic()
        await world.finish(world.publisher.published())
        assert world.clock.monotonic() - started < 3

    run(body)


def test_a_taint_keeps_its_time_while_other_things_change() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(1, taints=[TAINT]))
        (before,) = (await world.seen())["node-1"]
        world.clock.advance(50)
        await world.publish(gpus(1, taints=[TAINT], attributes={"x": 1}))
        (after,) = (await world.seen())["node-1"]
        assert after.taints == before.taints
        assert after.taints[0].time_added is not None

    run(body)


def test_publishing_waits_for_the_node_to_exist() -> None:
    async def body(world: World) -> None:
        world.publisher.publish(Inventory.of(gpus(1)))
        await settle(200)
        assert "node-1" in world.publisher.problem()
        assert len(world.errors) == 1
        await world.cluster.add_node("node-1")
        await world.finish(world.publisher.published())
        assert len(await world.slices()) == 1

    run(body, nodes=())


def test_a_node_that_was_made_anew_owns_the_new_slices() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(1))
        client = world.cluster.client
        await client.delete(Node, "node-1")
        node = await world.cluster.add_node("node-1")
        (slice_,) = await world.slices()
        await client.delete(ResourceSlice, slice_.metadata.name)
        await settle(100)
        await world.finish(world.publisher.published())
        (slice_,) = await world.slices()
        assert slice_.metadata.owner_references[0].uid == node.metadata.uid

    run(body)


def test_what_is_invalid_is_told_with_the_devices_and_not_sent() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(1))
        world.transport.writes.clear()
        bad = DeviceTaint(key="no key", effect="NoSchedule")
        worse = DeviceTaint(key="k.example.com/x", effect="Never")
        devices = [device("a", taints=[bad]), device("b", taints=[worse])]
        world.publisher.publish(Inventory.of(devices))
        with pytest.raises(InventoryError) as caught:
            await world.finish(world.publisher.published())
        assert "device a: taints[0].key" in str(caught.value)
        assert "device b: taints[0].effect" in str(caught.value)
        for _ in range(100):
            await settle()
            world.clock.advance(10)
        assert world.transport.writes == []
        assert len(world.errors) == 1
        await world.publish(gpus(2))
        assert len((await world.seen())["node-1"]) == 2

    run(body)


def test_one_invalid_pool_does_not_keep_the_others_back() -> None:
    async def body(world: World) -> None:
        bad = DeviceTaint(key="no key", effect="NoSchedule")
        pools = [Pool([device("a", taints=[bad])], name="a"), Pool(gpus(1), name="b")]
        world.publisher.publish(Inventory(pools))
        with pytest.raises(InventoryError):
            await world.finish(world.publisher.published())
        await settle(200)
        assert set(await world.seen()) == {"b"}

    run(body)


def test_an_outage_is_survived_and_the_last_word_published() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(1))
        world.transport.go_down()
        for count in range(2, 6):
            world.publisher.publish(Inventory.of(gpus(count)))
            for _ in range(30):
                await settle(20)
                world.clock.advance(1)
        world.transport.recover()
        await world.finish(world.publisher.published())
        assert len((await world.seen())["node-1"]) == 5
        assert "no route" in str(world.errors[0])
        assert len(world.errors) <= 3  # the same is not told again and again

    run(body)


def test_writes_whose_answers_got_lost_leave_nothing_behind() -> None:
    async def body(world: World) -> None:
        world.transport.lose_answers(3)
        await world.publish(gpus(300))
        assert len(await world.slices()) == 3
        world.transport.lose_answers(2)
        await world.publish(gpus(150, attributes={"x": 1}))
        assert len(await world.slices()) == 2
        assert names((await world.seen())["node-1"]) == names(gpus(150))

    run(body)


def test_a_conflict_is_resolved_by_looking_again() -> None:
    async def body(world: World) -> None:
        await world.publish(gpus(1))

        async def interfere(call: Call) -> None:
            if call.method == "PUT":
                world.transport.recover()
                (slice_,) = await world.slices()
                labelled = replace(slice_.metadata, labels={"somebody": "else"})
                await world.cluster.client.update(replace(slice_, metadata=labelled))

        world.transport.before = interfere
        await world.publish(gpus(2))
        (slice_,) = await world.slices()
        assert slice_.metadata.labels == {"somebody": "else"}
        assert len(slice_.spec.devices or ()) == 2

    run(body)


def test_fields_that_the_server_drops_are_told_once_and_lived_without() -> None:
    async def body(world: World) -> None:
        world.publisher.publish(Inventory.of(gpus(2, taints=[TAINT])))
        await world.finish(world.publisher.published())
        (error,) = world.errors
        assert isinstance(error, DroppedFields)
        assert "taints of gpu-0, gpu-1 (feature gate DRADeviceTaints?)" in str(error)
        writes = len(world.transport.writes)
        for _ in range(20):
            await settle()
            world.clock.advance(10)
        assert len(world.transport.writes) == writes
        (slice_,) = await world.slices()
        await world.cluster.client.delete(ResourceSlice, slice_.metadata.name)
        await settle(100)
        await world.finish(world.publisher.published())
        assert len(await world.slices()) == 1

    run(body, gates=FeatureGates({"DRADeviceTaints": False, "DRADeviceTaintRules": False}))


def partitions(tag: str = "v1") -> Pool:
    return Pool(
        [
            device(f"p-{n}", attributes={"tag": tag}, consumes={f"gpu-{n // 4}": {"memory": 10}})
            for n in range(8)
        ],
        counters={"gpu-0": {"memory": 40}, "gpu-1": {"memory": 40}},
    )


def test_partitions_are_published_with_their_counters_apart() -> None:
    async def body(world: World) -> None:
        await world.publish(Inventory([partitions()]))
        slices = await world.slices()
        assert [bool(each.spec.shared_counters) for each in slices] == [True, False]
        assert not world.errors

    run(body)


class OldServer:
    """A server of 1.34, as far as a publisher can tell: counters must be with their devices."""

    def __init__(self) -> None:
        self.slices: dict[str, Any] = {}
        self.revision = 0
        self.refusals = 0

    async def request(self, call: Call) -> Reply:
        if call.method == "GET" and call.path.endswith("/nodes/node-1"):
            return self._reply({"metadata": {"name": "node-1", "uid": "u"}})
        if call.method == "GET":
            listed = {"metadata": {"resourceVersion": str(self.revision)}}
            return self._reply({**listed, "items": list(self.slices.values())})
        document = json.loads(call.body)
        spec = document["spec"]
        sets = {each["name"] for each in spec.get("sharedCounters", [])}
        used = {
            taken["counterSet"]
            for each in spec.get("devices", [])
            for taken in each.get("consumesCounters", [])
        }
        if not used <= sets:
            self.refusals += 1
            error = Invalid("resource.k8s.io", "ResourceSlice", "", [])
            return Reply(422, {}, json.dumps(error.as_status()).encode())
        self.revision += 1
        metadata = document["metadata"]
        name = metadata.setdefault("name", f"{metadata.get('generateName')}{self.revision:05}")
        metadata |= {"resourceVersion": str(self.revision), "uid": name}
        self.slices[name] = document
        return self._reply(document)

    async def stream(self, call: Call) -> StreamedReply:
        raise TransportError(f"{call}: this server has no watch")

    async def close(self) -> None:
        """Nothing is open."""

    @staticmethod
    def _reply(document: dict[str, Any]) -> Reply:
        return Reply(200, {}, json.dumps(document).encode())


def test_an_old_server_gets_counters_together_with_devices_also_after_a_restart() -> None:
    async def body() -> None:
        clock, server = FakeClock(), OldServer()
        errors: list[DrayError] = []
        for versions in (("v1", "v2"), ("v3",)):
            publisher = Publisher(
                Client(server, clock=clock),
                driver=DRIVER,
                node_name="node-1",
                clock=clock,
                entropy=SeededEntropy(7),
                on_error=errors.append,
            )
            async with running(publisher):
                for version in versions:
                    publisher.publish(Inventory([partitions(version)]))
                    await publisher.published()
                    assert len(server.slices) == 1
        (slice_,) = server.slices.values()
        assert slice_["spec"]["pool"]["generation"] == 1
        assert len(slice_["spec"]["sharedCounters"]) == 2
        assert server.refusals == 1
        assert errors == []

    asyncio.run(body())


def test_counters_that_no_server_takes_are_told_and_tried_again() -> None:
    async def body(world: World) -> None:
        layouts = []

        def refuse(call: Call) -> None:
            if call.method == "POST":
                together = b"sharedCounters" in call.body and b"consumesCounters" in call.body
                layouts.append(Layout.TOGETHER if together else Layout.APART)
                raise Invalid("resource.k8s.io", "ResourceSlice", "x", [])

        world.transport.before = refuse
        world.publisher.publish(Inventory([partitions()]))
        for _ in range(5):
            await settle()
            world.clock.advance(1)
        assert layouts[:4] == [Layout.APART, Layout.TOGETHER] * 2
        assert [type(error) for error in world.errors] == [Invalid]
        world.transport.recover()
        await world.finish(world.publisher.published())
        assert len(await world.slices()) == 2

    run(body)


def test_a_node_may_publish_its_own_devices() -> None:
    async def body(world: World) -> None:
        client = world.cluster.client_of("system:node:node-1", groups=["system:nodes"])
        world.publisher = Publisher(
            client,
            driver=DRIVER,
            node_name="node-1",
            clock=world.clock,
            entropy=SeededEntropy(7),
            on_error=world.errors.append,
        )
        async with running(world.publisher):
            await world.publish(gpus(200))
            await world.publish(gpus(100, attributes={"x": 1}))
            (slice_,) = await world.slices()
            assert len(slice_.spec.devices or ()) == 100
            await world.finish(world.publisher.withdraw())
        assert world.errors == []

    run(body)


def test_pools_for_several_nodes_belong_to_the_instance_that_made_them() -> None:
    async def body(world: World) -> None:
        local, remote = Pool(gpus(1)), Pool(gpus(1), name="fabric", all_nodes=True)
        await world.publish(Inventory([local, remote]))
        assert set(await world.seen()) == {"node-1", "fabric"}
        await world.publish(Inventory([local]))
        assert set(await world.seen()) == {"node-1"}

    run(body)


def test_a_driver_without_a_node_publishes_pools_that_name_theirs() -> None:
    async def body(world: World) -> None:
        central = world.new_publisher(node_name="")
        with pytest.raises(InventoryError, match="without a node"):
            central.publish(Inventory.of(gpus(1)))
        world.publisher = central
        async with running(central):
            await world.publish(Inventory([Pool(gpus(1), name="fabric", all_nodes=True)]))
            (slice_,) = await world.slices()
            assert slice_.metadata.owner_references == ()
            await world.finish(central.withdraw())
            assert await world.slices() == []

    run(body, nodes=())


def test_two_pools_cannot_share_the_nodes_name() -> None:
    async def body(world: World) -> None:
        with pytest.raises(InventoryError, match="two pools"):
            world.publisher.publish(Inventory([Pool([]), Pool([], name="node-1")]))

    run(body)


def test_a_refusal_of_what_was_replaced_meanwhile_is_none_of_what_replaced_it() -> None:
    async def body(world: World) -> None:
        def replaced(call: Call) -> None:
            if "/nodes/" in call.path:
                world.publisher.publish(Inventory.of(gpus(1)))

        world.transport.before = replaced
        invalid = device("gpu-0", consumes={"missing": {"memory": 1}})
        await world.publish([invalid])
        assert names((await world.seen())["node-1"]) == ["gpu-0"]
        assert world.publisher.problem() == ""

    run(body)


def test_a_refusal_for_lack_of_rights_is_tried_again() -> None:
    async def body(world: World) -> None:
        def refuse(call: Call) -> None:
            if call.method == "POST":
                raise Forbidden("may not create resourceslices")

        world.transport.before = refuse
        world.publisher.publish(Inventory.of(gpus(1)))
        for _ in range(50):
            await settle()
            world.clock.advance(5)
        assert 5 < len(world.transport.writes) < 60
        assert "may not create" in world.publisher.problem()
        world.transport.recover()
        await world.finish(world.publisher.published())

    run(body)


@pytest.mark.slow
def test_ten_thousand_devices_are_no_trouble() -> None:
    async def body(world: World) -> None:
        devices = gpus(10_000, attributes={"model": "x", "index": 1})
        await world.publish(devices)
        assert len((await world.seen())["node-1"]) == 10_000
        world.transport.writes.clear()
        devices[5000] = device("gpu-5000")
        await world.publish(devices)
        assert world.transport.writes == ["PUT"]

    run(body)


# What happens, and to what: (publish, size, taint) | wipe | delete one | change one | faults.
happenings = st.one_of(
    st.tuples(st.just("publish"), st.integers(0, 200), st.booleans()),
    st.tuples(st.just("delete"), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("change"), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("down"), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("lose"), st.integers(1, 3), st.booleans()),
)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(happenings, max_size=8), st.integers(0, 200))
def test_after_any_storm_the_server_shows_what_is_wanted(
    storm: list[tuple[str, int, bool]], last: int
) -> None:
    async def happen(world: World, what: str, number: int, flag: bool) -> None:
        slices = await world.slices()
        match what:
            case "publish":
                world.publisher.publish(Inventory.of(gpus(number, taints=[TAINT] * flag)))
            case "delete" if flag:
                await world.cluster.client.delete_collection(ResourceSlice)
            case "delete" if number < len(slices):
                await world.cluster.client.delete(ResourceSlice, slices[number].metadata.name)
            case "change" if number < len(slices):
                spec = replace(slices[number].spec, devices=(device("alien"),))
                await world.cluster.client.update(replace(slices[number], spec=spec))
            case "down":
                world.transport.go_down()
            case "lose":
                world.transport.lose_answers(number)

    async def pause(world: World, flag: bool) -> None:
        await settle(30)
        if flag:
            world.clock.advance(1)
            await settle(30)

    async def body(world: World) -> None:
        for what, number, flag in storm:
            await happen(world, what, number, flag)
            await pause(world, flag)
        world.transport.recover()
        await world.publish(gpus(last))
        # Whatever somebody else did last may still have to be noticed.
        for _ in range(8):
            await settle(60)
            world.clock.advance(1)
        await world.finish(world.publisher.published())
        assert names((await world.seen())["node-1"]) == names(gpus(last))
        generations = {each.spec.pool.generation for each in await world.slices()}
        assert len(generations) == 1

    run(body)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.tuples(happenings, st.integers(0, 40)), max_size=10))
def test_readers_never_believe_what_was_never_wanted(
    storm: list[tuple[tuple[str, int, bool], int]],
) -> None:
    async def body(world: World) -> None:
        history: list[list[str]] = []
        for (what, number, flag), turns in storm:
            slices = await world.slices()
            match what:
                case "publish":
                    history.append(names(gpus(number)))
                    taints = [TAINT] * flag
                    world.publisher.publish(Inventory.of(gpus(number, taints=taints)))
                case "delete" if number < len(slices):
                    await world.cluster.client.delete(ResourceSlice, slices[number].metadata.name)
                case "down":
                    world.transport.go_down()
                case "change":
                    world.transport.recover()
                case "lose":
                    world.transport.lose_answers(number)
            # Any number of turns: the publisher is interrupted anywhere.
            await settle(turns)
            for devices in (await world.seen()).values():
                assert names(devices) in history
            world.clock.advance(float(flag))
            await settle(turns)
            for devices in (await world.seen()).values():
                assert names(devices) in history

    run(body)
