from __future__ import annotations

import asyncio
from typing import Any, Final

from dray.api.quantity import Quantity
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.scheme import KINDS
from dray.server.models.typed import TypedModel
from dray.server.published_pools import PublishedPools
from dray.store.memory import MemoryStore
from dray.store.store import Record

MODEL: Final = TypedModel(KINDS["resource.k8s.io", "ResourceSlice"])
PREFIX: Final = "resource.k8s.io/resourceslices/"
POOL: Final = ("gpu.example.com", "node-1")


def amount(text: str) -> Quantity:
    return Quantity.parse(text)


def gpu(name: str, memory: str = "", **draws: str) -> Device:
    """A device that has so much memory, and draws so much from the counter set `card`."""
    counters = {counter: Counter(value=amount(text)) for counter, text in draws.items()}
    drawn = DeviceCounterConsumption(counter_set="card", counters=counters)
    return Device(
        name=name,
        attributes={"says": DeviceAttribute(string_value='"consumesCounters":[')},
        capacity={"memory": DeviceCapacity(value=amount(memory))} if memory else {},
        consumes_counters=(drawn,) if draws else (),
    )


def slice_of(*devices: Device, generation: int = 1, pool: str = "node-1", **counters: str) -> bytes:
    """A slice as it is stored, with a counter set `card` if any counters are named."""
    card = {name: Counter(value=amount(text)) for name, text in counters.items()}
    return MODEL.store(
        ResourceSlice(
            spec=ResourceSliceSpec(
                driver="gpu.example.com",
                pool=ResourcePool(name=pool, generation=generation, resource_slice_count=1),
                all_nodes=True,
                devices=devices or None,
                shared_counters=(CounterSet(name="card", counters=card),) if card else None,
            )
        )
    )


def put(store: MemoryStore, name: str, value: bytes | None) -> None:
    key = PREFIX + name
    asyncio.run(store.delete(key) if value is None else store.put(key, value))


def memory_of(pools: PublishedPools, device: str) -> Any:
    found = pools.find(POOL).devices.get(device)
    return None if found is None else {name: str(each) for name, each in found.capacity.items()}


def test_a_pool_nobody_publishes_says_nothing() -> None:
    found = PublishedPools(MemoryStore()).find(POOL)
    assert (found.devices, found.counters, found.has_counters) == ({}, {}, False)


def test_a_pool_is_all_its_slices() -> None:
    store = MemoryStore()
    put(store, "a", slice_of(gpu("gpu-0", "40Gi")))
    put(store, "b", slice_of(gpu("gpu-1", "80Gi")))
    put(store, "c", slice_of(gpu("gpu-2", "1Gi"), pool="node-2"))
    pools = PublishedPools(store)
    assert {name: memory_of(pools, name) for name in pools.find(POOL).devices} == {
        "gpu-0": {"memory": "40Gi"},
        "gpu-1": {"memory": "80Gi"},
    }


def test_only_the_newest_generation_counts() -> None:
    store = MemoryStore()
    put(store, "a", slice_of(gpu("gpu-0", "40Gi")))
    put(store, "b", slice_of(gpu("gpu-0", "80Gi"), generation=2))
    pools = PublishedPools(store)
    assert memory_of(pools, "gpu-0") == {"memory": "80Gi"}
    put(store, "b", None)
    assert memory_of(pools, "gpu-0") == {"memory": "40Gi"}


def test_what_slices_say_now_is_what_counts() -> None:
    store = MemoryStore()
    put(store, "a", slice_of(gpu("gpu-0", "40Gi")))
    pools = PublishedPools(store)
    assert memory_of(pools, "gpu-0") == {"memory": "40Gi"}
    put(store, "a", slice_of(gpu("gpu-0", "80Gi")))
    assert memory_of(pools, "gpu-0") == {"memory": "80Gi"}
    put(store, "a", slice_of(gpu("gpu-0", "80Gi"), pool="node-2"))
    assert memory_of(pools, "gpu-0") is None
    put(store, "a", None)
    assert not pools.find(("gpu.example.com", "node-2")).devices


def test_counters_are_found_wherever_in_the_pool_they_are() -> None:
    store = MemoryStore()
    put(store, "a", slice_of(memory="40Gi", engines="7"))
    put(store, "b", slice_of(gpu("half", memory="", engines="4"), gpu("whole", engines="7")))
    pool = PublishedPools(store).find(POOL)
    assert pool.has_counters
    assert pool.counters == {"card": {"memory": amount("40Gi"), "engines": amount("7")}}
    assert pool.devices["half"].draws == {"card": {"engines": amount("4")}}
    assert pool.drawers == {"card": {"half", "whole"}}


def test_a_device_that_only_speaks_of_counters_draws_from_none() -> None:
    store = MemoryStore()
    put(store, "a", slice_of(gpu("gpu-0", "40Gi")))
    assert not PublishedPools(store).find(POOL).has_counters


def test_what_is_not_drawn_is_left_out() -> None:
    store = MemoryStore()
    put(store, "a", slice_of(gpu("none", engines="0", decoders="1")))
    pool = PublishedPools(store).find(POOL)
    assert pool.devices["none"].draws == {"card": {"decoders": amount("1")}}


def test_a_slice_that_is_written_is_not_read_before_somebody_asks() -> None:
    store = MemoryStore()
    pools = PublishedPools(store)
    put(store, "a", b"not even JSON")
    put(store, "a", slice_of(gpu("gpu-0", "40Gi")))
    assert memory_of(pools, "gpu-0") == {"memory": "40Gi"}
    put(store, "a", b"not even JSON")
    put(store, "a", None)
    assert memory_of(pools, "gpu-0") is None


class Counting(MemoryStore):
    """Says what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def get(self, key: str) -> Record | None:
        self.asked.append(key)
        return super().get(key)


def test_slices_that_came_and_went_are_not_looked_for() -> None:
    store = Counting()
    pools = PublishedPools(store)
    put(store, "stays", slice_of(gpu("gpu-0", "40Gi")))
    assert memory_of(pools, "gpu-0") == {"memory": "40Gi"}
    store.asked.clear()
    for number in range(3):
        put(store, f"passing-{number}", slice_of(gpu("gpu-1", "40Gi")))
        put(store, f"passing-{number}", None)
    assert memory_of(pools, "gpu-1") is None
    assert store.asked == []
    put(store, "stays", None)
    assert memory_of(pools, "gpu-0") is None


def test_one_that_is_closed_hears_of_nothing() -> None:
    store = MemoryStore()
    pools = PublishedPools(store)
    assert memory_of(pools, "gpu-0") is None
    pools.close()
    put(store, "a", slice_of(gpu("gpu-0", "40Gi")))
    assert memory_of(pools, "gpu-0") is None
