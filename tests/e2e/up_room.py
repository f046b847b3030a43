"""Whether a pod could still have devices: a rough count, made apart from the allocator.

It gives devices in the order in which they are published, so it may miss a way to fit several
requests together; where it finds room, there is room.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dray.api.resource import Device, ResourceClaim, ResourceSlice
from tests.e2e.up_objects import Need

__all__ = ["Room"]

GIBIBYTE_NANO = (1 << 30) * 10**9


@dataclass(slots=True)
class _Pool:
    devices: dict[str, Device] = field(default_factory=dict)
    counters: dict[tuple[str, str], int] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    consumed: dict[str, int] = field(default_factory=dict)  # memory of shared devices

    def copy(self) -> _Pool:
        return _Pool(self.devices, {**self.counters}, {*self.taken}, {**self.consumed})


class Room:
    """What is left on every node, when some claims have what they have."""

    def __init__(self, slices: Iterable[ResourceSlice], claims: Iterable[ResourceClaim]) -> None:
        self._pools: dict[str, _Pool] = {}
        for one in slices:
            pool = self._pools.setdefault(one.spec.pool.name, _Pool())
            pool.devices |= {device.name: device for device in one.spec.devices or ()}
            for counters in one.spec.shared_counters or ():
                for name, counter in counters.counters.items():
                    pool.counters[counters.name, name] = counter.value.nano
        for claim in claims:
            allocation = claim.status.allocation
            for result in allocation.devices.results if allocation else ():
                pool = self._pools[result.pool]
                device = pool.devices.get(result.device)
                if device is None:
                    continue
                memory = result.consumed_capacity.get("memory")
                _take(pool, device, memory.nano if memory is not None else 0)

    def node_for(self, needs: Sequence[Need], nodes: Iterable[str] | None = None) -> str | None:
        """A node that has all of it."""
        for name in self._pools if nodes is None else nodes:
            pool = self._pools[name].copy()
            if all(_give(pool, need) for need in needs for _ in range(need.count)):
                return name
        return None


def _give(pool: _Pool, need: Need) -> bool:
    for device in pool.devices.values():
        amount = need.gibibytes * GIBIBYTE_NANO
        if _suits(device, need) and not device.taints and _is_left(pool, device, amount):
            _take(pool, device, amount)
            return True
    return False


def _suits(device: Device, need: Need) -> bool:
    product, profile = (
        device.attributes[name].string_value if name in device.attributes else ""
        for name in ("productName", "profile")
    )
    return product == need.product and (profile or "") == need.profile


def _is_left(pool: _Pool, device: Device, amount: int) -> bool:
    if device.allow_multiple_allocations:
        used = pool.consumed.get(device.name, 0)
        return used + amount <= device.capacity["memory"].value.nano
    return device.name not in pool.taken and all(
        pool.counters[taken.counter_set, name] >= counter.value.nano
        for taken in device.consumes_counters
        for name, counter in taken.counters.items()
    )


def _take(pool: _Pool, device: Device, amount: int) -> None:
    if device.allow_multiple_allocations:
        pool.consumed[device.name] = pool.consumed.get(device.name, 0) + amount
        return
    pool.taken.add(device.name)
    for taken in device.consumes_counters:
        for name, counter in taken.counters.items():
            pool.counters[taken.counter_set, name] -= counter.value.nano
