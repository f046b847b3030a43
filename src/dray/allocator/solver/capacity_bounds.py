"""Capacity that cannot suffice, because all shares together are more than there is.

Whoever does not get a device for himself needs a share. If the largest wishes get the devices that
are given whole, as far as there are any, and the shares that remain are still too much, there is no
way.
"""

from __future__ import annotations

from dray.allocator.solver.attempt import Attempt
from dray.allocator.solver.demands import Demand
from dray.allocator.solver.problem import Problem, bits

__all__ = ["hopeless"]


def hopeless(problem: Problem, attempt: Attempt, demands: list[Demand]) -> bool:
    """Whether what is still to be found takes more of some capacity than is left of it."""
    if not problem.shareable:
        return False
    whole = shared = 0
    shares: list[dict[str, int]] = []
    for demand in demands:
        union = 0
        for mask in demand.masks:
            union |= mask
        shared |= union & problem.shareable
        admin = any(view.want.admin_access for view in demand.views)
        if not admin:
            whole |= union & ~problem.shareable
        if union & problem.shareable and not admin:
            shares += [_least(problem, demand)] * min(demand.counts)
    left = _left(problem, attempt, shared)
    # Those who would share and cannot have a device for themselves instead.
    sharing = max(0, len(shares) - whole.bit_count())
    return any(
        sum(sorted([share.get(name, 0) for share in shares])[:sharing]) > amount
        for name, amount in left.items()
    )


def _least(problem: Problem, demand: Demand) -> dict[str, int]:
    """What a share takes of each capacity at least."""
    least: dict[str, int] | None = None
    for view, mask in zip(demand.views, demand.masks, strict=True):
        for device in bits(mask & problem.shareable):
            draws = problem.seats[device].face.draws[view.want.index]
            taken = {draw.name: draw.amount for draw in draws}
            least = (
                taken
                if least is None
                else {name: min(least[name], taken[name]) for name in least.keys() & taken.keys()}
            )
    return least or {}


def _left(problem: Problem, attempt: Attempt, devices: int) -> dict[str, int]:
    """What of each capacity the devices have left together."""
    total: dict[str, int] = {}
    for device in bits(devices):
        seat = problem.seats[device]
        used = dict(seat.consumed)
        taken = attempt.taken.get(device, {})
        values = {draw.name: draw.value for draws in seat.face.draws for draw in draws}
        for name, value in values.items():
            left = max(0, value - used.get(name, 0) - taken.get(name, 0))
            total[name] = total.get(name, 0) + left
    return total
