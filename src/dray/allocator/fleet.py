"""All nodes at once: nodes that are alike are asked once.

A fleet has many nodes and few kinds of them. Nodes are sorted by the models of their devices and
by which are in use, whoever asks; a search runs once per kind of node and shape of claims, and the
answer for a node is that of its kind with the node's own names put in. When a claim is allocated
or a slice changes, only the nodes it touches are sorted again. So one more pod of a known shape
costs what has changed since the last one, and a new shape what there are kinds of nodes, however
large the fleet. Only claims that ask for individuals, such as a serial number, are looked up node
by node.

Claims have one shape if they ask for the same; their names and their configuration do not matter.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from dray.allocator.allocator import Allocator, Plan
from dray.allocator.answers import Allocation, Unsatisfiable
from dray.allocator.faces import FaceMaker
from dray.allocator.layout import Layout, PoolState
from dray.allocator.occupancy import PoolID
from dray.allocator.pools import Pool
from dray.allocator.preparation import Preparation, prepare
from dray.allocator.solver.attempt import Fault
from dray.allocator.solver.search import Failed, Found, Outcome, Undecided
from dray.allocator.sorting import NodeGroup, Sorting
from dray.allocator.waste import Waste, waste_of
from dray.api.codec import encode
from dray.api.core import Node
from dray.api.resource import DeviceTaintRule, ResourceClaim, ResourceSlice
from dray.errors import ConfigurationError, InternalError, quote

__all__ = ["SHAPES_MAX", "Fleet", "GroupAnswer", "Survey"]

# Shapes of claims to remember. Each costs a few hundred bytes per kind of node.
SHAPES_MAX: Final = 64

# A pool that several nodes see alike looks like this from any of them.
_ANY_NODE: Final = Node()

# Answers to remember per shape: devices that come free bring old ones back.
OUTCOMES_MAX: Final = 16_384

# How many more groups may be remembered than there are: groups come and go with every allocation.
WASTES_SLACK: Final = 256


class Fleet:
    """Nodes and devices, kept up to date one change at a time.

    The allocator's inventory and occupancy must be changed through the fleet. Changes may come
    twice: what is applied again replaces what was there.
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
        self._states: dict[str, dict[int, PoolState]] = {}  # of those that are a node's own
        self._shared: dict[PoolID, dict[int, PoolState]] = {}  # and of the others
        self._shares = False  # whether there are others
        self._shapes: OrderedDict[Hashable, _Shape] = OrderedDict()
        self._kinds = Sorting(self._kind_key, ())
        self._models_version = allocator.inventory.models.version
        self._count = 0
        self.version = 0  # counts changes: a survey holds for one of them
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
        self.version += 1
        del self._numbers[name]
        self._pools.pop(name, None)
        self._states.pop(name, None)
        for sorting in self._sortings():
            sorting.remove(name)

    def apply_slice(self, slice_: ResourceSlice) -> None:
        """Take in a new or changed slice."""
        before = self.allocator.inventory.pool_of(slice_.metadata.name)
        nodes = self._nodes_of(before) if before is not None else ()
        touched = self.allocator.inventory.apply(slice_)
        self._moved(nodes)
        self._changed(touched)

    def remove_slice(self, name: str) -> None:
        inventory = self.allocator.inventory
        before, sequence = inventory.pool_of(name), inventory.sequence_of(name)
        if before is None or sequence is None:
            return
        nodes = self._nodes_of(before)
        self._changed(inventory.remove(name))
        self._moved(nodes)
        for shape in self._shapes.values():
            shape.faces.forget(sequence)

    def apply_rule(self, rule: DeviceTaintRule) -> None:
        """Take in a new or changed taint rule."""
        self._changed(self.allocator.inventory.apply_rule(rule))

    def remove_rule(self, name: str) -> None:
        self._changed(self.allocator.inventory.remove_rule(name))

    def add_claim(self, claim: ResourceClaim) -> None:
        """Count what an allocated claim holds."""
        self._used(self.allocator.occupancy.add(claim))

    def remove_claim(self, claim: ResourceClaim) -> None:
        """Forget what a claim held."""
        self._used(self.allocator.occupancy.remove(claim))

    def _nodes_of(self, pool: PoolID) -> Iterable[str]:
        reach = self.allocator.inventory.reach(pool)
        return tuple(self._nodes) if reach.shared else reach.nodes

    def _changed(self, pools: Iterable[PoolID]) -> None:
        """These pools have other devices, or none."""
        for pool in pools:
            self._shared.pop(pool, None)
            self._moved(self._nodes_of(pool))

    def _moved(self, nodes: Iterable[str]) -> None:
        """Other devices are within reach of these nodes."""
        self.version += 1
        for name in nodes:
            self._pools.pop(name, None)
            self._spoil(name)

    def _used(self, pools: Iterable[PoolID]) -> None:
        """Devices of these pools were taken or came free."""
        self.version += 1
        for pool in pools:
            self._shared.pop(pool, None)
            reach = self.allocator.inventory.reach(pool)
            # Nodes that see a pool alike see its use alike, and are not told apart by it.
            for name in tuple(self._nodes) if reach.shared and reach.special else reach.nodes:
                self._spoil(name)

    def _spoil(self, name: str) -> None:
        if name in self._nodes:
            self._states.pop(name, None)
            for sorting in self._sortings():
                sorting.spoil(name)

    def _sortings(self) -> Iterator[Sorting]:
        yield self._kinds
        for shape in self._shapes.values():
            if shape.own is not None:
                yield shape.own

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
        return Survey(self, shape, Plan(self.allocator, preparation, shape.faces))

    def kinds(self) -> Sorting:
        """The nodes by the models of their devices and by which are in use."""
        models = self.allocator.inventory.models
        if models.version != self._models_version:
            # What was taken for models were individuals: there are fewer kinds than it seemed.
            self._models_version = models.version
            for name in self._nodes:
                self._kinds.spoil(name)
        self._kinds.refresh(self._numbers.__getitem__)
        return self._kinds

    @property
    def shares(self) -> bool:
        """Whether nodes that are in the fleet were seen to share pools."""
        return self._shares

    def number(self, name: str) -> int:
        """Where a node is in the order in which nodes came."""
        return self._numbers[name]

    def layout(self, name: str, faces: FaceMaker) -> Layout:
        """A node of the fleet, laid out for claims."""
        return Layout(self._nodes[name], self._state(name), faces)

    def shared_use(self, name: str) -> Hashable:
        """How the pools are used that a node shares with others."""
        if not self._shares:
            return ()
        pools = self._pools_of(name)
        return tuple([self._shared_state(pool).key for pool in pools if pool.everywhere])

    def _pools_of(self, name: str) -> tuple[Pool, ...]:
        pools = self._pools.get(name)
        if pools is None:
            pools = self._pools[name] = self.allocator.inventory.gather(self._nodes[name])
            self._shares = self._shares or any(pool.everywhere for pool in pools)
        return pools

    def _state(self, name: str) -> tuple[PoolState, ...]:
        own = self._states.get(name)
        pools = self._pools_of(name)
        if own is None:
            allocator = self.allocator
            own = self._states[name] = {
                pool.serial: PoolState(
                    pool, self._nodes[name], allocator.occupancy, allocator.features
                )
                for pool in pools
                if not pool.everywhere
            }
        return tuple([own.get(pool.serial) or self._shared_state(pool) for pool in pools])

    def _shared_state(self, pool: Pool) -> PoolState:
        """How a pool is used that several nodes see alike."""
        states = self._shared.setdefault(pool.id, {})
        state = states.get(pool.serial)
        if state is None:
            allocator = self.allocator
            state = PoolState(pool, _ANY_NODE, allocator.occupancy, allocator.features)
            states[pool.serial] = state
        return state

    def _kind_key(self, name: str) -> Hashable:
        """What tells nodes apart, whoever asks and however shared pools are used just now."""
        models = self.allocator.inventory.models
        return tuple(
            [
                state.pool.serial
                if state.pool.everywhere
                else (tuple([models.of(one).index for one in state.pool.slices]), state.key)
                for state in self._state(name)
            ]
        )

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)


