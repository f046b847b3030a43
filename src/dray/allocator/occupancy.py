"""What allocated claims hold of the devices, and which claim holds what.

A device given whole belongs to one claim. A device that allows several allocations is held in
shares; what matters there is how much of each capacity they take together. Devices are kept by
pool, because that is how the allocator meets them.

Upstream counterpart: AllocatedState in dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from dray.allocator.requests import claim_key
from dray.api.resource import DeviceID, ResourceClaim

__all__ = ["UNUSED", "Occupancy", "PoolID", "Usage"]


class PoolID(NamedTuple):
    """What names one pool in a cluster."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


@dataclass(slots=True)
class Usage:
    """How one device is held. Amounts are in units of 10^-9."""

    whole: int = 0  # allocations of the whole device; more than one is a mistake of someone else
    shares: int = 0
    consumed: dict[str, int] = field(default_factory=dict)
    # A share that consumes nothing measurable still charges the counters of the device.
    measured: int = 0  # shares that came with consumed capacity
    holders: list[str] = field(default_factory=list)

    @property
    def allocated(self) -> bool:
        """Whether nobody else can have the device."""
        return self.whole > 0

    @property
    def shared(self) -> bool:
        return self.shares > 0 or self.measured > 0

    @property
    def charged(self) -> bool:
        """Whether the counters of the device are spent."""
        return self.allocated or self.shared

    def key(self) -> tuple[object, ...]:
        """All that allocation depends on."""
        consumed = tuple(sorted((name, taken) for name, taken in self.consumed.items() if taken))
        return self.allocated, self.shared, consumed


UNUSED: Final = Usage()


class Occupancy:
    """The devices in use. Changing it by one claim costs what that claim holds."""

    def __init__(self, *, consumable_capacity: bool = True) -> None:
        """Without consumable capacity a share counts as the whole device."""
        self._consumable_capacity = consumable_capacity
        self._pools: dict[PoolID, dict[str, Usage]] = {}

    @classmethod
    def of(cls, claims: Iterable[ResourceClaim], *, consumable_capacity: bool = True) -> Occupancy:
        occupancy = cls(consumable_capacity=consumable_capacity)
        for claim in claims:
            occupancy.add(claim)
        return occupancy

    # Reading -----------------------------------------------------------------------------------

    def pool(self, pool: PoolID) -> Mapping[str, Usage]:
        """The devices of a pool that are in use, by name."""
        return self._pools.get(pool, _NOTHING)

    def usage(self, device: DeviceID) -> Usage:
        return self.pool(PoolID(device.driver, device.pool)).get(device.device, UNUSED)

    def __len__(self) -> int:
        """How many devices are in use."""
        return sum(map(len, self._pools.values()))

    # Changing ----------------------------------------------------------------------------------

    def add(self, claim: ResourceClaim) -> frozenset[PoolID]:
        """Count what a claim holds; returns the pools that it touches."""
        return self._change(claim, +1)

    def remove(self, claim: ResourceClaim) -> frozenset[PoolID]:
        """Forget what a claim holds, which must be what it held when it was added."""
        return self._change(claim, -1)

    def hold(self, device: DeviceID, holder: str = "") -> None:
        """Count one device as given whole."""
        usage = self._usage(device)
        usage.whole += 1
        usage.holders.append(holder)

    def hold_share(self, device: DeviceID, holder: str = "") -> None:
        """Count one share of a device, whatever it consumes."""
        usage = self._usage(device)
        usage.shares += 1
        usage.holders.append(holder)

    def consume(self, device: DeviceID, amounts: Mapping[str, int]) -> None:
        """Count capacity of a device as taken, in units of 10^-9."""
        usage = self._usage(device)
        usage.measured += 1
        for name, amount in amounts.items():
            usage.consumed[name] = usage.consumed.get(name, 0) + amount

    def _change(self, claim: ResourceClaim, sign: int) -> frozenset[PoolID]:
        allocation = claim.status.allocation
        if allocation is None:
            return frozenset()
        touched = set()
        holder = claim_key(claim)
        for result in allocation.devices.results:
            # Watching a device does not take it from anyone.
            if result.admin_access:
                continue
            device = DeviceID(result.driver, result.pool, result.device)
            pool = PoolID(result.driver, result.pool)
            touched.add(pool)
            usage = self._usage(device)
            if self._consumable_capacity and result.share_id is not None:
                usage.shares += sign
                if result.consumed_capacity:
                    usage.measured += sign
                    for name, amount in result.consumed_capacity.items():
                        usage.consumed[name] = usage.consumed.get(name, 0) + sign * amount.nano
            else:
                usage.whole += sign
            if sign > 0:
                usage.holders.append(holder)
            elif holder in usage.holders:
                usage.holders.remove(holder)
            if not usage.charged:
                self._forget(pool, result.device)
        return frozenset(touched)

    def _usage(self, device: DeviceID) -> Usage:
        pool = self._pools.setdefault(PoolID(device.driver, device.pool), {})
        usage = pool.get(device.device)
        if usage is None:
            usage = pool[device.device] = Usage()
        return usage

    def _forget(self, pool: PoolID, device: str) -> None:
        devices = self._pools[pool]
        del devices[device]
        if not devices:
            del self._pools[pool]


_NOTHING: Final[Mapping[str, Usage]] = {}
