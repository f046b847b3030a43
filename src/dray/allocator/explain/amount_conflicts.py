"""Requests that together take more of a counter or of a capacity than is left."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from dray.allocator.answers import Conflict, ConflictKind
from dray.allocator.explain.cores import Core
from dray.allocator.explain.obstacles import amount_of
from dray.allocator.explain.subproblems import Rules, Subproblems
from dray.allocator.solver.problem import WantView, bits

__all__ = ["capacity_conflict", "counter_conflict"]

Place = TypeVar("Place", bound=Hashable)


def counter_conflict(core: Core, trials: Subproblems) -> Conflict | None:
    """That the counters of a pool are too few; None if without them there is no way either."""
    if not trials.fits(core.stages, Rules(counters=False)):
        return None
    if trials.fits(core.stages, Rules(groups=False)):
        text = core.say("no devices that are compatible with each other")
        return Conflict(ConflictKind.COMPATIBILITY, core.names, text)
    least: dict[tuple[int, int], int] = {}
    for stage in core.stages:
        for place, amount in _fewest([_drawn(core, view) for view in core.servable(stage)]).items():
            least[place] = least.get(place, 0) + amount
    for place, amount in sorted(least.items()):
        conflict = _overdrawn(core, place, amount)
        if conflict is not None:
            return conflict
    text = core.say("more is drawn from the counters of a pool than is left")
    return Conflict(ConflictKind.COUNTERS, core.names, text)


def _overdrawn(core: Core, place: tuple[int, int], amount: int) -> Conflict | None:
    at_pool, at = place
    counters = core.problem.counters[at_pool]
    if counters is None or amount <= counters.left[at]:
        return None
    counter_set, name = counters.names[at]
    pool = [pool for pool in core.inspector.layout.pools if pool.usable][at_pool]
    form = pool.counter_sets[counter_set].counters[name].value.format
    wanted, left = amount_of(amount, form), amount_of(counters.left[at], form)
    text = f"at least {wanted} of counter {counter_set}/{name} of pool {pool.id} wanted"
    return Conflict(
        ConflictKind.COUNTERS,
        core.names,
        core.say(f"{text}, {left} left"),
        name=name,
        wanted=str(wanted),
        left=str(left),
        counter_set=counter_set,
        pool=pool.id,
    )


def _drawn(core: Core, view: WantView) -> dict[tuple[int, int], int]:
    """What a want draws from each counter at least."""
    free = core.free(view)
    amounts: dict[tuple[int, int], list[int]] = {}
    for index in bits(free & ~core.problem.shareable):
        for at, amount in core.inspector.attempt.draws[index]:
            amounts.setdefault((core.problem.seats[index].pool, at), []).append(amount)
    drawn = {}
    for place, each in amounts.items():
        # Devices that do not draw from this counter are the cheapest of all.
        paying = view.needed - (free.bit_count() - len(each))
        if paying > 0:
            drawn[place] = sum(sorted(each)[:paying])
    return drawn


def capacity_conflict(core: Core, trials: Subproblems) -> Conflict | None:
    """That shared devices have too little left; None if with more there is no way either."""
    if not trials.fits(core.stages, Rules(capacity=False)):
        return None
    left = _left(core)
    least: dict[str, int] = {}
    for stage in core.stages:
        for name, amount in _fewest([_taken(core, view) for view in core.servable(stage)]).items():
            least[name] = least.get(name, 0) + amount
    for name in sorted(least):
        amount = left.get(name, 0)
        if least[name] > amount:
            return _exceeded(core, name, least[name], amount)
    text = core.say("more is taken of shared devices than is left of their capacity")
    return Conflict(ConflictKind.CAPACITY, core.names, text)


def _exceeded(core: Core, name: str, amount: int, available: int) -> Conflict:
    devices = core.inspector.layout.devices
    form = next(
        placed.device.capacity[name].value.format
        for placed in devices
        if name in placed.device.capacity
    )
    wanted, left = amount_of(amount, form), amount_of(available, form)
    return Conflict(
        ConflictKind.CAPACITY,
        core.names,
        core.say(f"at least {wanted} {name} of shared devices wanted, {left} left"),
        name=name,
        wanted=str(wanted),
        left=str(left),
    )


def _left(core: Core) -> dict[str, int]:
    """What is left of each capacity on all shared devices that are free."""
    union = 0
    for stage in core.stages:
        for view in core.servable(stage):
            union |= core.free(view)
    left: dict[str, int] = {}
    for index in bits(union & core.problem.shareable):
        used = dict(core.problem.seats[index].consumed)
        for name, held in core.inspector.layout.devices[index].device.capacity.items():
            left[name] = left.get(name, 0) + held.value.nano - used.get(name, 0)
    return left


def _taken(core: Core, view: WantView) -> dict[str, int]:
    """What a want takes of each capacity at least, if shared devices are all it may have."""
    free = core.free(view)
    if free & ~core.problem.shareable:
        return {}
    amounts: dict[str, list[int]] = {}
    for index in bits(free):
        for draw in core.problem.seats[index].face.draws[view.want.index]:
            amounts.setdefault(draw.name, []).append(draw.amount)
    return {
        name: sum(sorted(each)[: view.needed])
        for name, each in amounts.items()
        if len(each) == free.bit_count()
    }


def _fewest(alternatives: list[dict[Place, int]]) -> dict[Place, int]:
    """The least that any alternative takes of what all of them take."""
    first, *others = alternatives
    return {
        place: min(amount, *(other[place] for other in others)) if others else amount
        for place, amount in first.items()
        if all(place in other for other in others)
    }
