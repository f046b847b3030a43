"""What keeps requests from being served together, though each of them has devices enough.

First as few requests as cannot be served are singled out, by leaving out one after the other. Then
rules are left out: constraints, counters, capacity. The rule without which these requests could be
served is the reason, and the numbers that go with it are counted from the devices that are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.allocator.answers import Conflict, ConflictKind
from dray.allocator.explain.amount_conflicts import capacity_conflict, counter_conflict
from dray.allocator.explain.cores import Core
from dray.allocator.explain.dealing import most_served
from dray.allocator.explain.obstacles import Inspector
from dray.allocator.explain.subproblems import Rules, Subproblems
from dray.allocator.explain.wording import attribute_of, position_of, show_value
from dray.allocator.features import Features
from dray.allocator.preparation import RESULTS_MAX
from dray.allocator.requests import Stage
from dray.allocator.rules.constraints import Value, element_values
from dray.allocator.solver.problem import bits

__all__ = ["CONFLICTS_MAX", "conflicts"]

CONFLICTS_MAX: Final = 3
"""Sets of requests that are told; who resolves one asks again anyway."""


def conflicts(inspector: Inspector, features: Features) -> tuple[Conflict, ...]:
    """What is wrong between the requests of a problem that has no solution."""
    trials = Subproblems(inspector.problem, lists=features.list_type_attributes)
    stages = inspector.problem.preparation.stages
    found: list[Conflict] = []
    while stages and len(found) < CONFLICTS_MAX and (not found or trials.hopeless(stages)):
        core = Core(inspector, trials.core(stages))
        found.append(_conflict(core, trials))
        stages = tuple(stage for stage in stages if stage not in core.stages)
    return tuple(found)


def _conflict(core: Core, trials: Subproblems) -> Conflict:
    return (
        _devices(core)
        or _limit(core)
        or _constraints(core, trials)
        or counter_conflict(core, trials)
        or capacity_conflict(core, trials)
        or Conflict(
            ConflictKind.COMBINATION,
            core.names,
            core.say("no combination of devices serves all that is wanted"),
        )
    )


def _devices(core: Core) -> Conflict | None:
    needs = [core.exclusive(stage) for stage in core.stages]
    needed = sum(count for count, _ in needs)
    if most_served(needs) == needed:
        return None
    union = 0
    for _, mask in needs:
        union |= mask
    available = union.bit_count()
    together = " together" if len(core.stages) > 1 else ""
    text = f"{needed} devices wanted{together}, {available} free"
    return Conflict(
        ConflictKind.DEVICES, core.names, core.say(text), needed=needed, available=available
    )


def _limit(core: Core) -> Conflict | None:
    by_claim: dict[int, int] = {}
    for stage in core.stages:
        by_claim[stage.claim_index] = by_claim.get(stage.claim_index, 0) + core.least(stage)
    most = max(by_claim.values())
    if most <= RESULTS_MAX:
        return None
    return Conflict(
        ConflictKind.LIMIT,
        core.names,
        core.say(f"{most} devices wanted, and a claim may have {RESULTS_MAX}"),
        needed=most,
        available=RESULTS_MAX,
    )


# Constraints -----------------------------------------------------------------------------------


def _constraints(core: Core, trials: Subproblems) -> Conflict | None:
    if not trials.fits(core.stages, Rules(constraints=frozenset())):
        return None
    numbers = trials.constraint_core(core.stages)
    if len(numbers) != 1:
        names = ", ".join(_named(core, number) for number in numbers)
        return Conflict(
            ConflictKind.COMBINATION,
            core.names,
            core.say(f"no devices that satisfy all of {names}"),
        )
    if core.problem.constraint(numbers[0]).match_attribute is not None:
        return _match(core, numbers[0])
    return _distinct(core, numbers[0])


def _named(core: Core, number: int) -> str:
    constraint = core.problem.constraint(number)
    kind = "matchAttribute" if constraint.match_attribute is not None else "distinctAttribute"
    position = position_of(core.inspector, number)
    return f"constraint {position} ({kind} {attribute_of(constraint)})"


def _match(core: Core, number: int) -> Conflict:
    name = attribute_of(core.problem.constraint(number))
    stages = _scoped(core, number)
    needed = sum(map(core.least, stages))
    available, best = 0, None
    for value in sorted(_values(core, number, stages), key=repr):
        needs = [(core.least(stage), _having(core, number, stage, value)) for stage in stages]
        served = most_served(needs)
        if served > available:
            available, best = served, value
    there = "no choice does"
    if best is None:
        there = "none does"
    elif available < needed:
        agree = "1 device agrees" if available == 1 else f"{available} devices agree"
        there = f"at most {agree}: {name} = {show_value(best)}"
    return Conflict(
        ConflictKind.MATCH_ATTRIBUTE,
        core.names,
        core.say(f"{needed} devices wanted that agree in {name}, {there}"),
        needed=needed,
        available=available,
        name=name,
        value=show_value(best) if best is not None else "",
    )


def _distinct(core: Core, number: int) -> Conflict:
    name = attribute_of(core.problem.constraint(number))
    stages = _scoped(core, number)
    needed = sum(map(core.least, stages))
    values = sorted(_values(core, number, stages), key=repr)
    needs = []
    for stage in stages:
        mask = 0
        for place, value in enumerate(values):
            if _having(core, number, stage, value):
                mask |= 1 << place
        needs.append((core.least(stage), mask))
    available = most_served(needs)
    there = f"at most {available} do" if available < needed else "no choice does"
    return Conflict(
        ConflictKind.DISTINCT_ATTRIBUTE,
        core.names,
        core.say(f"{needed} devices wanted that all differ in {name}, {there}"),
        needed=needed,
        available=available,
        name=name,
    )


def _scoped(core: Core, number: int) -> list[Stage]:
    """The stages that a constraint looks at."""
    views = core.problem.views
    return [
        stage
        for stage in core.stages
        if any(number in views[want.index].scope for want in stage.wants)
    ]


def _values(core: Core, number: int, stages: Sequence[Stage]) -> set[Value]:
    """The single values that free devices have."""
    return {
        element
        for stage in stages
        for view in core.servable(stage)
        for index in bits(core.free(view))
        for element in element_values(core.problem.value(number, view.want, index))
    }


def _having(core: Core, number: int, stage: Stage, value: Value) -> int:
    """The free devices of a stage that have a value."""
    mask = 0
    for view in core.servable(stage):
        for index in bits(core.free(view)):
            if value in element_values(core.problem.value(number, view.want, index)):
                mask |= 1 << index
    return mask
