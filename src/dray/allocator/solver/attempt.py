"""The devices chosen so far in a search, and what that does to all others.

`commit` gives a device to a want if nothing speaks against it, in upstream's order of checks;
`undo` takes back the latest commit. Counters are kept as what is left of them, so that only those
a device draws from need a look.

Upstream counterpart: allocateDevice and rollbackDevice.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from typing import NamedTuple, TypeAlias

from dray.allocator.faces import FAILED
from dray.allocator.rules.compatibility import Compatibility
from dray.allocator.rules.constraints import constraint_of
from dray.allocator.solver.problem import Problem, WantView

__all__ = ["Attempt", "Commitment", "Fault", "Stop"]


class Fault(Enum):
    """What ends a search, and all others of the pod."""

    MESSAGE = "as said"
    FIT = "a selector or a capacity request fails on a device"
    SELECTION = "the node selector of a device cannot be parsed"
    POOL = "all devices are wanted, and a pool is not usable"
    CONSTRAINT = "all devices are wanted, and a constraint refuses one"
    DERIVED = "a derived attribute fails on a device"


class Stop(Exception):
    """The search got to something that cannot be judged."""

    def __init__(
        self, fault: Fault, *, message: str = "", want: int = -1, where: int = -1, number: int = -1
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.want = want
        self.where = where  # a device, or a pool
        self.number = number  # a constraint


Joined: TypeAlias = tuple[tuple[tuple[int, str], Compatibility | None], ...]


class Commitment(NamedTuple):
    """What it takes to undo a commit."""

    charged: bool
    compatibility: Joined


class Attempt:
    """The state of a search."""

    def __init__(self, problem: Problem, *, lists: bool) -> None:
        self.problem = problem
        self.chosen = 0  # devices given whole, to any claim
        self.chosen_for = [0] * len(problem.preparation.claims)
        self.results = [0] * len(problem.preparation.claims)
        self.taken: dict[int, dict[str, int]] = {}  # of shareable devices
        self.shares: dict[int, int] = {}
        self.left = [list(pool.left) if pool is not None else [] for pool in problem.counters]
        self.constraints = [
            constraint_of(one, lists=lists) for _, one in problem.preparation.constraints
        ]
        self.compatibility: dict[tuple[int, str], Compatibility] = {}
        self._baseline = {
            (pool, name): compatibility
            for pool, counters in enumerate(problem.counters)
            if counters is not None
            for name, compatibility in counters.compatibility
        }
        # Over-drawn counters block every partition of their pool, whatever it draws from.
        self._overdrawn = [
            tuple(i for i, amount in enumerate(left) if amount < 0) for left in self.left
        ]
        self.draws = [self._counter_draws(index) for index in range(len(problem.seats))]

    def _counter_draws(self, index: int) -> tuple[tuple[int, int], ...]:
        seat = self.problem.seats[index]
        counters = self.problem.counters[seat.pool]
        if not seat.face.counters or counters is None:
            return ()
        position = {name: i for i, name in enumerate(counters.names)}
        amounts: dict[int, int] = {}
        for draw in seat.face.counters:
            for name, amount in draw.amounts:
                at = position[draw.counter_set, name]
                amounts[at] = amounts.get(at, 0) + amount
        return tuple(amounts.items())

    # Reading -----------------------------------------------------------------------------------

    def blocked(self, view: WantView) -> int:
        """The devices in use, as far as that matters to the want."""
        if view.want.admin_access:
            return self.chosen_for[view.want.claim_index]
        return self.problem.allocated | self.chosen

    def affordable(self, view: WantView, index: int) -> bool:
        """Whether a shareable device has enough left, counting what this search took."""
        taken = self.taken.get(index)
        return taken is None or self.problem.affords(view.want, index, taken)

    def counted(self, index: int) -> bool:
        """Whether the device's counters would still have to be charged."""
        seat = self.problem.seats[index]
        if not seat.face.counters:
            return False
        return not (seat.face.shareable and (seat.shared or index in self.shares))

    def overdraws(self, index: int) -> bool:
        """Whether the counters left are too few for the device."""
        pool = self.problem.seats[index].pool
        left = self.left[pool]
        draws = self.draws[index]
        if any(left[at] < amount for at, amount in draws):
            return True
        overdrawn = self._overdrawn[pool]
        if not overdrawn:
            return False
        drawn = dict(draws)
        return any(left[at] < drawn.get(at, 0) for at in overdrawn)

    def key(self, numbers: tuple[int, ...]) -> Hashable:
        """The state of some constraints."""
        return tuple([self.constraints[number].key() for number in numbers])

    # Changing ----------------------------------------------------------------------------------

    def commit(self, view: WantView, index: int) -> Commitment | None:
        """Give a device to a want; None and no change if it cannot be. Raises Stop."""
        seat = self.problem.seats[index]
        want = view.want
        bit = 1 << index
        if not bit & view.candidates & ~self.blocked(view):
            return None
        everything = want.all_devices
        # Upstream looks at capacity first where it may choose, and last where it must take all.
        if not everything and not self.affordable(view, index):
            return None
        charged = self.counted(index)
        compatibility: Joined = ()
        if charged:
            if self.overdraws(index):
                return None
            joined = self._join(seat.pool, index)
            if joined is None:
                return None
            compatibility = joined
        if view.scope and not self._constrain(view, index, compatibility):
            return None
        if everything and not self.problem.affords(want, index, self.taken.get(index)):
            self._leave(compatibility)
            for number in reversed(view.scope):
                self.constraints[number].remove()
            return None
        if charged:
            left = self.left[seat.pool]
            for at, amount in self.draws[index]:
                left[at] -= amount
        if seat.face.shareable:
            taken = self.taken.setdefault(index, {})
            for draw in seat.face.draws[want.index]:
                taken[draw.name] = taken.get(draw.name, 0) + draw.amount
            self.shares[index] = self.shares.get(index, 0) + 1
        else:
            self.chosen |= bit
            self.chosen_for[want.claim_index] |= bit
        self.results[want.claim_index] += 1
        return Commitment(charged, compatibility)

    def undo(self, view: WantView, index: int, commitment: Commitment) -> None:
        """Take back the latest commit."""
        seat = self.problem.seats[index]
        want = view.want
        self.results[want.claim_index] -= 1
        if seat.face.shareable:
            self.shares[index] -= 1
            if self.shares[index]:
                taken = self.taken[index]
                for draw in seat.face.draws[want.index]:
                    taken[draw.name] -= draw.amount
            else:
                del self.shares[index]
                del self.taken[index]
        else:
            # An administrator may hold a device together with a claim that came before.
            self.chosen_for[want.claim_index] &= ~(1 << index)
            if not any(mask >> index & 1 for mask in self.chosen_for):
                self.chosen &= ~(1 << index)
        for number in reversed(view.scope):
            self.constraints[number].remove()
        self._leave(commitment.compatibility)
        if commitment.charged:
            left = self.left[seat.pool]
            for at, amount in self.draws[index]:
                left[at] += amount

    def _constrain(
        self,
        view: WantView,
        index: int,
        compatibility: Joined,
    ) -> bool:
        values = self.problem.seats[index].face.values
        for position, number in enumerate(view.scope):
            value = values[number][view.want.index]
            if value is FAILED:
                raise Stop(Fault.DERIVED, want=view.want.index, where=index, number=number)
            if self.constraints[number].add(value):
                continue
            if view.want.all_devices:
                # To want all devices and to rule one out at the same time makes no sense.
                raise Stop(Fault.CONSTRAINT, want=view.want.index, where=index)
            for added in reversed(view.scope[:position]):
                self.constraints[added].remove()
            self._leave(compatibility)
            return False
        return True

    def _join(self, pool: int, index: int) -> Joined | None:
        saved: list[tuple[tuple[int, str], Compatibility | None]] = []
        for draw in self.problem.seats[index].face.counters:
            key = (pool, draw.counter_set)
            before = self.compatibility.get(key)
            now = before or self._baseline.get(key) or Compatibility()
            if not now.admits(draw.groups):
                self._leave(tuple(saved))
                return None
            saved.append((key, before))
            self.compatibility[key] = now.joined(draw.groups)
        return tuple(saved)

    def _leave(self, saved: Joined) -> None:
        for key, before in reversed(saved):
            if before is None:
                del self.compatibility[key]
            else:
                self.compatibility[key] = before
