"""The pools of devices that a node can reach, as ResourceSlices publish them.

A pool is what one driver publishes under one name, spread over slices. Only the slices of its
newest generation count. A pool that misses slices is incomplete: nothing is taken from it, because
what is still to come may change what its devices mean. A pool whose slices contradict each other
is invalid. Both are remembered, because a request for all devices must not pass over them.

Upstream counterpart: GatherPools in dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Final

from dray.allocator.devices import PlacedDevice
from dray.allocator.features import Features
from dray.allocator.occupancy import PoolID
from dray.api.core import Node
from dray.api.node_matching import node_matches
from dray.api.resource import CounterSet, Device, DeviceID, ResourceSlice
from dray.errors import AllocationError

__all__ = ["Pool", "PoolRecord", "SliceRecord", "UnreadableSelection", "supported"]


class UnreadableSelection(AllocationError):
    """A slice's node selector cannot be parsed; `sequence` tells which slice came first."""

    def __init__(self, message: str, *, sequence: int) -> None:
        super().__init__(message)
        self.sequence = sequence


@dataclass(frozen=True, slots=True, eq=False)
class SliceRecord:
    """A slice and when it came."""

    slice: ResourceSlice
    sequence: int

    @property
    def name(self) -> str:
        return self.slice.metadata.name

    @property
    def devices(self) -> tuple[Device, ...]:
        return self.slice.spec.devices or ()

    @property
    def shared(self) -> bool:
        """Whether more than one node may reach it."""
        return not self.slice.spec.node_name


