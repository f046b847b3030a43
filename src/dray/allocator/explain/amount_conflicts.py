"""Requests that together take more of a counter or of a capacity than is left."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

from dray.allocator.answers import Conflict, ConflictKind
from dray.allocator.explain.cores import Core
from dray.allocator.explain.obstacles import amount_of
from dray.allocator.explain.subproblems import Rules, Subproblems
from dray.allocator.explain.wording import listed
from dray.allocator.pools import Pool
from dray.allocator.solver.problem import WantView, bits
from dray.api.quantity import Format

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
    for place, amount in _drawn_together(core).items():
        least[place] = max(least.get(place, 0), amount)
    for place, amount in sorted(least.items()):
        conflict = _overdrawn(core, place, amount)
        if conflict is not None:
            return conflict
    return _blamed(core, trials.counter_core(core.stages, _places(core)))


def _overdrawn(core: Core, place: tuple[int, int], amount: int) -> Conflict | None:
    at_pool, at = place
    counters = core.problem.counters[at_pool]
    if counters is None or amount <= counters.left[at]:
        return None
    counter_set, name = counters.names[at]
    pool, form = _pool(core, at_pool), _format(core, place)
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


def _blamed(core: Core, places: Sequence[tuple[int, int]]) -> Conflict:
    """That some counters are too few, though nobody can say how much of them it takes."""
    if not places:
        text = core.say("more is drawn from the counters of a pool than is left")
        return Conflict(ConflictKind.COUNTERS, core.names, text)
    by_pool: dict[int, list[str]] = {}
    facts: list[tuple[str, str, str]] = []
    for place in places:
        at_pool, at = place
        counters = core.problem.counters[at_pool]
        assert counters is not None
        counter_set, name = counters.names[at]
        left = amount_of(counters.left[at], _format(core, place))
        by_pool.setdefault(at_pool, []).append(f"{counter_set}/{name} ({left} left)")
        facts.append((counter_set, name, str(left)))
    told = " or ".join(
        f"{'counter' if len(names) == 1 else 'counters'} {listed(names)} "
        f"of pool {_pool(core, at_pool).id}"
        for at_pool, names in by_pool.items()
    )
    counter_set, name, left_ = facts[0] if len(facts) == 1 else ("", "", "")
    return Conflict(
        ConflictKind.COUNTERS,
        core.names,
        core.say(f"more is drawn than there is of {told}"),
        name=name,
        left=left_,
        counter_set=counter_set,
        pool=_pool(core, places[0][0]).id if len(by_pool) == 1 else None,
    )


def _pool(core: Core, at_pool: int) -> Pool:
    return [pool for pool in core.inspector.layout.pools if pool.usable][at_pool]


def _format(core: Core, place: tuple[int, int]) -> Format:
    at_pool, at = place
    counters = core.problem.counters[at_pool]
    assert counters is not None
    counter_set, name = counters.names[at]
    return _pool(core, at_pool).counter_sets[counter_set].counters[name].value.format


def _places(core: Core) -> list[tuple[int, int]]:
    """The counters that devices draw from which the stages may have."""
    union = 0
    for stage in core.stages:
        for view in core.servable(stage):
            union |= core.free(view)
    return sorted(
        {
            (core.problem.seats[index].pool, at)
            for index in bits(union)
            for at, _ in core.inspector.attempt.draws[index]
        }
    )


def _drawn_together(core: Core) -> dict[tuple[int, int], int]:
    """What all stages draw from each counter at least, because no device goes to two of them."""
    count, union = 0, 0
    for stage in core.stages:
        if not any(view.want.admin_access for view in core.servable(stage)):
            needed, mask = core.exclusive(stage)
            count, union = count + needed, union | mask
    return _cheapest(core, union, count)


def _drawn(core: Core, view: WantView) -> dict[tuple[int, int], int]:
    """What a want draws from each counter at least."""
    return _cheapest(core, core.free(view), view.needed)


def _cheapest(core: Core, free: int, count: int) -> dict[tuple[int, int], int]:
    """What so many of these devices draw from each counter at least."""
    amounts: dict[tuple[int, int], list[int]] = {}
    for index in bits(free & ~core.problem.shareable):
        for at, amount in core.inspector.attempt.draws[index]:
            amounts.setdefault((core.problem.seats[index].pool, at), []).append(amount)
    drawn = {}
    for place, each in amounts.items():
        # Devices that do not draw from this counter are the cheapest of all.
        paying = count - (free.bit_count() - len(each))
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
