"""Branches without a solution, recognised without walking them.

Every test here asks an easier question than the search: some rules are dropped, and if even then
there is no way, there is none at all. Tests look only as far as the first stage that may end in an
error, because up to there a branch that cannot be completed cannot get to the error either.

- counting: a want needs more devices than it has candidates left;
- matching: several wants need more devices than they have candidates together;
- values: no value of a matching attribute is found on enough devices, or there are not enough
  different values of a distinct one, or not enough groups of devices for all claims;
- counters and capacity: the cheapest devices together draw more than is left.
"""

from __future__ import annotations

from typing import TypeAlias

from dray.allocator.requests import Stage
from dray.allocator.solver import capacity_bounds, counter_bounds, value_bounds
from dray.allocator.solver.attempt import Attempt
from dray.allocator.solver.demands import Demand
from dray.allocator.solver.matching import matchable
from dray.allocator.solver.problem import Problem, WantView, bits

__all__ = ["Bounds"]

# Who accepts a device, and the constraints that look at it: with these alike, requests can choose
# from the same devices.
_Choice: TypeAlias = tuple[int, tuple[int, ...]]


class Bounds:
    """Tests against the state of one search."""

    def __init__(self, problem: Problem, attempt: Attempt, stages: tuple[Stage, ...]) -> None:
        self._problem = problem
        self._attempt = attempt
        self._stages = tuple(
            tuple(problem.views[want.index] for want in stage.wants) for stage in stages
        )
        self._horizon = self._horizons()
        self._partitions = self._partitions_from()

    def _horizons(self) -> tuple[int, ...]:
        """From each stage on, the first one that may end in an error."""
        horizon = len(self._stages)
        horizons = [horizon]
        for position in range(len(self._stages) - 1, -1, -1):
            if any(view.raising for view in self._stages[position]):
                horizon = position
            horizons.append(horizon)
        return tuple(reversed(horizons))

    def _partitions_from(self) -> tuple[int, ...]:
        """From each stage on, the partitions that may be wanted."""
        mask = 0
        masks = [mask]
        for views in reversed(self._stages):
            for view in views:
                mask |= view.candidates & self._problem.partitions
            masks.append(mask)
        return tuple(reversed(masks))

    @property
    def safe(self) -> int:
        """How many stages come before the first one that may end in an error."""
        return self._horizon[0]

    # Quick tests -------------------------------------------------------------------------------

    def short(self, view: WantView, ordinal: int, start: int) -> bool:
        """Whether a want has fewer devices left than it needs."""
        if view.raising:
            return False
        left = self._open(view) & -(1 << start)
        if view.want.all_devices:
            return any(not left >> index & 1 for index in view.everything[ordinal:])
        return left.bit_count() < view.needed - ordinal

    def hopeless(self, position: int) -> bool:
        """Whether one of the stages from here on cannot be served at all."""
        return any(
            all(self._unservable(view) for view in self._stages[later])
            for later in range(position, self._horizon[position])
        )

    def _unservable(self, view: WantView) -> bool:
        if view.want.all_devices and not view.everything:
            return True
        return self.short(view, 0, 0)

    def _open(self, view: WantView) -> int:
        return view.viable & ~self._attempt.blocked(view)

    # Thorough tests ----------------------------------------------------------------------------

    def hopeless_together(self, position: int) -> bool:
        """Whether the stages from here on cannot all be served."""
        horizon = self._horizon[position]
        return self._unservable_together([], range(position, horizon), self._useless(position))

    def hopeless_after(self, position: int, view: WantView, ordinal: int, start: int) -> bool:
        """Whether the rest of a want and the stages after it cannot all be served.

        Other alternatives of its stage may end in an error, but not on this way.
        """
        if view.raising:
            return False
        horizon = self._horizon[position + 1]
        useless = self._useless(position)
        mask = self._choosable(view, useless, ordinal, start)
        needed = view.needed - ordinal
        if mask.bit_count() < needed:
            return True
        rest = Demand((view,), (mask,), (needed,))
        return self._unservable_together([rest], range(position + 1, horizon), useless)

    def _unservable_together(self, demands: list[Demand], positions: range, useless: int) -> bool:
        masks: dict[_Choice, int] = {}
        for later in positions:
            demand = self._demand(self._stages[later], useless, masks)
            if not demand.views:
                return True
            demands.append(demand)
        if not demands:
            return False
        needs: dict[int, int] = {}
        for demand in demands:
            need = demand.exclusive(self._problem.shareable)
            if need is not None and need[0]:
                needs[need[1]] = needs.get(need[1], 0) + need[0]
        if not matchable([(count, mask) for mask, count in needs.items()]):
            return True
        return any(
            bound.hopeless(self._problem, self._attempt, demands)
            for bound in (value_bounds, counter_bounds, capacity_bounds)
        )

    def _demand(
        self,
        views: tuple[WantView, ...],
        useless: int,
        masks: dict[_Choice, int],
    ) -> Demand:
        """The alternatives of a stage that can still be served; none if there is no way."""
        kept = []
        for view in views:
            want = view.want
            alike = not (
                want.all_devices
                or want.admin_access
                or want.derived_attributes
                or self._attempt.taken
            )
            key = (view.viable, view.scope)
            mask = masks.get(key) if alike else None
            if mask is None:
                mask = self._choosable(view, useless, 0, 0)
                if alike:
                    masks[key] = mask
            enough = mask.bit_count() >= view.needed
            if enough and not (want.all_devices and not view.everything):
                kept.append((view, mask, view.needed))
        return Demand(
            tuple([view for view, _, _ in kept]),
            tuple([mask for _, mask, _ in kept]),
            tuple([count for _, _, count in kept]),
        )

    def _choosable(self, view: WantView, useless: int, ordinal: int, start: int) -> int:
        """The devices a want may still get, as far as each of them alone is concerned."""
        mask = self._open(view) & ~useless
        mask &= view.ahead(ordinal, start)
        if view.want.all_devices:
            return mask
        for number in view.scope:
            narrowed = self._attempt.constraints[number].narrowed
            if narrowed is not None:
                by_value = self._problem.by_value(number, view.want)
                allowed = 0
                for value in narrowed:
                    allowed |= by_value.get(value, 0)
                mask &= allowed
        if self._attempt.taken:
            for index in bits(mask & self._problem.shareable):
                if not self._attempt.affordable(view, index):
                    mask &= ~(1 << index)
        return mask

    def _useless(self, position: int) -> int:
        """Partitions for which the counters left do not suffice, nor ever will in this branch."""
        useless = 0
        for index in bits(self._partitions[position]):
            if self._attempt.counted(index) and self._attempt.overdraws(index):
                useless |= 1 << index
        return useless
