"""Claims in, devices out.

An Allocator holds a snapshot: the inventory, what is allocated, and the device classes. A Plan is
one set of claims made ready once, to be tried on any number of nodes.

Upstream counterpart: NewAllocator and Allocate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

from dray.allocator import complaints
from dray.allocator.answers import Allocation, NodeReport, Unsatisfiable
from dray.allocator.devices import Choice
from dray.allocator.explain.reasons import Explainer
from dray.allocator.faces import FaceMaker
from dray.allocator.inventory import Inventory
from dray.allocator.layout import Layout, pool_states
from dray.allocator.occupancy import Occupancy
from dray.allocator.preparation import Preparation, prepare
from dray.allocator.results import assemble
from dray.allocator.rules.capacity import consume
from dray.allocator.selection import Selectors
from dray.allocator.solver.search import STEPS_MAX, Exhausted, Failed, Found, Outcome, search
from dray.api.core import Node
from dray.api.resource import DeviceClass, ResourceClaim
from dray.cel import Environment
from dray.errors import AllocationError

__all__ = ["Allocator", "Plan"]


class Allocator:
    """Judges claims against one state of a cluster."""

    def __init__(
        self,
        inventory: Inventory,
        occupancy: Occupancy,
        classes: Mapping[str, DeviceClass],
        *,
        share_id: Callable[[], str],
        steps_max: int = STEPS_MAX,
    ) -> None:
        """`share_id` names each new share of a device: a UUID, from wherever chance comes."""
        self.inventory = inventory
        self.occupancy = occupancy
        self.classes = classes
        self.share_id = share_id
        self.steps_max = steps_max
        self.features = inventory.features
        self.selectors = Selectors(
            Environment(
                consumable_capacity=self.features.consumable_capacity,
                list_type_attributes=self.features.list_type_attributes,
                stored=True,
            )
        )

    def allocate(self, node: Node, claims: Sequence[ResourceClaim]) -> Allocation | Unsatisfiable:
        """The devices the claims get on a node; AllocationError if they cannot be judged."""
        return self.plan(claims).on(node)

    def plan(self, claims: Sequence[ResourceClaim]) -> Plan:
        """The claims made ready for any number of nodes."""
        preparation = prepare(claims, self.classes, self.features)
        faces = FaceMaker(preparation, self.selectors, self.features, self.inventory.models)
        return Plan(self, preparation, faces)


class Plan:
    """One set of claims and what they see of devices."""

    def __init__(self, allocator: Allocator, preparation: Preparation, faces: FaceMaker) -> None:
        """`faces` may have been made for other claims that ask for the same."""
        self._allocator = allocator
        self.preparation = preparation
        self.faces = faces

    def on(self, node: Node) -> Allocation | Unsatisfiable:
        layout = self.layout(node)
        return self.answer(layout, self.solve(layout))

    def layout(self, node: Node) -> Layout:
        allocator = self._allocator
        pools = allocator.inventory.gather(node)
        states = pool_states(node, pools, allocator.occupancy, allocator.features)
        return Layout(node, states, self.faces)

    def solve(self, layout: Layout) -> Outcome:
        """An outcome that holds for every node with an equal layout."""
        return search(
            layout.problem(self.preparation),
            lists=self._allocator.features.list_type_attributes,
            steps_max=self._allocator.steps_max,
        )

    def answer(self, layout: Layout, outcome: Outcome) -> Allocation | Unsatisfiable:
        """The outcome in terms of one node."""
        if isinstance(outcome, Found):
            return self._allocation(layout, outcome)
        if isinstance(outcome, Failed):
            raise AllocationError(
                complaints.failure(outcome.stop, layout, self.preparation, self.faces)
            )
        exhausted = isinstance(outcome, Exhausted)
        invalid = any(pool.invalid for pool in layout.pools)
        return Unsatisfiable(
            layout.node.metadata.name,
            outcome.steps,
            undecided=not exhausted,
            message="invalid resource pools were encountered" if exhausted and invalid else "",
            explain=partial(self.report, layout.kept(), outcome),
        )

    def report(self, layout: Layout, outcome: Outcome) -> NodeReport:
        """Why the claims do not fit on one node, at a cost that the answer alone has not."""
        return self._explainer.report(layout, outcome)

    @cached_property
    def _explainer(self) -> Explainer:
        allocator = self._allocator
        return Explainer(
            self.preparation,
            self.faces,
            allocator.selectors,
            allocator.inventory,
            allocator.features,
        )

    def _allocation(self, layout: Layout, found: Found) -> Allocation:
        features = self._allocator.features
        wants = self.preparation.wants
        choices = []
        for want_index, device in found.choices:
            want, placed = wants[want_index], layout.devices[device]
            consumed = None
            if features.consumable_capacity and placed.device.allow_multiple_allocations:
                consumed = consume(
                    want.capacity,
                    placed.device.capacity,
                    fractional=features.fractional_capacity_range,
                )
            choices.append(Choice(want, placed, consumed))
        served = [wants[index] for index in found.wants]
        return Allocation(
            tuple(
                assemble(
                    claim,
                    [want for want in served if want.claim_index == index],
                    [choice for choice in choices if choice.want.claim_index == index],
                    layout.node.metadata.name,
                    features,
                    self._allocator.share_id,
                )
                for index, claim in enumerate(self.preparation.claims)
            ),
            found.steps,
        )
