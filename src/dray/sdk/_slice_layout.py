"""How a pool is cut into slices.

Devices stay in their order, preferred ones first. Servers since 1.35 want counters in slices of
their own; older ones want a device together with the counters it draws from. Slices are narrow when
taints, counters or lists make devices large, and stay so while the pool is published that way: a
first taint must not have to rearrange a pool each time it comes and goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

from dray.api.resource import Device, ResourcePool, ResourceSliceSpec
from dray.api.wire import replace
from dray.sdk._inventory import Pool

__all__ = ["DEVICES_WITH_EXTRAS_MAX", "Layout", "is_local", "lay_out"]

# The API's limits.
DEVICES_MAX: Final = 128
DEVICES_WITH_EXTRAS_MAX: Final = 64
COUNTER_SETS_MAX: Final = 8

# Limits of servers up to 1.34, whose slices hold both.
SHARED_COUNTERS_MAX: Final = 32
CONSUMED_COUNTERS_MAX: Final = 1024


class Layout(Enum):
    """Where counters are."""

    APART = "counters in slices of their own, as servers since 1.35 want them"
    TOGETHER = "counters with the devices that draw from them, as servers up to 1.34 want them"


def is_local(pool: Pool) -> bool:
    """Whether the pool's devices are on the driver's node, and nowhere else."""
    return not (pool.node_selector or pool.all_nodes or pool.per_device_node_selection)


def lay_out(
    pool: Pool,
    *,
    driver: str,
    node_name: str,
    layout: Layout = Layout.APART,
    narrow: bool = False,
) -> tuple[ResourceSliceSpec, ...]:
    """The slices of a pool, at least one, of generation 0."""
    blank = ResourceSliceSpec(
        driver=driver,
        node_name=node_name if is_local(pool) else None,
        node_selector=pool.node_selector,
        all_nodes=pool.all_nodes or None,
        per_device_node_selection=pool.per_device_node_selection or None,
        skip_node_operations=pool.skip_node_operations,
    )
    if layout is Layout.TOGETHER and pool.counters:
        specs = [_with_counters(blank, pool, group) for group in _bundles(pool)]
    else:
        specs = [
            replace(blank, shared_counters=pool.counters[start : start + COUNTER_SETS_MAX])
            for start in range(0, len(pool.counters), COUNTER_SETS_MAX)
        ]
        wide = not narrow and not any(map(_has_extras, pool.devices))
        width = DEVICES_MAX if wide else DEVICES_WITH_EXTRAS_MAX
        # A pool without devices still says that it has none.
        for start in range(0, len(pool.devices) or (0 if specs else 1), width):
            specs.append(replace(blank, devices=pool.devices[start : start + width]))
    marker = pool.partition_type_attribute
    count = ResourcePool(name=pool.name or node_name, resource_slice_count=len(specs))
    return tuple(
        replace(
            spec,
            pool=count,
            partition_type_attribute=marker
            if marker and any(device.consumes_counters for device in spec.devices or ())
            else None,
        )
        for spec in specs
    )


def _has_extras(device: Device) -> bool:
    return bool(device.taints or device.consumes_counters) or any(
        attribute.int_values is not None
        or attribute.bool_values is not None
        or attribute.string_values is not None
        or attribute.version_values is not None
        for attribute in device.attributes.values()
    )


# Counters together with devices ------------------------------------------------------------------


def _with_counters(
    blank: ResourceSliceSpec, pool: Pool, devices: Sequence[Device]
) -> ResourceSliceSpec:
    used = {taken.counter_set for device in devices for taken in device.consumes_counters}
    sets = tuple(counters for counters in pool.counters if counters.name in used)
    return replace(blank, devices=tuple(devices), shared_counters=sets or None)


def _bundles(pool: Pool) -> Iterator[list[Device]]:
    """The devices in groups that fit into a slice with their counters.

    Devices that draw from one set cannot be parted. A family too large for a slice is left whole:
    the server says best what is wrong with it.
    """
    sizes = {counters.name: len(counters.counters) for counters in pool.counters}
    bundle: list[Device] = []
    sets: set[str] = set()
    for family in _families(pool):
        wanted = sets | {taken.counter_set for each in family for taken in each.consumes_counters}
        joined = [*bundle, *family]
        fits = (
            len(joined) <= DEVICES_MAX
            and sum(sizes.get(name, 0) for name in wanted) <= SHARED_COUNTERS_MAX
            and sum(len(taken.counters) for each in joined for taken in each.consumes_counters)
            <= CONSUMED_COUNTERS_MAX
        )
        if bundle and not fits:
            yield bundle
            joined = family
            wanted = {taken.counter_set for each in family for taken in each.consumes_counters}
        bundle, sets = joined, wanted
    yield bundle


def _families(pool: Pool) -> list[list[Device]]:
    """Devices by the counter sets that bind them to each other, in the order of the first."""
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for device in pool.devices:
        names = [taken.counter_set for taken in device.consumes_counters]
        for name in names[1:]:
            leader[find(name)] = find(names[0])
    families: dict[str, list[Device]] = {}
    for device in pool.devices:
        bound = device.consumes_counters
        # A device that draws from nothing is a family of its own; no set is named with a slash.
        key = find(bound[0].counter_set) if bound else f"/{device.name}"
        families.setdefault(key, []).append(device)
    return list(families.values())