class _Shape:
    """One shape of claims, and what became of it on each kind of node."""

    def __init__(self, fleet: Fleet, preparation: Preparation) -> None:
        self._fleet = fleet
        allocator = fleet.allocator
        self.faces = FaceMaker(
            preparation, allocator.selectors, allocator.features, allocator.inventory.models
        )
        self._plan = Plan(allocator, preparation, self.faces)
        self.own: Sorting | None = None  # where kinds of nodes do not tell apart enough
        self._by_group: OrderedDict[Hashable, Outcome] = OrderedDict()
        self._by_layout: OrderedDict[Hashable, Outcome] = OrderedDict()
        self._wastes: dict[NodeGroup, tuple[Hashable, Waste | None]] = {}

    def sorting(self) -> Sorting:
        """The nodes in groups that have one answer each."""
        if not self.faces.reads_individuals:
            return self._fleet.kinds()
        if self.own is None:
            self.own = Sorting(self._layout_key, self._fleet)
            self._by_group.clear()
        self.own.refresh(self._fleet.number)
        return self.own

    def _layout_key(self, name: str) -> Hashable:
        return self._fleet.layout(name, self.faces).own_key

    def outcome(self, group: NodeGroup) -> Outcome:
        name = group.first()[1]
        key = (group.key, self._fleet.shared_use(name))
        known = self._by_group.get(key)
        if known is None:
            # Kinds that differ in what these claims cannot see are laid out alike.
            layout = self._fleet.layout(name, self.faces)
            known = self._by_layout.get(layout.key)
            if known is None:
                known = self._plan.solve(layout)
                _remember(self._by_layout, layout.key, known)
            _remember(self._by_group, key, known)
        return known

    def ranked(self, sorting: Sorting) -> list[tuple[Waste, NodeGroup]]:
        """The groups where the claims fit, least waste first; equals in the order they came."""
        if len(self._wastes) > 2 * len(sorting.groups) + WASTES_SLACK:
            self._wastes.clear()  # most are of groups that are no more
        fitting = []
        for group in sorting.groups.values():
            waste = self.waste(group)
            if waste is not None:
                fitting.append((waste, group))
        fitting.sort(key=_by_waste)
        return fitting

    def waste(self, group: NodeGroup) -> Waste | None:
        """What the answer costs on nodes of a group; None if there the claims do not fit."""
        use = self._fleet.shared_use(group.first()[1]) if self._fleet.shares else ()
        known = self._wastes.get(group)
        if known is None or known[0] != use:
            known = self._wastes[group] = (use, self._judge(group))
        return known[1]

    def _judge(self, group: NodeGroup) -> Waste | None:
        outcome = self.outcome(group)
        if not isinstance(outcome, Found):
            return None
        layout = self._fleet.layout(group.first()[1], self.faces)
        return waste_of(layout, self._plan.preparation, outcome)


