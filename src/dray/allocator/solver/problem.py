"""One node's devices and one pod's wants, as masks and integers: what the search works on.

Devices are numbered in the order in which upstream tries them, and a set of devices is an integer
with one bit per device. A Problem knows no names of nodes, pools or devices, so nodes whose devices
look alike and are held alike are one problem with one solution.

Whatever would stop upstream with an error is kept as a mask too: the search raises when it gets
there and not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from dray.allocator.faces import FAILED, FITS, Draw, Face, Refusal
from dray.allocator.preparation import RESULTS_MAX, Preparation
from dray.allocator.requests import Want
from dray.allocator.rules.compatibility import Compatibility
from dray.allocator.rules.constraints import Value, attribute_of, element_values
from dray.api.resource import DeviceConstraint

__all__ = ["BadPool", "CountersLeft", "Problem", "Seat", "WantView", "bits"]

# What is looked at before the device's own node selection.
_BEFORE_SELECTION: Final = (
    Refusal.BINDING_CONDITIONS,
    Refusal.SELECTOR,
    Refusal.SELECTOR_FAILS,
)
_RAISING: Final = (Refusal.SELECTOR_FAILS, Refusal.CAPACITY_FAILS)


def bits(mask: int) -> Iterator[int]:
    """The devices in a set, in order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class BadPool(NamedTuple):
    """A pool nothing may be taken from, and how many devices of other pools come before it."""

    offset: int
    place: int  # among all pools of the node
    invalid: bool


@dataclass(frozen=True, slots=True)
class CountersLeft:
    """What of a pool's counters allocated devices leave, and which groups they belong to."""

    names: tuple[tuple[str, str], ...]  # counter set and counter
    left: tuple[int, ...]
    compatibility: tuple[tuple[str, Compatibility], ...] = ()


@dataclass(frozen=True, slots=True)
class Seat:
    """What allocation needs to know of one device apart from its face."""

    face: Face
    pool: int  # which entry of Problem.counters
    allocated: bool = False
    shared: bool = False  # somebody has a share, who paid for what it draws from counters
    consumed: tuple[tuple[str, int], ...] = ()
    reachable: bool = True  # the device's own node selection
    unreadable: bool = False  # nobody can say whether it is
    operable: bool = True  # the node can do without the operations that the slice skips


@dataclass(slots=True)
class WantView:
    """The devices as one want sees them. `needed` devices are to be found among `candidates`."""

    want: Want
    needed: int
    candidates: int  # acceptable, apart from what changes during the search
    raises: int  # looking at these ends everything
    viable: int  # candidates with enough capacity left
    everything: tuple[int, ...] = ()  # the devices of a want for all, in order
    scope: tuple[int, ...] = ()  # the constraints that look at its devices
    must: bool = False  # a constraint may refuse one of `everything`, which ends everything
    derives: int = 0  # a derived attribute fails on these candidates

    def ahead(self, ordinal: int, start: int) -> int:
        """The devices that may still be taken, from one of its devices and one place on."""
        if not self.want.all_devices:
            return self.candidates & -(1 << start)
        mask = 0
        for index in self.everything[ordinal:]:
            mask |= 1 << index
        return mask

    @property
    def raising(self) -> bool:
        """Whether looking for devices may end everything."""
        return bool(self.raises or self.derives or self.must)


