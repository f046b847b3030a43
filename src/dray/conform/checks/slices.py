"""What a driver publishes."""

from __future__ import annotations

from dray.api.resource import ResourceSlice
from dray.conform.bench import LOOK_SECONDS, Bench
from dray.conform.check import Checks, Violation

__all__ = ["CHECKS", "owned_by_node", "pools_are_complete", "publishes", "publishes_again"]

check = Checks("ResourceSlices")
CHECKS = check


@check("devices of the node are published")
async def publishes(bench: Bench) -> None:
    await bench.devices()


@check("pools are complete", rule="devices of a pool with missing slices are not given to anybody")
async def pools_are_complete(bench: Bench) -> None:
    await bench.devices()
    pools: dict[str, list[ResourceSlice]] = {}
    for one in await bench.cluster.slices(bench.driver):
        pools.setdefault(one.spec.pool.name, []).append(one)
    for name, slices in pools.items():
        newest = max(one.spec.pool.generation for one in slices)
        current = [one for one in slices if one.spec.pool.generation == newest]
        expected = current[0].spec.pool.resource_slice_count
        if len(current) != expected:
            raise Violation(f"pool {name}: {len(current)} of {expected} slices")


@check(
    "slices of the node belong to its Node object",
    rule="they go when the node goes",
    must=False,
)
async def owned_by_node(bench: Bench) -> None:
    await bench.devices()
    for one in await bench.cluster.slices(bench.driver):
        owners = [owner.kind for owner in one.metadata.owner_references]
        if one.spec.node_name and "Node" not in owners:
            raise Violation(f"slice {one.metadata.name} has the owners {owners}")


@check(
    "slices that somebody deleted are published again",
    rule="a kubelet deletes those of its node when it starts",
)
async def publishes_again(bench: Bench) -> None:
    await bench.devices()
    before = set(await bench.cluster.devices(bench.driver))
    for one in await bench.cluster.slices(bench.driver):
        await bench.cluster.client.delete(ResourceSlice, one.metadata.name)
    deadline = bench.clock.monotonic() + bench.options.publish_seconds
    while set(await bench.cluster.devices(bench.driver)) != before:
        if bench.clock.monotonic() >= deadline:
            raise Violation(f"not there again after {bench.options.publish_seconds:g} s")
        await bench.clock.sleep(LOOK_SECONDS)
