"""What allocated claims hold of the devices, and which claim holds what.

A device given whole belongs to one claim. A device that allows several allocations is held in
shares; what matters there is how much of each capacity they take together. Devices are kept by
pool, because that is how the allocator meets them.

Upstream counterpart: AllocatedState in dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from dray.allocator.requests import claim_key
from dray.api.resource import DeviceID, DeviceRequestAllocationResult, ResourceClaim

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
    shares: int = 0  # of claims
    consumed: dict[str, int] = field(default_factory=dict)
    measured: int = 0  # signs of use other than claims: share IDs and consumption by themselves
    holders: list[str] = field(default_factory=list)

    @property
    def allocated(self) -> bool:
        """Whether somebody has the whole device."""
        return self.whole > 0

    def taken(self, *, consumable_capacity: bool) -> bool:
        """Whether nobody else can have the device.

        Without consumable capacity nobody knows what a share is, and it counts as the whole.
        """
        return self.whole > 0 or (self.shares > 0 and not consumable_capacity)

    @property
    def shared(self) -> bool:
        return self.shares > 0 or self.measured > 0

    @property
    def charged(self) -> bool:
        """Whether the counters of the device are spent."""
        return self.allocated or self.shared

    def key(self) -> Hashable:
        """All that allocation depends on."""
        consumed = tuple(sorted((name, taken) for name, taken in self.consumed.items() if taken))
        return self.allocated, self.shared, consumed

    def copy(self) -> Usage:
        return replace(self, consumed=dict(self.consumed), holders=list(self.holders))


UNUSED: Final = Usage()


class _Holding(NamedTuple):
    """What one claim has."""

    uid: str
    results: tuple[DeviceRequestAllocationResult, ...]


class Occupancy:
    """The devices in use. Changing it by one claim costs what that claim holds.

    Claims are known by name. Adding one again replaces what it held, and removing one that is not
    held changes nothing, so that events may come twice.
    """

    def __init__(self) -> None:
        self._pools: dict[PoolID, dict[str, Usage]] = {}
        self._held: dict[str, _Holding] = {}

    @classmethod
    def of(cls, claims: Iterable[ResourceClaim]) -> Occupancy:
        """What these claims hold; those without an allocation hold nothing."""
        occupancy = cls()
        for claim in claims:
            occupancy.add(claim)
        return occupancy

    # Reading -----------------------------------------------------------------------------------

    def pool(self, pool: PoolID) -> Mapping[str, Usage]:
        """The devices of a pool that are in use, by name."""
        return self._pools.get(pool, _NOTHING)

    def usage(self, device: DeviceID) -> Usage:
        return self.pool(PoolID(device.driver, device.pool)).get(device.device) or Usage()

    def __len__(self) -> int:
        """How many devices are in use."""
        return sum(map(len, self._pools.values()))

    def without(
        self, holders: Collection[str], devices: Collection[DeviceID], pools: Iterable[PoolID]
    ) -> Occupancy:
        """What is in use in these pools if holders give back what they have, and devices go too.

        The answer is for reading: it does not know which claim holds what.
        """
        left = Occupancy()
        for pool in pools:
            staying = {
                name: usage.copy()
                for name, usage in self.pool(pool).items()
                if DeviceID(*pool, name) not in devices
                and not (usage.holders and all(one in holders for one in usage.holders))
            }
            if staying:
                left._pools[pool] = staying
        for holder in holders:
            held = self._held.get(holder)
            results = held.results if held is not None else ()
            shared = [r for r in results if r.device in left.pool(PoolID(r.driver, r.pool))]
            left._count(holder, shared, -1)
        return left

    # Changing ----------------------------------------------------------------------------------

    def add(self, claim: ResourceClaim) -> frozenset[PoolID]:
        """Count what a claim holds; returns the pools that this touches."""
        name = claim_key(claim)
        touched = self._release(name)
        allocation = claim.status.allocation
        if allocation is None:
            return touched
        # Watching a device does not take it from anyone.
        results = tuple(one for one in allocation.devices.results if not one.admin_access)
        if results:
            self._held[name] = _Holding(claim.metadata.uid, results)
        return touched | self._count(name, results, +1)

    def remove(self, claim: ResourceClaim) -> frozenset[PoolID]:
        """Forget what a claim holds; returns the pools that this touches.

        A claim that was made anew under the same name is another claim, and keeps what it has.
        """
        name = claim_key(claim)
        held = self._held.get(name)
        if held is None or (held.uid and claim.metadata.uid and held.uid != claim.metadata.uid):
            return frozenset()
        return self._release(name)

    def hold(self, device: DeviceID, holder: str = "") -> None:
        """Count one device as given whole."""
        usage = self._usage(device)
        usage.whole += 1
        usage.holders.append(holder)

    def hold_share(self, device: DeviceID, holder: str = "") -> None:
        """Count one share of a device, whatever it consumes."""
        usage = self._usage(device)
        usage.measured += 1
        usage.holders.append(holder)

    def consume(self, device: DeviceID, amounts: Mapping[str, int]) -> None:
        """Count capacity of a device as taken, in units of 10^-9."""
        usage = self._usage(device)
        usage.measured += 1
        for name, amount in amounts.items():
            usage.consumed[name] = usage.consumed.get(name, 0) + amount

    def _release(self, name: str) -> frozenset[PoolID]:
        held = self._held.pop(name, None)
        return self._count(name, held.results, -1) if held is not None else frozenset()

    def _count(
        self, holder: str, results: Iterable[DeviceRequestAllocationResult], sign: int
    ) -> frozenset[PoolID]:
        touched = set()
        for result in results:
            pool = PoolID(result.driver, result.pool)
            touched.add(pool)
            usage = self._usage(DeviceID(*pool, result.device))
            if result.share_id is None:
                usage.whole += sign
            else:
                usage.shares += sign
                if result.consumed_capacity:
                    usage.measured += sign
                for name, amount in result.consumed_capacity.items():
                    usage.consumed[name] = usage.consumed.get(name, 0) + sign * amount.nano
            if sign > 0:
                usage.holders.append(holder)
            else:
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
