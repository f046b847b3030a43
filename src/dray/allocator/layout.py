"""The devices of one node as a search sees them.

A Layout turns pools into seats. Its key says all that a solution depends on, in terms that do not
name the node: nodes with equal keys have the same answer, device for device, and the key is much
cheaper than the answer.

Upstream counterpart: the part of checkAvailableCounters that adds up what allocated devices draw.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property

from dray.allocator.devices import PlacedDevice
from dray.allocator.faces import Face, FaceMaker
from dray.allocator.features import Features
from dray.allocator.occupancy import UNUSED, Occupancy, PoolID, Usage
from dray.allocator.pools import Pool
from dray.allocator.preparation import Preparation
from dray.allocator.rules.compatibility import Compatibility
from dray.allocator.solver.problem import BadPool, CountersLeft, Problem, Seat
from dray.api.core import Node
from dray.api.node_matching import node_matches
from dray.api.resource import DeviceID
from dray.errors import AllocationError

__all__ = ["OPTIONAL_NODE_OPERATIONS", "Layout", "PoolState", "Use", "pool_states"]

OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"
"""What a node declares that can do without the operations a slice says to skip."""


class PoolState:
    """One pool of a node and how it is used: all that does not depend on who asks."""

    __slots__ = (
        "_consumable",
        "counters",
        "inoperable",
        "key",
        "pool",
        "unreachable",
        "unreadable",
        "usages",
    )

    def __init__(self, pool: Pool, node: Node, occupancy: Occupancy, features: Features) -> None:
        self.pool = pool
        self.usages = occupancy.pool(pool.id)
        self._consumable = features.consumable_capacity
        self.unreachable = self.unreadable = self.inoperable = 0
        self.counters: CountersLeft | None = None
        if not pool.usable:
            self.key: Hashable = (pool.incomplete, bool(pool.invalid))
            return
        if pool.special:
            self.unreachable, self.unreadable = _selected(pool, node)
            self.inoperable = _inoperable(pool, node, features)
        if pool.counter_sets:
            self.counters = _counters_left(pool, self.usages, features)
        used = self._usage_key() if self.usages else 0
        self.key = used
        if pool.special or pool.counter_sets:
            self.key = (used, self.unreachable, self.unreadable, self.inoperable, self.counters)

    def _usage_key(self) -> Hashable:
        whole = 0
        others = []
        positions = self.pool.positions
        for name, usage in self.usages.items():
            position = positions.get(name)
            if position is None:
                continue  # The device was withdrawn while it was in use.
            if usage.taken(consumable_capacity=self._consumable):
                whole |= 1 << position
            if usage.shares or usage.measured:
                others.append((position, usage.key()))
        return (whole, *sorted(others)) if others else whole

    def kept(self) -> PoolState:
        """The same, however the devices may be used later."""
        state = copy(self)
        state.usages = {name: usage.copy() for name, usage in self.usages.items()}
        return state

    def seats(self, faces: Iterable[Face], pool: int) -> Iterator[Seat]:
        """The devices of the pool, which is the problem's `pool`th."""
        for (name, position), face in zip(self.pool.positions.items(), faces, strict=True):
            usage = self.usages.get(name, UNUSED)
            yield Seat(
                face,
                pool,
                allocated=usage.taken(consumable_capacity=self._consumable),
                shared=usage.shared,
                consumed=tuple(sorted(usage.consumed.items())),
                reachable=not self.unreachable >> position & 1,
                unreadable=bool(self.unreadable >> position & 1),
                operable=not self.inoperable >> position & 1,
            )


def pool_states(
    node: Node, pools: tuple[Pool, ...], occupancy: Occupancy, features: Features
) -> tuple[PoolState, ...]:
    return tuple([PoolState(pool, node, occupancy, features) for pool in pools])


class Use:
    """How the devices of some pools are held."""

    def __init__(self, pools: Mapping[PoolID, Mapping[str, Usage]]) -> None:
        self._pools = pools

    def pool(self, pool: PoolID) -> Mapping[str, Usage]:
        return self._pools.get(pool, {})

    def usage(self, device: DeviceID) -> Usage:
        return self.pool(PoolID(device.driver, device.pool)).get(device.device, UNUSED)


