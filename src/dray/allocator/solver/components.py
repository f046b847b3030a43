"""Requests that have nothing to do with each other, to be solved apart.

Two stages depend on each other if they may want the same device, if their devices draw from the
counters of one pool, if one constraint looks at both, or if together they may exceed what a claim
may have. Solving independent groups apart gives the same devices as solving them in one go, and a
group that cannot be solved is found out without trying every solution of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from dray.allocator.requests import Stage
from dray.allocator.solver.problem import Problem, bits

__all__ = ["components", "parts"]


def components(problem: Problem) -> list[tuple[Stage, ...]]:
    """The stages in groups; groups and stages keep their order."""
    stages = problem.preparation.stages
    if len(stages) < 2:
        return [stages]
    if any(view.raising for view in problem.views):
        # An error in any stage ends everything, so the order between groups matters.
        return [stages]
    groups: list[_Group] = []
    for position, stage in enumerate(stages):
        group = _group(problem, position, stage)
        apart = []
        for other in groups:
            if group.touches(other):
                group = group.joined(other)
            else:
                apart.append(other)
        groups = [*apart, group]
    members = sorted(sorted(group.positions) for group in groups)
    return [tuple(stages[position] for position in each) for each in members]


@dataclass(frozen=True, slots=True)
class _Group:
    """Stages that depend on each other, and what others must not have in common with them."""

    positions: frozenset[int]
    devices: int
    pools: frozenset[int]  # whose counters are drawn from
    constraints: frozenset[int]
    claims: frozenset[int]  # that may exceed their limit

    def touches(self, other: _Group) -> bool:
        return bool(
            self.devices & other.devices
            or self.pools & other.pools
            or self.constraints & other.constraints
            or self.claims & other.claims
        )

    def joined(self, other: _Group) -> _Group:
        return _Group(
            self.positions | other.positions,
            self.devices | other.devices,
            self.pools | other.pools,
            self.constraints | other.constraints,
            self.claims | other.claims,
        )


def _group(problem: Problem, position: int, stage: Stage) -> _Group:
    devices = _devices(problem, stage)
    return _Group(
        frozenset((position,)),
        devices,
        frozenset([problem.seats[i].pool for i in bits(devices & problem.partitions)]),
        frozenset([number for w in stage.wants for number in problem.views[w.index].scope]),
        frozenset((stage.claim_index,)) if problem.may_exceed else frozenset(),
    )


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
    # The order must not depend on where objects happen to be: steps are counted.
    found = dict.fromkeys(tuple(each) for each in (*by_constraint.values(), *by_claim.values()))
    return sorted((part for part in found if len(part) < len(stages)), key=len)
