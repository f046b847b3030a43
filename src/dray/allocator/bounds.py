"""Branches without a solution, recognised without walking them.

Every test here asks an easier question than the search: some rules are dropped, and if even then
there is no way, there is none at all. Tests look only as far as the first stage that may end in an
error, because up to there a branch that cannot be completed cannot get to the error either.

- counting: a want needs more devices than it has candidates left;
- matching: several wants need more devices than they have candidates together;
- values: no value of a matching attribute is found on enough devices, or there are not enough
  different values of a distinct one;
- counters: the cheapest devices together draw more than is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dray.allocator.attempt import Attempt
from dray.allocator.matching import matchable
from dray.allocator.problem import Problem, WantView, bits
from dray.allocator.requests import Stage

__all__ = ["Bounds"]


@dataclass(slots=True)
class _Demand:
    """Devices that are still to be found for one stage, whichever alternative it takes."""

    views: tuple[WantView, ...]
    masks: tuple[int, ...]  # by view: what it can still choose from
    counts: tuple[int, ...]  # by view: how many it still needs


class Bounds:
    """Tests against the state of one search."""

    def __init__(self, problem: Problem, attempt: Attempt, stages: tuple[Stage, ...]) -> None:
        self._problem = problem
        self._attempt = attempt
        self._stages = tuple(
            tuple(problem.views[want.index] for want in stage.wants) for stage in stages
        )
        self._horizon = self._horizons()

    def _horizons(self) -> tuple[int, ...]:
        """From each stage on, the first one that may end in an error."""
        horizon = len(self._stages)
        horizons = [horizon]
        for position in range(len(self._stages) - 1, -1, -1):
            if any(view.raising for view in self._stages[position]):
                horizon = position
            horizons.append(horizon)
        return tuple(reversed(horizons))

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

    def hopeless_deeply(self, position: int, view: WantView, ordinal: int, start: int) -> bool:
        """Whether the rest of a want and the stages after it cannot all be served."""
        horizon = self._horizon[position]
        if horizon == position:
            return False
        useless = self._useless(position)
        mask = self._choosable(view, useless, ordinal, start)
        demands = [_Demand((view,), (mask,), (view.needed - ordinal,))]
        for later in range(position + 1, horizon):
            demand = self._demand(self._stages[later], useless)
            if not demand.views:
                return True
            demands.append(demand)
        if _too_few(demands[0]):
            return True
        return (
            not self._matchable(demands)
            or self._unmatched(demands)
            or self._indistinct(demands)
            or self._overdrawn(demands)
        )

    def _demand(self, views: tuple[WantView, ...], useless: int) -> _Demand:
        """The alternatives of a stage that can still be served; none if there is no way."""
        kept = []
        for view in views:
            mask = self._choosable(view, useless, 0, 0)
            enough = mask.bit_count() >= view.needed
            if enough and not (view.want.all_devices and not view.everything):
                kept.append((view, mask, view.needed))
        return _Demand(
            tuple(view for view, _, _ in kept),
            tuple(mask for _, mask, _ in kept),
            tuple(count for _, _, count in kept),
        )

    def _choosable(self, view: WantView, useless: int, ordinal: int, start: int) -> int:
        mask = self._open(view) & ~useless
        if view.want.all_devices:
            wanted = 0
            for index in view.everything[ordinal:]:
                wanted |= 1 << index
            return wanted & mask
        mask &= -(1 << start)
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
        for index in bits(self._problem.partitions & self._devices(position)):
            if self._attempt.counted(index) and self._attempt.overdraws(index):
                useless |= 1 << index
        return useless

    def _devices(self, position: int) -> int:
        mask = 0
        for views in self._stages[position:]:
            for view in views:
                mask |= view.candidates
        return mask

    def _matchable(self, demands: list[_Demand]) -> bool:
        """Whether devices can be dealt out if nothing matters but who accepts which."""
        needs = [self._exclusive(demand) for demand in demands]
        return matchable([need for need in needs if need is not None and need[0]])

    def _exclusive(self, demand: _Demand) -> tuple[int, int] | None:
        """How many devices nobody else can have a stage needs at least, and out of which."""
        least, union = None, 0
        for view, mask, count in zip(demand.views, demand.masks, demand.counts, strict=True):
            if view.want.admin_access:
                return None
            whole = mask & ~self._problem.shareable
            short = max(0, count - (mask & self._problem.shareable).bit_count())
            least = short if least is None else min(least, short)
            union |= whole
        return (least or 0, union)

    def _unmatched(self, demands: list[_Demand]) -> bool:
        """Whether a matching attribute has no value that enough devices share."""
        for number, members in self._scopes(demands, distinct=False).items():
            values = self._values(number, members)
            if not any(self._matchable(_restricted(members, value)) for value in values):
                return True
        return False

    def _indistinct(self, demands: list[_Demand]) -> bool:
        """Whether a distinct attribute has not enough values that are not taken."""
        for number, members in self._scopes(demands, distinct=True).items():
            taken = self._attempt.constraints[number].key()
            assert isinstance(taken, frozenset)
            numbers: dict[object, int] = {}
            needs = []
            for demand in members:
                mask = 0
                for view, choosable in zip(demand.views, demand.masks, strict=True):
                    for value, devices in self._problem.by_value(number, view.want).items():
                        if devices & choosable and value not in taken:
                            mask |= 1 << numbers.setdefault(value, len(numbers))
                needs.append((min(demand.counts), mask))
            if not matchable(needs):
                return True
        return False

    def _scopes(self, demands: list[_Demand], *, distinct: bool) -> dict[int, list[_Demand]]:
        """The stages each constraint looks at, in all their alternatives."""
        scopes: dict[int, list[_Demand]] = {}
        for demand in demands:
            for number in demand.views[0].scope:
                matching = self._problem.constraint(number).match_attribute is not None
                if matching is not distinct and all(number in v.scope for v in demand.views):
                    scopes.setdefault(number, []).append(demand)
        return scopes

    def _values(self, number: int, members: list[_Demand]) -> list[dict[int, int]]:
        """For each value a constraint may settle on, the devices that have it, by want."""
        narrowed = self._attempt.constraints[number].narrowed
        views = [view for demand in members for view in demand.views]
        tables: list[Mapping[object, int]] = [
            self._problem.by_value(number, view.want) for view in views
        ]
        values = narrowed if narrowed is not None else {v for table in tables for v in table}
        return [
            {v.want.index: table.get(value, 0) for v, table in zip(views, tables, strict=True)}
            for value in values
        ]

    def _overdrawn(self, demands: list[_Demand]) -> bool:
        """Whether even the cheapest devices draw more from some counter than is left."""
        if not self._problem.partitions:
            return False
        least: dict[tuple[int, int], int] = {}
        for demand in demands:
            for key, amount in self._cheapest(demand).items():
                least[key] = least.get(key, 0) + amount
        return any(
            amount > max(0, self._attempt.left[pool][at]) for (pool, at), amount in least.items()
        )

    def _cheapest(self, demand: _Demand) -> Mapping[tuple[int, int], int]:
        """What a stage draws from each counter at least."""
        cheapest: dict[tuple[int, int], int] | None = None
        for mask, count in zip(demand.masks, demand.counts, strict=True):
            amounts: dict[tuple[int, int], list[int]] = {}
            for index in bits(mask & self._problem.partitions):
                if self._attempt.counted(index) and not self._problem.shareable >> index & 1:
                    pool = self._problem.seats[index].pool
                    for at, amount in self._attempt.draws[index]:
                        amounts.setdefault((pool, at), []).append(amount)
            free = mask.bit_count()
            of_view = {}
            for key, drawn in amounts.items():
                # Devices that do not draw from this counter are the cheapest of all.
                paying = count - (free - len(drawn))
                if paying > 0:
                    of_view[key] = sum(sorted(drawn)[:paying])
            if cheapest is None:
                cheapest = of_view
            else:
                cheapest = {
                    key: min(amount, of_view[key])
                    for key, amount in cheapest.items()
                    if key in of_view
                }
        return cheapest or {}


def _too_few(demand: _Demand) -> bool:
    return demand.masks[0].bit_count() < demand.counts[0]


def _restricted(members: list[_Demand], allowed: dict[int, int]) -> list[_Demand]:
    """The demands with only the devices of one value."""
    restricted = []
    for demand in members:
        masks = tuple(
            mask & allowed[view.want.index]
            for view, mask in zip(demand.views, demand.masks, strict=True)
        )
        restricted.append(_Demand(demand.views, masks, demand.counts))
    return restricted