@dataclass(eq=False)
class Problem:
    """Seats in order, and what the wants see of them."""

    preparation: Preparation
    seats: tuple[Seat, ...]
    counters: tuple[CountersLeft | None, ...]
    bad_pools: tuple[BadPool, ...] = ()
    views: tuple[WantView, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.views = tuple(self._view(want) for want in self.preparation.wants)

    # Sets of devices ---------------------------------------------------------------------------

    @cached_property
    def allocated(self) -> int:
        return self._set(seat.allocated for seat in self.seats)

    @cached_property
    def shareable(self) -> int:
        return self._set(seat.face.shareable for seat in self.seats)

    @cached_property
    def partitions(self) -> int:
        """The devices that draw from counters."""
        return self._set(bool(seat.face.counters) for seat in self.seats)

    @staticmethod
    def _set(members: Iterable[bool]) -> int:
        mask = 0
        for index, member in enumerate(members):
            if member:
                mask |= 1 << index
        return mask

    # Wants -------------------------------------------------------------------------------------

    def _view(self, want: Want) -> WantView:
        candidates = raises = poor = 0
        for index, seat in enumerate(self.seats):
            fit = seat.face.fits[want.index]
            if seat.unreadable and fit.refusal not in _BEFORE_SELECTION:
                raises |= 1 << index
            elif fit is FITS:
                if not (seat.operable and seat.reachable):
                    continue
                candidates |= 1 << index
                if seat.face.draws[want.index] and not self.affords(want, index):
                    poor |= 1 << index
            elif fit.refusal in _RAISING and (
                seat.reachable or fit.refusal is Refusal.SELECTOR_FAILS
            ):
                raises |= 1 << index
        if not want.all_devices:
            candidates &= ~poor
        view = WantView(want, want.count, candidates, raises, viable=candidates & ~poor)
        view.scope = tuple(
            number
            for number, (claim_index, constraint) in enumerate(self.preparation.constraints)
            if claim_index == want.claim_index and want.named_by(constraint.requests)
        )
        if want.derived_attributes:
            for index in bits(candidates):
                values = self.seats[index].face.values
                if any(values[number][want.index] is FAILED for number in view.scope):
                    view.derives |= 1 << index
        return view

    def everything(self, want: Want) -> tuple[int, ...] | BadPool | int:
        """The devices a want for all devices stands for.

        A BadPool that makes it impossible to say, or the number of the device that cannot be
        judged, whichever comes first.
        """
        view = self.views[want.index]
        bad = self.bad_pools[0] if self.bad_pools else None
        until = len(self.seats) if bad is None else bad.offset
        for index in bits(view.raises):
            if index < until:
                return index
        if bad is not None:
            return bad
        return tuple(
            index for index, seat in enumerate(self.seats) if self._counts_as_one(want, seat)
        )

    def _counts_as_one(self, want: Want, seat: Seat) -> bool:
        """Whether a device is one of "all": the selectors accept it and it is large enough.

        Taints and counters do not matter here: they make the request fail later.
        """
        refusal = seat.face.fits[want.index].refusal
        if refusal not in (None, Refusal.COUNTERS, Refusal.TAINT) or not seat.reachable:
            return False
        return all(draw.amount <= draw.value for draw in seat.face.draws[want.index])

    def affords(self, want: Want, index: int, taken: Mapping[str, int] | None = None) -> bool:
        """Whether what is left of the device's capacities is enough for the want."""
        seat = self.seats[index]
        draws: tuple[Draw, ...] = seat.face.draws[want.index]
        if not draws:
            return True
        used = dict(seat.consumed)
        for name, amount, value in draws:
            total = used.get(name, 0) + amount
            if taken is not None:
                total += taken.get(name, 0)
            if total > value:
                return False
        return True

    # Constraints -------------------------------------------------------------------------------

    def constraint(self, number: int) -> DeviceConstraint:
        return self.preparation.constraints[number][1]

    def attribute(self, number: int) -> str:
        """The name of what a constraint compares."""
        return attribute_of(self.constraint(number))

    def value(self, number: int, want: Want, index: int) -> Value:
        return self.seats[index].face.values[number][want.index]

    def by_value(self, number: int, want: Want) -> Mapping[Value, int]:
        """The candidates of a want by each single value that a constraint finds on them."""
        candidates = self.views[want.index].candidates
        # What devices publish is the same for all who ask; what is derived is not.
        asking = want.index if want.derived_attributes else -1
        key = (self.attribute(number), asking, candidates)
        found = self._by_value.get(key)
        if found is None:
            found = self._by_value[key] = {}
            for index in bits(candidates):
                for element in element_values(self.value(number, want, index)):
                    found[element] = found.get(element, 0) | 1 << index
        return found

    @cached_property
    def _by_value(self) -> dict[tuple[str, int, int], dict[Value, int]]:
        return {}

    # Limits ------------------------------------------------------------------------------------

    @property
    def may_exceed(self) -> bool:
        """Whether some choice of alternatives asks for more devices than a claim may have."""
        return bool(self.exceeding)

    @cached_property
    def exceeding(self) -> frozenset[int]:
        """The claims of which that is so."""
        totals: dict[int, int] = {}
        for stage in self.preparation.stages:
            most = max(self.views[want.index].needed for want in stage.wants)
            totals[stage.claim_index] = totals.get(stage.claim_index, 0) + most
        return frozenset(claim for claim, total in totals.items() if total > RESULTS_MAX)
