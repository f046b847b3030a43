"""All nodes at once: nodes that look alike to a pod are asked once.

A fleet has many nodes and few kinds of them. For each shape of claims the nodes are sorted into
groups with equal layouts, the search runs once per group, and the answer for a node is the group's
with the node's own names put in. Groups are kept: when a claim is allocated or a slice changes,
only the nodes that it touches are sorted again, so one more pod of a known shape costs what has
changed since the last one, however large the fleet.

Claims have one shape if they ask for the same; their names and their configuration do not matter.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from dray.allocator.allocator import Allocator, Plan
from dray.allocator.answers import Allocation, Unsatisfiable
from dray.allocator.attempt import Fault
from dray.allocator.faces import FaceMaker
from dray.allocator.layout import Layout
from dray.allocator.occupancy import PoolID
from dray.allocator.pools import Pool
from dray.allocator.preparation import Preparation, prepare
from dray.allocator.search import Failed, Found, Outcome
from dray.api.codec import encode
from dray.api.core import Node
from dray.api.resource import DeviceTaintRule, ResourceClaim, ResourceSlice
from dray.errors import AllocationError

__all__ = ["SHAPES_MAX", "Fleet", "NodeGroup", "Survey"]

# Shapes of claims to keep groups for. Each costs a few hundred bytes per node.
SHAPES_MAX: Final = 32

# Answers to keep for layouts that no node has any more: devices that come free bring them back.
OUTCOMES_MAX: Final = 4096


class Fleet:
    """Nodes and devices, kept up to date one change at a time.

    The allocator's inventory and occupancy must be changed through the fleet.
    """

    def __init__(
        self,
        allocator: Allocator,
        nodes: Iterable[Node] = (),
        *,
        shapes_max: int = SHAPES_MAX,
    ) -> None:
        self.allocator = allocator
        self._shapes_max = shapes_max
        self._nodes: dict[str, Node] = {}
        self._numbers: dict[str, int] = {}  # nodes in the order in which they came
        self._pools: dict[str, tuple[Pool, ...]] = {}  # as gathered, until something changes
        self._shapes: OrderedDict[Hashable, _Shape] = OrderedDict()
        self._count = 0
        for node in nodes:
            self.apply_node(node)

    # Changing ----------------------------------------------------------------------------------

    def apply_node(self, node: Node) -> None:
        """Take in a new or changed node."""
        name = node.metadata.name
        if name not in self._nodes:
            self._numbers[name] = self._count
            self._count += 1
        self._nodes[name] = node
        self._moved((name,))

    def remove_node(self, name: str) -> None:
        if self._nodes.pop(name, None) is None:
            return
        del self._numbers[name]
        self._pools.pop(name, None)
        for shape in self._shapes.values():
            shape.remove(name)

    def apply_slice(self, slice_: ResourceSlice) -> None:
        """Take in a new or changed slice."""
        before = self.allocator.inventory.pool_of(slice_.metadata.name)
        nodes = self._nodes_of(before) if before is not None else ()
        touched = self.allocator.inventory.apply(slice_)
        self._moved(nodes)
        for pool in touched:
            self._moved(self._nodes_of(pool))

    def remove_slice(self, name: str) -> None:
        before = self.allocator.inventory.pool_of(name)
        sequence = self.allocator.inventory.sequence_of(name)
        if before is None or sequence is None:
            return
        nodes = self._nodes_of(before)
        self.allocator.inventory.remove(name)
        self._moved(nodes)
        for shape in self._shapes.values():
            shape.faces.forget(sequence)

    def apply_rule(self, rule: DeviceTaintRule) -> None:
        """Take in a new or changed taint rule."""
        for pool in self.allocator.inventory.apply_rule(rule):
            self._moved(self._nodes_of(pool))

    def remove_rule(self, name: str) -> None:
        for pool in self.allocator.inventory.remove_rule(name):
            self._moved(self._nodes_of(pool))

    def add_claim(self, claim: ResourceClaim) -> None:
        """Count what an allocated claim holds."""
        self._used(self.allocator.occupancy.add(claim))

    def remove_claim(self, claim: ResourceClaim) -> None:
        """Forget what a claim held."""
        self._used(self.allocator.occupancy.remove(claim))

    def _nodes_of(self, pool: PoolID) -> Iterable[str]:
        names, shared = self.allocator.inventory.nodes_of(pool)
        return tuple(self._nodes) if shared else names

    def _moved(self, nodes: Iterable[str]) -> None:
        """Other devices are within reach of these nodes."""
        for name in nodes:
            if name in self._nodes:
                self._pools.pop(name, None)
                for shape in self._shapes.values():
                    shape.stale[name] = None

    def _used(self, pools: Iterable[PoolID]) -> None:
        """Devices of these pools were taken or came free."""
        for pool in pools:
            for name in self._nodes_of(pool):
                if name in self._nodes:
                    for shape in self._shapes.values():
                        shape.stale[name] = None

    # Asking ------------------------------------------------------------------------------------

    def survey(self, claims: Sequence[ResourceClaim]) -> Survey:
        """Where the claims fit and where not."""
        preparation = prepare(claims, self.allocator.classes, self.allocator.features)
        key = _shape_key(preparation)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _Shape(self, preparation)
            if len(self._shapes) > self._shapes_max:
                self._shapes.popitem(last=False)
        else:
            self._shapes.move_to_end(key)
        shape.sort_stale()
        return Survey(self, shape, Plan(self.allocator, preparation, shape.faces))

    def node(self, name: str) -> Node:
        return self._nodes[name]

    def number(self, name: str) -> int:
        """Where a node is in the order in which nodes came."""
        return self._numbers[name]

    def layout(self, name: str, faces: FaceMaker) -> Layout:
        node = self.node(name)
        pools = self._pools.get(name)
        if pools is None:
            pools = self._pools[name] = self.allocator.inventory.gather(node)
        return Layout(node, pools, self.allocator.occupancy, faces, self.allocator.features)

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)


@dataclass(slots=True, eq=False)
class NodeGroup:
    """Nodes with one answer."""

    outcome: Outcome | None = None
    nodes: dict[str, None] = field(default_factory=dict)
    # In the order of the fleet; nodes that left are dropped when they come up.
    _queue: list[tuple[int, str]] = field(default_factory=list)

    @property
    def fits(self) -> bool:
        return isinstance(self.outcome, Found)

    def add(self, number: int, name: str) -> None:
        self.nodes[name] = None
        heappush(self._queue, (number, name))

    def first(self) -> tuple[int, str]:
        """The node that came to the fleet first, and its number. The group must not be empty."""
        while self._queue[0][1] not in self.nodes:
            heappop(self._queue)
        return self._queue[0]


class _Shape:
    """One shape of claims, and the nodes sorted by how they look to it."""

    def __init__(self, fleet: Fleet, preparation: Preparation) -> None:
        self._fleet = fleet
        allocator = fleet.allocator
        self.faces = FaceMaker(
            preparation, allocator.selectors, allocator.features, allocator.inventory.models
        )
        self._plan = Plan(allocator, preparation, self.faces)
        self.groups: dict[Hashable, NodeGroup] = {}
        self.stale: dict[str, None] = dict.fromkeys(fleet)
        self._keys: dict[str, Hashable] = {}
        self._failures: dict[str, str] = {}  # nodes whose pools cannot even be gathered
        self._outcomes: OrderedDict[Hashable, Outcome] = OrderedDict()

    def sort_stale(self) -> None:
        for name in self.stale:
            self._sort(name)
        self.stale.clear()

    def remove(self, name: str) -> None:
        self.stale.pop(name, None)
        self._leave(name)

    def group_of(self, name: str) -> NodeGroup:
        return self.groups[self._keys[name]]

    def failure(self) -> str:
        """What is wrong with the selectors of slices, if anything."""
        return next(iter(self._failures.values()), "")

    def _sort(self, name: str) -> None:
        try:
            layout = self._fleet.layout(name, self.faces)
        except AllocationError as error:
            self._leave(name)
            self._failures[name] = str(error)
            return
        key = layout.key
        if self._keys.get(name) == key:
            return
        self._leave(name)
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = NodeGroup(self._outcome(key, layout))
        group.add(self._fleet.number(name), name)
        self._keys[name] = key

    def _leave(self, name: str) -> None:
        self._failures.pop(name, None)
        key = self._keys.pop(name, None)
        if key is None:
            return
        group = self.groups[key]
        del group.nodes[name]
        if not group.nodes:
            del self.groups[key]

    def _outcome(self, key: Hashable, layout: Layout) -> Outcome:
        outcome = self._outcomes.get(key)
        if outcome is None:
            outcome = self._outcomes[key] = self._plan.solve(layout)
            if len(self._outcomes) > OUTCOMES_MAX:
                self._outcomes.popitem(last=False)
        return outcome


class Survey:
    """The answer for every node, as of the time it was asked for."""

    def __init__(self, fleet: Fleet, shape: _Shape, plan: Plan) -> None:
        self._fleet = fleet
        self._shape = shape
        self._plan = plan

    @property
    def groups(self) -> Sequence[NodeGroup]:
        """The nodes by answer. Nodes of one group have equal devices in equal use."""
        return tuple(self._shape.groups.values())

    def check(self) -> None:
        """Raise what would end the attempt to place the pod: see AllocationError.

        Upstream stops at the first node that makes it fail; this is the first in the fleet's order.
        """
        if failure := self._shape.failure():
            raise AllocationError(failure)
        failed = [group.first() for group in self.groups if isinstance(group.outcome, Failed)]
        if failed:
            self.on(min(failed)[1])

    def fitting(self) -> Iterator[str]:
        """The nodes where the claims fit, in no particular order."""
        for group in self.groups:
            if group.fits:
                yield from group.nodes

    def first(self) -> str | None:
        """The first node of the fleet where the claims fit."""
        found = [group.first() for group in self.groups if group.fits]
        return min(found)[1] if found else None

    def on(self, name: str) -> Allocation | Unsatisfiable:
        """The answer for one node; AllocationError if the claims cannot be judged there."""
        layout = self._fleet.layout(name, self._shape.faces)
        outcome = self._shape.group_of(name).outcome
        assert outcome is not None
        if isinstance(outcome, Failed) and outcome.stop.fault is Fault.MESSAGE:
            # The message names the claims that were asked about first.
            outcome = self._plan.solve(layout)
        return self._plan.answer(layout, outcome)


def _shape_key(preparation: Preparation) -> Hashable:
    """What claims ask for; the same for claims that differ in their names alone."""
    return (
        tuple(
            [
                encode([claim.spec.devices.requests or (), claim.spec.devices.constraints])
                for claim in preparation.claims
            ]
        ),
        # A class that is changed is another object. What it was may still be asked for.
        tuple([id(want.device_class) for want in preparation.wants]),
        bool(preparation.failure),
    )