@dataclass(frozen=True, eq=False)
class Pool:
    """A pool as one node sees it."""

    id: PoolID
    incomplete: bool = False
    invalid: str = ""  # why, or nothing
    slices: tuple[SliceRecord, ...] = ()  # with devices for the node, in order of name
    elsewhere: tuple[SliceRecord, ...] = ()  # with devices for other nodes
    counter_sets: Mapping[str, CounterSet] = field(default_factory=dict)
    serial: int = 0  # no two views of pools of an inventory have the same

    @property
    def usable(self) -> bool:
        return not self.incomplete and not self.invalid

    @cached_property
    def devices(self) -> tuple[PlacedDevice, ...]:
        """The devices in the order in which they are tried."""
        driver, pool = self.id
        return tuple(
            PlacedDevice(DeviceID(driver, pool, device.name), device, record.slice)
            for record in self.slices
            for device in record.devices
        )

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Where each device is in that order."""
        names = [device.name for record in self.slices for device in record.devices]
        return {name: position for position, name in enumerate(names)}

    @cached_property
    def special(self) -> bool:
        """Whether devices may be for some nodes only, though the slice is for all."""
        return any(map(_special, self.slices))

    @cached_property
    def everywhere(self) -> bool:
        """Whether other nodes see the very same, and taking a device takes it from them too."""
        return not self.special and any(record.shared for record in self.slices)

    @cached_property
    def late(self) -> bool:
        """Whether it comes after the pools whose devices need no binding conditions."""
        return any(device.binding_conditions for record in self.slices for device in record.devices)

    @property
    def order(self) -> tuple[bool, str, str]:
        # Names compare by their bytes; for UTF-8 that is the order of code points.
        return (self.late, *self.id)


def supported(slice_: ResourceSlice, features: Features) -> bool:
    """Whether the allocator understands all of a slice; others are passed over."""
    spec = slice_.spec
    if not features.partitionable_devices and (
        spec.per_device_node_selection is not None or spec.shared_counters
    ):
        return False
    return features.compatibility_groups or not _has_compatibility_groups(slice_)


def _has_compatibility_groups(slice_: ResourceSlice) -> bool:
    return any(
        consumption.compatibility_groups
        for device in slice_.spec.devices or ()
        for consumption in device.consumes_counters
    )


class PoolRecord:
    """All slices of one pool in the cluster, of any generation.

    A pool may be spread over thousands of nodes, so slices are kept by the node they name, and
    what a node needs to know of the slices for other nodes is counted as slices come and go.
    """

    def __init__(
        self, pool: PoolID, features: Features, serials: Iterator[int] | None = None
    ) -> None:
        """`serials` numbers the views of all pools of an inventory."""
        self.id = pool
        self._serials = serials if serials is not None else count()
        self._features = features
        self._slices: dict[str, SliceRecord] = {}
        self._on_node: dict[str, dict[str, SliceRecord]] = {}
        self._shared: dict[str, SliceRecord] = {}
        self._generations: Counter[int] = Counter()
        self._countable: Counter[int] = Counter()  # those that count towards completeness
        self._partitioned: set[str] = set()  # slices that have counters or draw from them
        # A pool looks the same from every node that reaches the same slices of it.
        self._views: dict[tuple[int, ...], Pool | None] = {}

    def apply(self, record: SliceRecord) -> None:
        """Take in a slice; one of the same name must have been removed before."""
        self._slices[record.name] = record
        node_name = record.slice.spec.node_name
        group = self._on_node.setdefault(node_name, {}) if node_name else self._shared
        group[record.name] = record
        self._generations[_generation(record)] += 1
        if self._counts_as_one(record):
            self._countable[_generation(record)] += 1
        if _partitioned(record):
            self._partitioned.add(record.name)
        self._views.clear()

    def remove(self, name: str) -> None:
        record = self._slices.pop(name)
        node_name = record.slice.spec.node_name
        if not node_name:
            del self._shared[name]
        else:
            del self._on_node[node_name][name]
            if not self._on_node[node_name]:
                del self._on_node[node_name]
        generation = _generation(record)
        self._generations[generation] -= 1
        if not self._generations[generation]:
            del self._generations[generation]
        if self._counts_as_one(record):
            self._countable[generation] -= 1
        self._partitioned.discard(name)
        self._views.clear()

    def _counts_as_one(self, record: SliceRecord) -> bool:
        return self._features.compatibility_groups or not _has_compatibility_groups(record.slice)

    def __len__(self) -> int:
        return len(self._slices)

    @property
    def node_names(self) -> Collection[str]:
        """The nodes that slices name."""
        return self._on_node.keys()

    @property
    def shared(self) -> bool:
        """Whether nodes that no slice names may reach it."""
        return bool(self._shared)

    @property
    def special(self) -> bool:
        """Whether some devices may be for some nodes only, though a slice is for all."""
        return any(_special(record) for record in self._shared.values())

    def seen_from(self, node: Node) -> Pool | None:
        """The pool for one node; None if the node reaches nothing of it."""
        named = self._on_node.get(node.metadata.name, _NO_SLICES).values()
        reachable = [*named, *self._shared.values()]
        # In the order in which they came, so that the first that cannot be read is complained of.
        reachable.sort(key=lambda record: (record.shared, record.sequence))
        relevant = [record for record in reachable if self._reaches(record, node)]
        if not relevant:
            return None
        key = tuple(record.sequence for record in relevant)
        if key not in self._views:
            view = self._build(relevant)
            self._views[key] = replace(view, serial=next(self._serials)) if view else None
        return self._views[key]

    def _reaches(self, record: SliceRecord, node: Node) -> bool:
        slice_ = record.slice
        spec = slice_.spec
        if not supported(slice_, self._features):
            return False
        if spec.node_name:
            return True
        try:
            if spec.all_nodes or spec.node_selector is not None:
                return node_matches(node, None, spec.all_nodes, spec.node_selector)
            if not spec.per_device_node_selection:
                # A way to select nodes that is yet to be invented.
                return False
        except AllocationError as error:
            raise UnreadableSelection(
                f"gather pool information: failed to perform node selection for slice "
                f"{record.name}: {error}",
                sequence=record.sequence,
            ) from None
        for device in record.devices:
            try:
                if node_matches(node, device.node_name, device.all_nodes, device.node_selector):
                    return True
            except AllocationError as error:
                raise UnreadableSelection(
                    f"gather pool information: failed to perform node selection for device "
                    f"{device.name} in slice {record.name}: {error}",
                    sequence=record.sequence,
                ) from None
        return False

    def _build(self, relevant: list[SliceRecord]) -> Pool | None:
        newest = max(map(_generation, relevant))
        kept = [record for record in relevant if _generation(record) == newest]
        wanted = kept[0].slice.spec.pool.resource_slice_count
        others: list[SliceRecord] = []
        if len(kept) != wanted:
            if max(self._generations) > newest:
                # The driver is replacing the pool, and nothing of the new one is for this node.
                return None
            if self._countable[newest] != wanted:
                return Pool(self.id, incomplete=True)
            if self._partitioned:
                # Partitions share counters with those on other nodes; other devices share nothing.
                names = {record.name for record in kept}
                others = [
                    record
                    for record in self._slices.values()
                    if _generation(record) == newest
                    and record.name not in names
                    and self._counts_as_one(record)
                ]
                others.sort(key=lambda record: record.sequence)
        kept.sort(key=lambda record: record.name)
        return self._validated(kept, others)

    def _validated(self, kept: list[SliceRecord], others: list[SliceRecord]) -> Pool:
        with_devices = [record for record in kept if not self._counts(record)]
        elsewhere = [record for record in others if not self._counts(record)]
        seen = set()
        for record in with_devices:
            for device in record.devices:
                if device.name in seen:
                    return Pool(self.id, invalid=f"duplicate device name {device.name}")
                seen.add(device.name)
        if not self._features.partitionable_devices:
            return Pool(self.id, slices=tuple(with_devices))
        counter_sets: dict[str, CounterSet] = {}
        for record in (*kept, *others):
            for counter_set in record.slice.spec.shared_counters or ():
                if counter_set.name in counter_sets:
                    return Pool(self.id, invalid=f"duplicate counter set name {counter_set.name}")
                counter_sets[counter_set.name] = counter_set
        for records in (with_devices, elsewhere):
            if reason := _unknown_counter(records, counter_sets):
                return Pool(self.id, invalid=reason)
        return Pool(
            self.id,
            slices=tuple(with_devices),
            elsewhere=tuple(elsewhere),
            counter_sets=counter_sets,
        )

    def _counts(self, record: SliceRecord) -> bool:
        """Whether the slice holds counters; its devices, if any, are then not looked at."""
        return self._features.partitionable_devices and bool(record.slice.spec.shared_counters)


_NO_SLICES: Final[Mapping[str, SliceRecord]] = {}


def _generation(record: SliceRecord) -> int:
    return record.slice.spec.pool.generation


def _special(record: SliceRecord) -> bool:
    spec = record.slice.spec
    return bool(spec.per_device_node_selection or spec.skip_node_operations)


def _partitioned(record: SliceRecord) -> bool:
    return bool(record.slice.spec.shared_counters) or any(
        device.consumes_counters for device in record.devices
    )


def _unknown_counter(records: Sequence[SliceRecord], counter_sets: Mapping[str, CounterSet]) -> str:
    for record in records:
        for device in record.devices:
            for consumption in device.consumes_counters:
                counter_set = counter_sets.get(consumption.counter_set)
                if counter_set is None:
                    return f"counter set {consumption.counter_set} not found"
                for name in consumption.counters:
                    if name not in counter_set.counters:
                        return f"counter {name} not found in counter set {counter_set.name}"
    return ""
