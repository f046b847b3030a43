"""Constraints that cannot hold, because there are not the values for it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Final

from dray.allocator.rules.constraints import Value
from dray.allocator.solver.attempt import Attempt
from dray.allocator.solver.demands import Demand
from dray.allocator.solver.matching import matchable
from dray.allocator.solver.problem import Problem

__all__ = ["hopeless"]

# Combinations of values to try where several attributes must match.
COMBINATIONS_MAX: Final = 512


def hopeless(problem: Problem, attempt: Attempt, demands: list[Demand]) -> bool:
    """Whether some constraint cannot hold for what is still to be found."""
    if not any(demand.views[0].scope for demand in demands):
        return False
    bundles: dict[str, list[tuple[int, list[Demand]]]] = {}
    together: dict[tuple[int, ...], list[int]] = {}  # matches about the same stages
    scopes = _scopes(demands)
    for number, members in scopes.items():
        if problem.constraint(number).match_attribute is None:
            if _indistinct(problem, attempt, number, members):
                return True
        else:
            together.setdefault(tuple(map(id, members)), []).append(number)
            bundles.setdefault(problem.attribute(number), []).append((number, members))
    return any(
        _unmatched(problem, attempt, numbers, scopes[numbers[0]]) for numbers in together.values()
    ) or any(_crowded(problem, _apart(each)) for each in bundles.values())


def _apart(bundles: list[tuple[int, list[Demand]]]) -> list[tuple[int, list[Demand]]]:
    """Those that have no stage in common: what two constraints look at can be one bundle."""
    apart = []
    seen: set[int] = set()
    for number, members in bundles:
        stages = {id(demand) for demand in members}
        if seen.isdisjoint(stages):
            seen |= stages
            apart.append((number, members))
    return apart


def _scopes(demands: list[Demand]) -> dict[int, list[Demand]]:
    """The stages each constraint looks at, in all their alternatives."""
    scopes: dict[int, list[Demand]] = {}
    for demand in demands:
        if not min(demand.counts):
            continue
        for number in demand.views[0].scope:
            if len(demand.views) == 1 or all(number in view.scope for view in demand.views):
                scopes.setdefault(number, []).append(demand)
    return scopes


def _unmatched(
    problem: Problem, attempt: Attempt, numbers: list[int], members: list[Demand]
) -> bool:
    """Whether attributes that must match have no values that enough devices share."""
    choices = [_by_value(problem, attempt, number, members) for number in numbers]
    while prod(map(len, choices)) > COMBINATIONS_MAX:
        # With fewer constraints it is an easier question, and as good for saying no.
        choices.remove(max(choices, key=len))
    return not any(
        _served(problem, [_restricted(demand, allowed) for demand in members])
        for allowed in product(*choices)
    )


def _restricted(demand: Demand, allowed: tuple[dict[int, int], ...]) -> Demand:
    for devices in allowed:
        demand = demand.restricted(devices)
    return demand


def _served(problem: Problem, demands: list[Demand]) -> bool:
    needs: dict[int, int] = {}
    for demand in demands:
        if all(mask.bit_count() < n for mask, n in zip(demand.masks, demand.counts, strict=True)):
            return False
        need = demand.exclusive(problem.shareable)
        if need is not None and need[0]:
            needs[need[1]] = needs.get(need[1], 0) + need[0]
    return matchable([(count, mask) for mask, count in needs.items()])


def _by_value(
    problem: Problem, attempt: Attempt, number: int, members: list[Demand]
) -> list[dict[int, int]]:
    """For each value a constraint may settle on, the devices that have it, by want."""
    narrowed = attempt.constraints[number].narrowed
    tables: dict[int, Mapping[Value, int]] = {
        view.want.index: problem.by_value(number, view.want)
        for demand in members
        for view in demand.views
    }
    values = narrowed
    if values is None:
        values = frozenset().union(*tables.values())
    return [{want: table.get(value, 0) for want, table in tables.items()} for value in values]


def _indistinct(problem: Problem, attempt: Attempt, number: int, members: list[Demand]) -> bool:
    """Whether a distinct attribute has not enough values that are not taken."""
    taken = attempt.constraints[number].key()
    assert isinstance(taken, frozenset)
    places: dict[Value, int] = {}
    needs = []
    for demand in members:
        mask = 0
        for view, choosable in zip(demand.views, demand.masks, strict=True):
            for value, devices in problem.by_value(number, view.want).items():
                if devices & choosable and value not in taken:
                    mask |= 1 << places.setdefault(value, len(places))
        needs.append((min(demand.counts), mask))
    return not matchable(needs)


def _crowded(problem: Problem, bundles: list[tuple[int, list[Demand]]]) -> bool:
    """Whether there are more bundles of devices with equal values than groups to take them from.

    Each constraint needs a bundle of its own. A group of five devices holds one bundle of three, so
    for each size the bundles of at least that size are counted.
    """
    sizes = []
    devices: dict[Value, int] = {}
    for number, members in bundles:
        size = 0
        for demand in members:
            need = demand.exclusive(problem.shareable)
            if need is None:
                return False
            size += need[0]
            for view in demand.views:
                for value, mask in problem.by_value(number, view.want).items():
                    devices[value] = devices.get(value, 0) | mask & need[1]
        sizes.append(size)
    groups = [mask.bit_count() for mask in devices.values()]
    return any(
        sum(group // size for group in groups) < sum(other >= size for other in sizes)
        for size in set(sizes)
        if size
    )
