"""Why claims do not fit on a node, counted from what the search itself looked at.

Every device that a node reaches in usable pools is counted once for every request: as free, or by
the first thing that is wrong with it. A device that somebody has is counted as in use only if it
would do otherwise; that somebody has a device of another kind is no reason for anything.

An Explainer belongs to a plan and is made when the first report is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dray.allocator.answers import (
    EXAMPLES_MAX,
    Cause,
    Exclusion,
    HolderFacts,
    NodeReport,
    PoolTrouble,
    RequestReport,
)
from dray.allocator.explain import wording
from dray.allocator.explain.conflicts import conflicts
from dray.allocator.explain.obstacles import Decisions, Inspector, Obstacle, Sight
from dray.allocator.faces import FaceMaker
from dray.allocator.features import Features
from dray.allocator.inventory import Inventory
from dray.allocator.layout import Layout
from dray.allocator.occupancy import PoolID
from dray.allocator.pools import Pool
from dray.allocator.preparation import Preparation
from dray.allocator.requests import claim_key
from dray.allocator.selection import Selectors
from dray.allocator.solver.problem import WantView
from dray.allocator.solver.search import Exhausted, Outcome, Undecided
from dray.api.resource import DeviceID, ResourceSlice

__all__ = ["Explainer"]


class Explainer:
    """Writes the reports of one set of claims."""

    def __init__(
        self,
        preparation: Preparation,
        faces: FaceMaker,
        selectors: Selectors,
        inventory: Inventory,
        features: Features,
    ) -> None:
        self._preparation = preparation
        self._faces = faces
        self._selectors = selectors
        self._inventory = inventory
        self._features = features
        self._decisions: Decisions = {}

    def report(self, layout: Layout, outcome: Outcome) -> NodeReport:
        """Why the claims do not fit on the node of the layout."""
        inspector = Inspector(
            layout,
            self._preparation,
            self._faces,
            self._selectors,
            self._features,
            self._decisions,
        )
        requests = tuple(self._request(inspector, view) for view in inspector.problem.views)
        report = NodeReport(
            layout.node.metadata.name,
            requests,
            pools=tuple(self._troubles(layout)),
            undecided=isinstance(outcome, Undecided),
        )
        # What stands between requests is only worth asking if each could be served alone.
        alone = not any(all(one.short for one in stage) for stage in report.stages)
        if not alone or not isinstance(outcome, Exhausted):
            return report
        return NodeReport(report.node, requests, conflicts(inspector, self._features), report.pools)

    # Requests ----------------------------------------------------------------------------------

    def _request(self, inspector: Inspector, view: WantView) -> RequestReport:
        tallies: dict[Obstacle, _Tally] = {}
        candidates = free = 0
        for index, placed in enumerate(inspector.layout.devices):
            cause = inspector.cause(view, index)
            held = inspector.in_use(view, index)
            if cause is None:
                candidates += 1
                if not held:
                    free += 1
                    continue
                cause = Cause.IN_USE
            obstacle, sight = inspector.look(view, index, cause)
            tally = tallies.setdefault(obstacle, _Tally(obstacle))
            tally.count(placed.id, sight)
            if cause in (Cause.IN_USE, Cause.CAPACITY):
                holders = inspector.layout.occupancy.usage(placed.id).holders
                tally.holders.update(set(holders))
        want = view.want
        return RequestReport(
            claim=claim_key(want.claim),
            request=want.full_name,
            alternative=want.alternative,
            wanted="all" if want.all_devices else want.count,
            needed=view.needed,
            devices=len(inspector.layout.devices),
            candidates=candidates,
            free=free,
            exclusions=tuple(
                _exclusion(inspector, view, tally)
                for tally in sorted(tallies.values(), key=_Tally.order)
            ),
            place=(want.claim_index, want.request_index),
        )

    # Pools -------------------------------------------------------------------------------------

    def _troubles(self, layout: Layout) -> Iterator[PoolTrouble]:
        for pool in layout.pools:
            if not pool.usable:
                yield self._trouble(pool)

    def _trouble(self, pool: Pool) -> PoolTrouble:
        if pool.invalid:
            return PoolTrouble(pool.id, f"pool {pool.id} is invalid: {pool.invalid}", pool.invalid)
        seen, expected = self._slices.get(pool.id, (0, 0))
        there = f"{seen} of {expected} slices"
        if seen > expected:
            there = f"{seen} slices, and says it has {expected}"
        text = f"pool {pool.id} is incomplete ({there})"
        return PoolTrouble(pool.id, text, slices_seen=seen, slices_expected=expected)

    @cached_property
    def _slices(self) -> Mapping[PoolID, tuple[int, int]]:
        """How many slices each pool has in its newest generation, and how many it should have."""
        seen: dict[PoolID, tuple[int, int, int]] = {}
        for slice_ in self._inventory.slices():
            if not self._features.compatibility_groups and _grouped(slice_):
                continue  # Slices that are not understood are not counted.
            pool = slice_.spec.pool
            id_ = PoolID(slice_.spec.driver, pool.name)
            generation, count, _ = seen.get(id_, (pool.generation, 0, 0))
            if pool.generation > generation:
                generation, count = pool.generation, 0
            if pool.generation == generation:
                seen[id_] = (generation, count + 1, pool.resource_slice_count)
        return {id_: (count, expected) for id_, (_, count, expected) in seen.items()}


def _grouped(slice_: ResourceSlice) -> bool:
    """Whether devices of the slice name groups they are compatible with."""
    return any(
        consumption.compatibility_groups
        for device in slice_.spec.devices or ()
        for consumption in device.consumes_counters
    )


# Counting --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Tally:
    """Devices with the same obstacle."""

    obstacle: Obstacle
    devices: int = 0
    examples: list[DeviceID] = field(default_factory=list)
    sights: Counter[Sight] = field(default_factory=Counter)
    holders: Counter[str] = field(default_factory=Counter)

    def count(self, device: DeviceID, sight: Sight) -> None:
        self.devices += 1
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(device)
        self.sights[sight] += 1

    def order(self) -> tuple[int, int, int, int]:
        """Causes in their order; of one cause what stops most devices first."""
        obstacle = self.obstacle
        return (_ORDER[obstacle.cause], obstacle.position, obstacle.conjunct, -self.devices)


_ORDER = {cause: order for order, cause in enumerate(Cause)}


def _exclusion(inspector: Inspector, view: WantView, tally: _Tally) -> Exclusion:
    obstacle = tally.obstacle
    if obstacle.cause is Cause.IN_USE:
        facts = HolderFacts(tuple(sorted(tally.holders.items(), key=lambda one: (-one[1], one[0]))))
        text = wording.held(facts)
        return Exclusion(
            obstacle.cause, tally.devices, tuple(tally.examples), f"{tally.devices} {text}", facts
        )
    text, other = wording.tell(inspector, view, obstacle, tally.sights, tally.holders)
    return Exclusion(
        obstacle.cause, tally.devices, tuple(tally.examples), f"{tally.devices} {text}", other
    )
