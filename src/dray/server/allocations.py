"""Which claim holds which device, so that none is given away twice.

Schedulers choose devices, each by what it knows. Should two of them run at once, both may choose
the same device; here the second one is refused, with a Conflict that says who has it. Three things
are looked at when a claim gets devices: a device belongs to one claim, or is shared under share IDs
that differ; shares take no more of a device's capacity than there is; devices that draw from
counters draw no more than there is. Watching devices (adminAccess) takes nothing from anyone.
Capacity and counters are those of the newest slices; what is not published has no limit.

What is stored is learnt from the store itself, however it got there. A write that gives devices
holds them from the check on, beside what is stored, until the store has taken or refused it; one
whose request went away meanwhile goes on to hold them until that is known. Devices that are given
back are free once that is stored.

Upstream counterpart: none. There, a lease is all that keeps schedulers from doing this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Final, NamedTuple

import msgspec

from dray.api.quantity import Quantity
from dray.api.resource import AllocationResult, ResourceClaim
from dray.errors import CAUSE_DEVICES_TAKEN, Cause
from dray.server.published_pools import (
    PoolID,
    PublishedDevice,
    PublishedPool,
    PublishedPools,
)
from dray.server.refusals import conflict
from dray.server.registry import prefix_of
from dray.server.resources import Resource
from dray.store.store import Event, Store

__all__ = ["REASONS", "Allocations"]

_PREFIX: Final = prefix_of("resource.k8s.io", "resourceclaims")

REASONS: Final = ("device", "share", "capacity", "counter")
"""What there may be too little of, as metrics name it."""


class Allocations:
    """The devices that claims of a store hold. `refusals` counts, by reason, what was refused."""

    def __init__(self, store: Store) -> None:
        self.refusals: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self._store = store
        self._pools = PublishedPools(store)
        self._stored: dict[str, _Holdings] = {}  # by key
        self._tentative: dict[str, list[_Tentative]] = {}  # by key: on their way into the store
        self._devices: dict[PoolID, dict[str, tuple[_Use, ...]]] = {}
        self._subscription = store.watch(_PREFIX, store.revision, self._note)
        for record in store.range(_PREFIX).records:
            self._settle(record.key, _parsed(record.key, record.value))

    def close(self) -> None:
        self._pools.close()
        self._subscription.close()

    def holding(
        self,
        resource: Resource,
        key: str,
        value: bytes,
        new: ResourceClaim,
        old: ResourceClaim,
        *,
        dry_run: bool,
    ) -> AbstractContextManager[None]:
        """The devices that a claim gets are its own while it is being stored under the key.

        Raises Conflict if others have them. On a dry run nothing is held.
        """
        allocation = new.status.allocation
        if allocation is None or old.status.allocation is not None:
            return _NOTHING  # an allocation never changes
        holdings = _holdings(key, allocation)
        problem = self._problem(key, holdings)
        if problem is not None and self._forget_lost():
            problem = self._problem(key, holdings)
        if problem is not None:
            self.refusals[problem.reason] += 1
            cause = Cause(CAUSE_DEVICES_TAKEN, problem.told, "status.allocation.devices.results")
            raise conflict(resource, new.metadata.name, problem.told, causes=(cause,))
        return _NOTHING if dry_run else _Tentative(self, key, value, holdings)

    # Keeping -----------------------------------------------------------------------------------

    def _note(self, events: Sequence[Event]) -> None:
        for event in events:
            key, record = event.key, event.record
            if record is None:
                self._settle(key, ())
                continue
            for tentative in self._tentative.get(key, ()):
                if tentative.value is record.value:
                    self._forget(tentative)
                    self._replace(key, tentative.holdings)
                    break
            else:
                self._settle(key, _parsed(key, record.value))

    def _settle(self, key: str, holdings: _Holdings) -> None:
        """A claim holds this, and nothing else, as far as the store knows."""
        if self._stored.get(key, ()) != holdings:
            self._add(holdings)
            self._replace(key, holdings)

    def _replace(self, key: str, holdings: _Holdings) -> None:
        """What is counted already is what the store knows; what it knew before is over."""
        before = self._stored.pop(key, ())
        if holdings:
            self._stored[key] = holdings
        self._remove(before)

    def take(self, tentative: _Tentative) -> None:
        """Hold what is on its way into the store."""
        self._tentative.setdefault(tentative.key, []).append(tentative)
        self._add(tentative.holdings)

    def drop(self, tentative: _Tentative) -> None:
        """It has been answered: if it is not stored by now, it never will be."""
        if self._forget(tentative):
            self._remove(tentative.holdings)

    def _forget(self, tentative: _Tentative) -> bool:
        others = self._tentative.get(tentative.key, [])
        if tentative not in others:
            return False
        others.remove(tentative)
        if not others:
            del self._tentative[tentative.key]
        return True

    def _forget_lost(self) -> bool:
        """Whether there were writes that nobody waited for, and that the store did not take.

        While one is on its way, the head of its key shows what it holds; or shows what came after
        it, which can be stored only if it was.
        """
        lost = []
        for writes in self._tentative.values():
            for write in writes:
                head = self._store.head(write.key) if write.left else None
                held = () if head is None else _parsed(write.key, head.value)
                if write.left and held != write.holdings:
                    lost.append(write)
        for write in lost:
            self.drop(write)
        return bool(lost)

    def _add(self, holdings: _Holdings) -> None:
        for pool, device, use in holdings:
            devices = self._devices.get(pool)
            if devices is None:
                devices = self._devices[pool] = {}
            uses = devices.get(device)
            devices[device] = (use,) if uses is None else (*uses, use)

    def _remove(self, holdings: _Holdings) -> None:
        for pool, device, use in holdings:
            devices = self._devices[pool]
            uses = devices[device]
            if len(uses) > 1:
                index = uses.index(use)  # any of them: it may be stored, and be stored again
                devices[device] = uses[:index] + uses[index + 1 :]
            elif len(devices) > 1:
                del devices[device]
            else:
                del self._devices[pool]

    # Checking ----------------------------------------------------------------------------------

    def _problem(self, key: str, holdings: _Holdings) -> _Problem | None:
        """Why a claim cannot have all of this."""
        wanted: dict[PoolID, dict[str, list[_Use]]] = {}
        for pool, device, use in holdings:
            mine = wanted.setdefault(pool, {}).setdefault(device, [])
            others = self._others(key, pool, device)
            others += mine
            for other in others:
                if use.share is None or other.share is None or use.share == other.share:
                    return _taken(_path(pool, device), use, other)
            if use.amounts:
                found = self._too_small(pool, device, use, others)
                if found is not None:
                    return found
            mine.append(use)
        for pool, devices in wanted.items():
            published = self._pools.find(pool)
            if published.has_counters:
                found = self._overdrawn(key, pool, devices.keys(), published)
                if found is not None:
                    return found
        return None

    def _others(self, key: str, pool: PoolID, device: str) -> list[_Use]:
        """How other claims use a device."""
        uses = self._devices.get(pool, _NONE).get(device, ())
        return [use for use in uses if use.key != key]

    def _too_small(
        self, pool: PoolID, device: str, share: _Use, others: Sequence[_Use]
    ) -> _Problem | None:
        """Whether a share takes more of a device than others left."""
        published = self._pools.find(pool).devices.get(device)
        if published is None:
            return None
        for name, amount in share.amounts:
            there = published.capacity.get(name)
            if there is None:
                continue
            taken = [each for use in others for its, each in use.amounts if its == name]
            if _exceeds((*taken, amount), there):
                told = f"device {_path(pool, device)} has {there} of {name}"
                return _Problem("capacity", f"{told}, {_more(amount, taken)}")
        return None

    def _overdrawn(
        self, key: str, pool: PoolID, wanted: AbstractSet[str], published: PublishedPool
    ) -> _Problem | None:
        """Whether devices draw more from counters than others left in them."""
        devices = published.devices
        in_use = self._devices.get(pool, _NONE)
        ours: dict[str, list[Mapping[str, Quantity]]] = {}
        for name in sorted(wanted):
            device = devices.get(name, _UNPUBLISHED)
            for counter_set, draws in device.draws.items():
                ours.setdefault(counter_set, []).append(draws)
        for counter_set, drawn in ours.items():
            theirs = [
                devices[name].draws[counter_set]
                for name in published.drawers[counter_set]
                if name in in_use and name not in wanted and self._others(key, pool, name)
            ]
            limits = published.counters.get(counter_set, {})
            for counter in dict.fromkeys([each for draws in drawn for each in draws]):
                there = limits.get(counter)
                if there is None:
                    continue
                more = [draws[counter] for draws in drawn if counter in draws]
                taken = [draws[counter] for draws in theirs if counter in draws]
                if _exceeds((*taken, *more), there):
                    where = f"counter set {counter_set} of pool {pool[0]}/{pool[1]}"
                    told = f"{where} has {there} of {counter}, {_more(_sum(more), taken)}"
                    return _Problem("counter", told)
        return None


class _Use(NamedTuple):
    """How a claim uses a device."""

    key: str
    share: str | None  # None: all of it
    amounts: tuple[tuple[str, Quantity], ...]  # that the share takes


class _Holding(NamedTuple):
    pool: PoolID
    device: str
    use: _Use


_Holdings = tuple[_Holding, ...]


class _Problem(NamedTuple):
    reason: str
    told: str


_NOTHING: Final[AbstractContextManager[None]] = nullcontext()
_NONE: Final[Mapping[str, tuple[_Use, ...]]] = {}
_UNPUBLISHED: Final = PublishedDevice()


class _Tentative:
    """What a write that is under way holds; entered when it begins, left when it is answered."""

    __slots__ = ("_allocations", "holdings", "key", "left", "value")

    def __init__(
        self, allocations: Allocations, key: str, value: bytes, holdings: _Holdings
    ) -> None:
        self._allocations = allocations
        self.key = key
        self.value = value
        self.holdings = holdings
        self.left = False  # nobody waits for the answer any more

    def __enter__(self) -> None:
        self._allocations.take(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None or issubclass(kind, Exception):
            self._allocations.drop(self)
        else:
            self.left = True  # cancelled; the store may take it all the same


def _holdings(key: str, allocation: AllocationResult | _Allocation) -> _Holdings:
    return tuple(
        [
            _Holding(
                (one.driver, one.pool),
                one.device,
                _Use(key, one.share_id, tuple(sorted(one.consumed_capacity.items()))),
            )
            for one in allocation.devices.results
            if not one.admin_access
        ]
    )


# Telling -----------------------------------------------------------------------------------------


def _taken(path: str, use: _Use, other: _Use) -> _Problem:
    claim = other.key.removeprefix(_PREFIX)
    who = "this claim" if use.key == other.key else f"claim {claim}"
    if use.share is not None and use.share == other.share:
        told = f"share {use.share} of device {path} is already allocated to {who}"
        return _Problem("share", told)
    how = "allocated to" if other.share is None else "shared by"
    return _Problem("device", f"device {path} is already {how} {who}")


def _more(amount: Quantity, taken: Sequence[Quantity]) -> str:
    return f"of which {_sum(taken)} is already allocated: {amount} more does not fit"


def _path(pool: PoolID, device: str) -> str:
    return f"{pool[0]}/{pool[1]}/{device}"


def _exceeds(amounts: Iterable[Quantity], there: Quantity) -> bool:
    return sum([each.nano for each in amounts]) > there.nano


def _sum(amounts: Sequence[Quantity]) -> Quantity:
    first, *others = amounts or (_ZERO,)
    for other in others:
        first += other
    return first


_ZERO: Final = Quantity.parse("0")


# Claims as they are stored, as far as they matter here -------------------------------------------

# Quotes inside of text are escaped, so this is never part of a value.
_ALLOCATED: Final = b'"allocation":{'


class _Result(msgspec.Struct, rename="camel"):
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, Quantity] = msgspec.field(default_factory=dict)


class _Devices(msgspec.Struct):
    results: tuple[_Result, ...] = ()


class _Allocation(msgspec.Struct):
    devices: _Devices = msgspec.field(default_factory=_Devices)


class _Status(msgspec.Struct):
    allocation: _Allocation | None = None


class _Claim(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


def _quantity(_kind: type, value: str) -> Quantity:
    return Quantity.parse(value)


_DECODER: Final = msgspec.json.Decoder(_Claim, dec_hook=_quantity)


def _parsed(key: str, value: bytes) -> _Holdings:
    """What a claim holds that is stored as this value."""
    if _ALLOCATED not in value:
        return ()
    allocation = _DECODER.decode(value).status.allocation
    return () if allocation is None else _holdings(key, allocation)
