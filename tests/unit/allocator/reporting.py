"""Allocators for tests of reports: a node with some GPUs, claims that hold some of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dray.allocator import Allocator, Features, Inventory, Occupancy, Unsatisfiable
from dray.allocator.answers import NodeReport
from dray.allocator.explain.obstacles import Inspector
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceClass,
    DeviceCounterConsumption,
    DeviceID,
    ResourceClaim,
    ResourceSlice,
)
from tests.unit.allocator.builders import (
    DRIVER,
    POOL,
    amount,
    claim,
    device,
    device_class,
    node,
    slice_,
)


def gpus(count: int, **fields: Any) -> list[Device]:
    """GPUs by number, all alike."""
    return [device(f"gpu-{number}", **fields) for number in range(count)]


def partition(name: str, *, groups: tuple[str, ...] = (), memory: str, **fields: Any) -> Device:
    """A device that draws memory from the counters that `partitioned` publishes."""
    drawn = DeviceCounterConsumption(
        counter_set="set",
        counters={"memory": Counter(value=amount(memory))},
        compatibility_groups=groups,
    )
    return device(name, consumes_counters=(drawn,), **fields)


def partitioned(*devices: Device, memory: str) -> tuple[ResourceSlice, ResourceSlice]:
    """A pool of partitions, and the counter set they draw from."""
    held = CounterSet(name="set", counters={"memory": Counter(value=amount(memory))})
    return (
        slice_(*devices, slice_count=2),
        slice_(name="slice-2", slice_count=2, devices=None, shared_counters=(held,)),
    )


def gpu(name: str) -> DeviceID:
    return DeviceID(DRIVER, POOL, name)


def allocator(
    *slices: ResourceSlice,
    held: dict[str, Iterable[str]] | None = None,
    occupancy: Occupancy | None = None,
    classes: Iterable[DeviceClass] = (),
    features: Features | None = None,
    **options: Any,
) -> Allocator:
    """An allocator with every feature on; `held` are the devices of POOL that claims have."""
    in_use = occupancy or Occupancy()
    for holder, names in (held or {}).items():
        for name in names:
            in_use.hold(gpu(name), holder)
    return Allocator(
        Inventory(features or Features.everything(), slices),
        in_use,
        {one.metadata.name: one for one in (*classes, device_class())},
        share_id=lambda: "share",
        **options,
    )


def refused(by: Allocator, *claims: ResourceClaim) -> Unsatisfiable:
    """The answer to claims that do not fit."""
    answer = by.allocate(node(), claims or (claim(),))
    assert isinstance(answer, Unsatisfiable)
    return answer


def report(by: Allocator, *claims: ResourceClaim) -> NodeReport:
    return refused(by, *claims).report


def inspector(by: Allocator, *claims: ResourceClaim) -> Inspector:
    """What claims, that may fit or not, see of the devices of the node."""
    plan = by.plan(claims or (claim(),))
    return Inspector(plan.layout(node()), plan.preparation, plan.faces, by.selectors, by.features)
