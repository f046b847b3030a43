"""Requests that have nothing to do with each other, to be solved apart.

Two stages depend on each other if they may want the same device, if their devices draw from the
counters of one pool, if one constraint looks at both, or if together they may exceed what a claim
may have. Solving independent groups apart gives the same devices as solving them in one go, and a
group that cannot be solved is found out without trying every solution of the others.
"""

from __future__ import annotations

from dray.allocator.problem import Problem, bits
from dray.allocator.requests import Stage

__all__ = ["components", "parts"]


def components(problem: Problem) -> list[tuple[Stage, ...]]:
    """The stages in groups; groups and stages keep their order."""
    stages = problem.preparation.stages
    if len(stages) < 2:
        return [stages]
    if any(view.raising for view in problem.views):
        # An error in any stage ends everything, so the order between groups matters.
        return [stages]
    group = list(range(len(stages)))

    def find(one: int) -> int:
        while group[one] != one:
            group[one] = group[group[one]]
            one = group[one]
        return one

    devices = [_devices(problem, stage) for stage in stages]
    drawn = [{problem.seats[i].pool for i in bits(mask & problem.partitions)} for mask in devices]
    scopes = [
        {number for want in stage.wants for number in problem.views[want.index].scope}
        for stage in stages
    ]
    for one in range(len(stages)):
        for other in range(one):
            if (
                devices[one] & devices[other]
                or drawn[one] & drawn[other]
                or scopes[one] & scopes[other]
                or (problem.may_exceed and stages[one].claim_index == stages[other].claim_index)
            ):
                group[find(one)] = find(other)
    grouped: dict[int, list[Stage]] = {}
    for index, stage in enumerate(stages):
        grouped.setdefault(find(index), []).append(stage)
    return [tuple(members) for members in grouped.values()]


def _devices(problem: Problem, stage: Stage) -> int:
    """All devices that any alternative may take."""
    mask = 0
    for want in stage.wants:
        mask |= problem.views[want.index].candidates
    return mask


def parts(problem: Problem, stages: tuple[Stage, ...]) -> list[tuple[Stage, ...]]:
    """Stages that are likely to be difficult together: of one constraint, or of one claim."""
    by_constraint: dict[int, list[Stage]] = {}
    by_claim: dict[int, list[Stage]] = {}
    for stage in stages:
        by_claim.setdefault(stage.claim_index, []).append(stage)
        for number in {n for want in stage.wants for n in problem.views[want.index].scope}:
            by_constraint.setdefault(number, []).append(stage)
    found = {tuple(members) for members in (*by_constraint.values(), *by_claim.values())}
    return sorted((part for part in found if len(part) < len(stages)), key=_extent)


def _extent(part: tuple[Stage, ...]) -> tuple[int, int, int]:
    return len(part), part[0].claim_index, part[0].request_index