def _by_waste(ranked: tuple[Waste, NodeGroup]) -> Waste:
    return ranked[0]


def _remember(known: OrderedDict[Hashable, Outcome], key: Hashable, outcome: Outcome) -> None:
    known[key] = outcome
    if len(known) > OUTCOMES_MAX:
        known.popitem(last=False)


class GroupAnswer(NamedTuple):
    """Nodes with one answer."""

    group: NodeGroup
    outcome: Outcome

    @property
    def fits(self) -> bool:
        return isinstance(self.outcome, Found)

    @property
    def undecided(self) -> bool:
        """Whether the search was given up: the claims may fit."""
        return isinstance(self.outcome, Undecided)


class Survey:
    """The answer for every node, good until the fleet changes. Asking later is an error."""

    def __init__(self, fleet: Fleet, shape: _Shape, plan: Plan) -> None:
        self._fleet = fleet
        self._shape = shape
        self._plan = plan
        self._sorting = shape.sorting()
        self._version = fleet.version

    @property
    def groups(self) -> tuple[GroupAnswer, ...]:
        """The nodes by answer: those of one group have equal devices in equal use."""
        return tuple([GroupAnswer(group, self._outcome(group)) for group in self._groups()])

    def check(self) -> None:
        """Raise what would end the attempt to place the pod: see AllocationError.

        Upstream stops at the first node that makes it fail; this is the first in the fleet's order.
        """
        failed = [(self._fleet.number(name), name) for name in self._sorting.failures]
        failed += [g.first() for g in self._groups() if isinstance(self._outcome(g), Failed)]
        if failed:
            self.on(min(failed)[1])

    def fitting(self) -> tuple[str, ...]:
        """The nodes where the claims fit, in the order of the fleet. Passes over failures."""
        fitting = [answer.group.nodes for answer in self.groups if answer.fits]
        return tuple(sorted(_merged(fitting), key=self._fleet.number))

    def ranked(self) -> list[tuple[Waste, NodeGroup]]:
        """The groups where the claims fit, least waste first. Passes over failures."""
        self._check_version()
        return self._shape.ranked(self._sorting)

    def fits(self, name: str) -> bool:
        """Whether the claims fit on a node. Failures do not, nor nodes of no fleet."""
        return self.waste(name) is not None

    def waste(self, name: str) -> Waste | None:
        """What the answer costs on a node; None if there the claims do not fit."""
        self._check_version()
        if name not in self._fleet or name in self._sorting.failures:
            return None
        return self._shape.waste(self._sorting.group_of(name))

    def group_of(self, name: str) -> NodeGroup:
        """The nodes that have the same answer as this one; AllocationError if it has none."""
        self._check_version()
        return self._sorting.group_of(name)

    def first(self) -> str | None:
        """The first node of the fleet where the claims fit, asked one after the other.

        AllocationError if they cannot be judged on a node before that.
        """
        asked = [group.first() for group in self._groups()]
        asked += [(self._fleet.number(name), name) for name in self._sorting.failures]
        for _, name in sorted(asked):
            outcome = self._outcome(self._sorting.group_of(name))
            if isinstance(outcome, Found):
                return name
            if isinstance(outcome, Failed):
                self.on(name)
        return None

    def on(self, name: str) -> Allocation | Unsatisfiable:
        """The answer for one node; AllocationError if the claims cannot be judged there."""
        if name not in self._fleet:
            raise ConfigurationError(f"node {quote(name)} is not in the fleet")
        outcome = self._outcome(self._sorting.group_of(name))
        layout = self._fleet.layout(name, self._shape.faces)
        if isinstance(outcome, Failed) and outcome.stop.fault is Fault.MESSAGE:
            # The message names the claims that were asked about first.
            outcome = self._plan.solve(layout)
        return self._plan.answer(layout, outcome)

    def _groups(self) -> tuple[NodeGroup, ...]:
        self._check_version()
        return tuple(self._sorting.groups.values())

    def _outcome(self, group: NodeGroup) -> Outcome:
        self._check_version()
        return self._shape.outcome(group)

    def _check_version(self) -> None:
        if self._version != self._fleet.version:
            raise InternalError("the fleet has changed since it was surveyed: survey it again")


def _merged(groups: Iterable[Iterable[str]]) -> Iterator[str]:
    for nodes in groups:
        yield from nodes


def _shape_key(preparation: Preparation) -> Hashable:
    """What claims ask for; the same for claims that differ in their names alone."""
    claims = [claim.spec.devices for claim in preparation.claims]
    return (
        tuple([encode([claim.requests or (), claim.constraints]) for claim in claims]),
        # A class that is changed is another object. What it was may still be asked for.
        tuple([id(want.device_class) for want in preparation.wants]),
        bool(preparation.failure),
    )
