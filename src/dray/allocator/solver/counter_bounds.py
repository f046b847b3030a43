"""Counters that cannot suffice, because even the cheapest devices draw too much.

Each counter is looked at alone, and then the counters of a pool together: devices that are cheap
in one counter are often dear in another, and counted as parts of what is left of each they cannot
hide it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TypeAlias

from dray.allocator.solver.attempt import Attempt
from dray.allocator.solver.demands import Demand
from dray.allocator.solver.problem import Problem, bits

__all__ = ["hopeless"]

# What is drawn: from a counter of a pool, or (-1) from all of them together.
Account: TypeAlias = tuple[int, int]

_TOGETHER = -1


def hopeless(problem: Problem, attempt: Attempt, demands: list[Demand]) -> bool:
    """Whether what is still to be found draws more from some counter than is left."""
    if not any(mask & problem.partitions for demand in demands for mask in demand.masks):
        return False
    prices = _Prices(problem, attempt)
    least: dict[Account, int] = {}
    for demand in _merged(problem, demands):
        for account, amount in _cheapest(prices, demand).items():
            least[account] = least.get(account, 0) + amount
    return any(amount > prices.budget(account) for account, amount in least.items())


def _merged(problem: Problem, demands: list[Demand]) -> list[Demand]:
    """Stages that choose from the same devices as one that needs as many as all of them."""
    merged: list[Demand] = []
    by_mask: dict[int, Demand] = {}
    for demand in demands:
        mask = demand.masks[0]
        alone = len(demand.views) > 1 or demand.views[0].want.admin_access
        if alone or mask & problem.shareable:
            merged.append(demand)
            continue
        known = by_mask.get(mask)
        count = demand.counts[0] + (known.counts[0] if known is not None else 0)
        by_mask[mask] = Demand(demand.views, demand.masks, (count,))
    return [*merged, *by_mask.values()]


class _Prices:
    """What devices draw, and what there is."""

    def __init__(self, problem: Problem, attempt: Attempt) -> None:
        self.problem = problem
        self._attempt = attempt
        # A counter of which nothing is left has no parts: who draws from it is no candidate.
        self._open = [
            tuple(at for at, amount in enumerate(left) if amount > 0) for left in attempt.left
        ]
        self._shares = [self._share(pool) for pool in range(len(attempt.left))]

    def _share(self, pool: int) -> dict[int, int]:
        left, open_ = self._attempt.left[pool], self._open[pool]
        return {at: prod(left[other] for other in open_ if other != at) for at in open_}

    def budget(self, account: Account) -> int:
        pool, at = account
        left = self._attempt.left[pool]
        if at != _TOGETHER:
            return max(0, left[at])
        return len(self._open[pool]) * prod(left[each] for each in self._open[pool])

    def of(self, device: int) -> list[tuple[Account, int]]:
        """What one device draws, if nobody else pays for it."""
        if self.problem.shareable >> device & 1 or not self._attempt.counted(device):
            return []
        pool = self.problem.seats[device].pool
        draws = self._attempt.draws[device]
        shares = self._shares[pool]
        together = sum(amount * shares.get(at, 0) for at, amount in draws)
        return [
            *[((pool, at), amount) for at, amount in draws if amount],
            ((pool, _TOGETHER), together),
        ]


def _cheapest(prices: _Prices, demand: Demand) -> Mapping[Account, int]:
    """What a stage draws at least, whichever alternative it takes."""
    cheapest: dict[Account, int] | None = None
    for mask, count in zip(demand.masks, demand.counts, strict=True):
        drawn: dict[Account, list[int]] = {}
        for device in bits(mask & prices.problem.partitions):
            for account, amount in prices.of(device):
                drawn.setdefault(account, []).append(amount)
        devices = mask.bit_count()
        of_view = {}
        for account, amounts in drawn.items():
            # Devices that do not draw from this counter are the cheapest of all.
            paying = count - (devices - len(amounts))
            if paying > 0:
                amounts.sort()
                of_view[account] = sum(amounts[:paying])
        if cheapest is None:
            cheapest = of_view
        else:
            cheapest = {
                account: min(amount, of_view[account])
                for account, amount in cheapest.items()
                if account in of_view
            }
    return cheapest or {}
