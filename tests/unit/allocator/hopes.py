"""Small problems, and whether a bound gives up on them."""

from __future__ import annotations

from collections.abc import Sequence

from dray.allocator import Allocator, Features, Inventory, Occupancy
from dray.allocator.solver.attempt import Attempt
from dray.allocator.solver.demands import Demand
from dray.allocator.solver.problem import Problem
from dray.api.resource import Device, ResourceClaim, ResourceSlice
from tests.unit.allocator.builders import CLASS, device_class, node, slice_


def problem_of(
    devices: Sequence[Device], claims: Sequence[ResourceClaim], *others: ResourceSlice
) -> Problem:
    slices = [slice_(*devices, slice_count=1 + len(others)), *others]
    allocator = Allocator(
        Inventory(Features.everything(), slices),
        Occupancy(),
        {CLASS: device_class()},
        share_id=lambda: "share",
    )
    plan = allocator.plan(claims)
    return plan.layout(node()).problem(plan.preparation)


def demands_of(problem: Problem) -> list[Demand]:
    """What every stage needs at the start."""
    return [
        Demand(
            tuple(problem.views[want.index] for want in stage.wants),
            tuple(problem.views[want.index].candidates for want in stage.wants),
            tuple(problem.views[want.index].needed for want in stage.wants),
        )
        for stage in problem.preparation.stages
    ]


def start(problem: Problem) -> Attempt:
    return Attempt(problem, lists=True)