class Layout:
    """One node's pools, laid out for one set of claims."""

    def __init__(self, node: Node, states: tuple[PoolState, ...], faces: FaceMaker) -> None:
        self.node = node
        self._faces = faces
        self._states = states
        self._slices = tuple(
            [tuple([faces.of_slice(record) for record in s.pool.slices]) for s in states]
        )

    def kept(self) -> Layout:
        """The same, however devices may be used later: reasons may be asked for at any time."""
        return Layout(self.node, tuple([state.kept() for state in self._states]), self._faces)

    @property
    def occupancy(self) -> Use:
        """How the devices of the node are held."""
        return Use({state.pool.id: state.usages for state in self._states})

    @property
    def pools(self) -> tuple[Pool, ...]:
        return tuple([state.pool for state in self._states])

    @cached_property
    def key(self) -> Hashable:
        return tuple(
            [
                (tuple([one.index for one in slices]), state.key)
                for slices, state in zip(self._slices, self._states, strict=True)
            ]
        )

    @property
    def own_key(self) -> Hashable:
        """The same, with pools that other nodes share named instead of looked into."""
        return tuple(
            [
                state.pool.serial
                if state.pool.everywhere
                else (tuple([one.index for one in slices]), state.key)
                for slices, state in zip(self._slices, self._states, strict=True)
            ]
        )

    @cached_property
    def devices(self) -> tuple[PlacedDevice, ...]:
        """The devices of usable pools, in order."""
        return tuple(placed for pool in self.pools if pool.usable for placed in pool.devices)

    def problem(self, preparation: Preparation) -> Problem:
        """What is to be solved on this node."""
        seats: list[Seat] = []
        counters: list[CountersLeft | None] = []
        bad_pools = []
        for place, (slices, state) in enumerate(zip(self._slices, self._states, strict=True)):
            if not state.pool.usable:
                bad_pools.append(BadPool(len(seats), place, bool(state.pool.invalid)))
                continue
            faces = [face for one in slices for face in one.faces]
            seats += state.seats(faces, len(counters))
            counters.append(state.counters)
        return Problem(preparation, tuple(seats), tuple(counters), tuple(bad_pools))


def _selected(pool: Pool, node: Node) -> tuple[int, int]:
    """The devices that are for other nodes, and those of which nobody can say."""
    unreachable = unreadable = 0
    for position, placed in enumerate(pool.devices):
        if not placed.slice.spec.per_device_node_selection:
            continue
        device = placed.device
        try:
            if not node_matches(node, device.node_name, device.all_nodes, device.node_selector):
                unreachable |= 1 << position
        except AllocationError:
            unreadable |= 1 << position
    return unreachable, unreadable


def _inoperable(pool: Pool, node: Node, features: Features) -> int:
    """The devices that need a node which can do without some operations."""
    if (
        features.optional_node_operations
        and OPTIONAL_NODE_OPERATIONS in node.status.declared_features
    ):
        return 0
    inoperable = 0
    for position, placed in enumerate(pool.devices):
        if placed.slice.spec.skip_node_operations:
            inoperable |= 1 << position
    return inoperable


def _counters_left(pool: Pool, usages: Mapping[str, Usage], features: Features) -> CountersLeft:
    left = {
        (counter_set.name, name): counter.value.nano
        for counter_set in pool.counter_sets.values()
        for name, counter in counter_set.counters.items()
    }
    compatibility: dict[str, Compatibility] = {}
    if usages:
        for record in (*pool.slices, *pool.elsewhere):
            for device in record.devices:
                if not usages.get(device.name, UNUSED).charged:
                    continue
                for one in device.consumes_counters:
                    for name, counter in one.counters.items():
                        left[one.counter_set, name] -= counter.value.nano
                    if features.compatibility_groups:
                        now = compatibility.get(one.counter_set, Compatibility())
                        groups = frozenset(one.compatibility_groups)
                        compatibility[one.counter_set] = now.joined(groups)
    return CountersLeft(
        tuple(sorted(left)),
        tuple(left[name] for name in sorted(left)),
        tuple(sorted(compatibility.items())),
    )
