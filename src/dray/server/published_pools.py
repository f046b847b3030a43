"""What the newest slices of a pool say of capacity and counters, read when somebody asks.

A slice that is written costs a note of its key. The first question has the slices sorted by their
pools; a pool that is asked about is then read once, until one of its slices changes. Most pools
have no counters and no shares, and are never read any further than that.

Not here: node selectors, taints, whether a pool is complete. Whoever chooses devices looks at those
(dray.allocator); this is for checking afterwards that no more was given away than there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from dray.api.quantity import Quantity
from dray.server.registry import prefix_of
from dray.store.store import Event, Store

__all__ = ["PoolID", "PublishedDevice", "PublishedPool", "PublishedPools"]

_PREFIX: Final = prefix_of("resource.k8s.io", "resourceslices")

PoolID = tuple[str, str]
"""A driver, and its name for the pool."""

Counters = Mapping[str, Mapping[str, Quantity]]
"""Amounts, by counter set and counter."""


@dataclass(frozen=True, slots=True)
class PublishedDevice:
    """What counts of a device when it is given away."""

    capacity: Mapping[str, Quantity] = field(default_factory=dict)
    draws: Counters = field(default_factory=dict)


class PublishedPool:
    """The newest generation of a pool."""

    def __init__(self, values: Sequence[bytes] = ()) -> None:
        """The slices of that generation, as they are stored."""
        self._values = values
        self.has_counters: Final = any(_DRAWS in value for value in values)

    @cached_property
    def _slices(self) -> list[_Spec]:
        return [_WHOLE.decode(value).spec for value in self._values]

    @cached_property
    def devices(self) -> Mapping[str, PublishedDevice]:
        return {
            device.name: PublishedDevice(
                {name: each.value for name, each in device.capacity.items()},
                {
                    drawn.counter_set: {
                        name: each.value
                        for name, each in drawn.counters.items()
                        if not each.value.is_zero
                    }
                    for drawn in device.consumes_counters
                },
            )
            for slice_ in self._slices
            for device in slice_.devices or ()
        }

    @cached_property
    def counters(self) -> Counters:
        """How much there is of each."""
        return {
            counters.name: {name: each.value for name, each in counters.counters.items()}
            for slice_ in self._slices
            for counters in slice_.shared_counters or ()
        }

    @cached_property
    def drawers(self) -> Mapping[str, frozenset[str]]:
        """The devices that draw from a counter set, by its name."""
        found: dict[str, set[str]] = {}
        for name, device in self.devices.items():
            for counter_set in device.draws:
                found.setdefault(counter_set, set()).add(name)
        return {name: frozenset(drawers) for name, drawers in found.items()}


class PublishedPools:
    """The pools of a store, for one who asks now and then."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed: set[str] | None = None  # keys of slices; None before the first question
        self._slices: dict[str, _Place] = {}
        self._keys: dict[PoolID, set[str]] = {}
        self._read: dict[PoolID, PublishedPool] = {}
        self._subscription = store.watch(_PREFIX, store.revision, self._note)

    def find(self, pool: PoolID) -> PublishedPool:
        """A pool as it is published now; an empty one if it is not."""
        if self._changed is None:
            self._changed = {record.key for record in self._store.range(_PREFIX).records}
        if self._changed:
            for key in self._changed:
                self._sort(key)
            self._changed = set()
        found = self._read.get(pool)
        if found is None:
            keys = self._keys.get(pool)
            if keys is None:
                return _UNKNOWN
            found = self._read[pool] = self._newest(keys)
        return found

    def close(self) -> None:
        self._subscription.close()

    def _note(self, events: Sequence[Event]) -> None:
        if self._changed is None:
            return
        for event in events:
            if event.record is None and event.key not in self._slices:
                # It came and went before anybody asked: of those there may be any number.
                self._changed.discard(event.key)
            else:
                self._changed.add(event.key)

    def _sort(self, key: str) -> None:
        """Put a slice with its pool, or away if it is gone."""
        before = self._slices.pop(key, None)
        if before is not None:
            keys = self._keys[before.pool]
            keys.discard(key)
            if not keys:
                del self._keys[before.pool]
            self._read.pop(before.pool, None)
        record = self._store.get(key)
        if record is None:
            return
        spec = _HEAD.decode(record.value).spec
        place = self._slices[key] = _Place((spec.driver, spec.pool.name), spec.pool.generation)
        self._keys.setdefault(place.pool, set()).add(key)
        self._read.pop(place.pool, None)

    def _newest(self, keys: set[str]) -> PublishedPool:
        generation = max(self._slices[key].generation for key in keys)
        newest = sorted(key for key in keys if self._slices[key].generation == generation)
        records = [self._store.get(key) for key in newest]
        return PublishedPool([record.value for record in records if record is not None])


class _Place(NamedTuple):
    """Where a slice belongs."""

    pool: PoolID
    generation: int


# Slices as they are stored, as far as they matter here -------------------------------------------

# Quotes inside of text are escaped, so this is never part of a value.
_DRAWS: Final = b'"consumesCounters":['


class _Pool(msgspec.Struct, gc=False):
    name: str = ""
    generation: int = 0


class _HeadSpec(msgspec.Struct):
    driver: str = ""
    pool: _Pool = msgspec.field(default_factory=_Pool)


class _Head(msgspec.Struct):
    spec: _HeadSpec


class _Amount(msgspec.Struct):
    value: Quantity


class _Consumption(msgspec.Struct, rename="camel"):
    counter_set: str = ""
    counters: dict[str, _Amount] = msgspec.field(default_factory=dict)


class _Device(msgspec.Struct, rename="camel"):
    name: str = ""
    capacity: dict[str, _Amount] = msgspec.field(default_factory=dict)
    consumes_counters: tuple[_Consumption, ...] = ()


class _CounterSet(msgspec.Struct):
    name: str = ""
    counters: dict[str, _Amount] = msgspec.field(default_factory=dict)


class _Spec(msgspec.Struct, rename="camel"):
    devices: tuple[_Device, ...] | None = None
    shared_counters: tuple[_CounterSet, ...] | None = None


class _Slice(msgspec.Struct):
    spec: _Spec


def _quantity(_kind: type, value: str) -> Quantity:
    return Quantity.parse(value)


_HEAD: Final = msgspec.json.Decoder(_Head)
_WHOLE: Final = msgspec.json.Decoder(_Slice, dec_hook=_quantity)

_UNKNOWN: Final = PublishedPool()
