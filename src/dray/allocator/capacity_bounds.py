"""Capacity that cannot suffice, because all shares together are more than there is."""

from __future__ import annotations

from dray.allocator.attempt import Attempt
from dray.allocator.demands import Demand
from dray.allocator.problem import Problem, bits

__all__ = ["hopeless"]


def hopeless(problem: Problem, attempt: Attempt, demands: list[Demand]) -> bool:
    """Whether what is still to be found takes more of some capacity than is left of it."""
    if not problem.shareable:
        return False
    least: dict[str, int] = {}
    devices: dict[str, int] = {}
    for demand in demands:
        for name, amount in _least(problem, demand).items():
            least[name] = least.get(name, 0) + amount
            for mask in demand.masks:
                devices[name] = devices.get(name, 0) | mask
    return any(
        amount > _left(problem, attempt, name, devices[name]) for name, amount in least.items()
    )


def _least(problem: Problem, demand: Demand) -> dict[str, int]:
    """What a stage takes of each capacity at least: nothing, if a device has none to share."""
    least: dict[str, int] | None = None
    for view, mask, count in zip(demand.views, demand.masks, demand.counts, strict=True):
        if not count or mask & ~problem.shareable:
            return {}
        for device in bits(mask):
            draws = problem.seats[device].face.draws[view.want.index]
            taken = {draw.name: draw.amount * count for draw in draws}
            least = (
                taken
                if least is None
                else {name: min(least[name], taken[name]) for name in least.keys() & taken.keys()}
            )
    return least or {}


def _left(problem: Problem, attempt: Attempt, name: str, devices: int) -> int:
    total = 0
    for device in bits(devices):
        seat = problem.seats[device]
        value = next(d.value for draws in seat.face.draws for d in draws if d.name == name)
        used = dict(seat.consumed).get(name, 0) + attempt.taken.get(device, {}).get(name, 0)
        total += max(0, value - used)
    return total
