"""Devices and states of the search that make no difference, so that one of each is tried.

Two devices are of one kind, from some stage on, if every want that is still to be served sees the
same in them. Once a device did not lead to a solution, others of its kind will not at that place.
Two states are alike if as many devices of each kind are left and everything else that matters is
the same; a state like one that failed fails too. What no later want can see is left out of both.
"""

from __future__ import annotations

from collections.abc import Hashable

from dray.allocator.attempt import Attempt
from dray.allocator.problem import Problem, WantView, bits
from dray.allocator.requests import Stage

__all__ = ["Symmetry"]


class Symmetry:
    """Kinds of devices and failed states of one search."""

    def __init__(self, problem: Problem, attempt: Attempt, stages: tuple[Stage, ...]) -> None:
        self._problem = problem
        self._attempt = attempt
        self._views = tuple(
            tuple(problem.views[want.index] for want in stage.wants) for stage in stages
        )
        self._from: list[_Remainder | None] = [None] * len(stages)
        self._failed: set[Hashable] = set()

    def kind(self, position: int, view: WantView, device: int) -> Hashable:
        """What a device is, to the wants from a stage on and in the state the search is in."""
        rest = self._rest(position)
        kind = rest.kinds[device]
        taken = self._attempt.taken.get(device)
        if taken is not None:
            return (kind, *sorted(taken.items()))
        if rest.admin:
            held = self._attempt.chosen >> device & 1
            return (kind, held, self._attempt.chosen_for[view.want.claim_index] >> device & 1)
        return kind

    def key(self, position: int, view: WantView, ordinal: int, start: int) -> Hashable:
        """All that decides whether there is a solution from here on."""
        rest = self._rest(position)
        attempt = self._attempt
        ahead = -(1 << start)
        free = rest.relevant & ~attempt.chosen
        mine = view.candidates & ahead
        counts = tuple(
            [((free & mask).bit_count(), (free & mask & mine).bit_count()) for mask in rest.masks]
        )
        shares = (
            tuple(
                sorted(
                    (rest.kinds[device], device >= start, *sorted(taken.items()))
                    for device, taken in attempt.taken.items()
                    if rest.relevant >> device & 1
                )
            )
            if attempt.taken
            else ()
        )
        return (
            position,
            view.want.index,
            ordinal,
            counts,
            shares,
            tuple([tuple(attempt.left[pool]) for pool in rest.pools]),
            tuple(sorted(attempt.compatibility.items(), key=_name)) if rest.pools else (),
            attempt.key(rest.constraints),
            attempt.results[view.want.claim_index] if self._problem.may_exceed else 0,
            (
                rest.relevant & attempt.chosen,
                rest.relevant & attempt.chosen_for[view.want.claim_index],
                start,
            )
            if rest.admin
            else (),
        )

    def failed_before(self, key: Hashable) -> bool:
        return key in self._failed

    def remember(self, key: Hashable) -> None:
        """There is no solution from a state like this. Bounded by the steps of the search."""
        self._failed.add(key)

    def _rest(self, position: int) -> _Remainder:
        rest = self._from[position]
        if rest is None:
            views = tuple(view for views in self._views[position:] for view in views)
            rest = self._from[position] = _Remainder(self._problem, self._attempt, views)
        return rest


def _name(item: tuple[tuple[int, str], object]) -> tuple[int, str]:
    return item[0]


class _Remainder:
    """What the wants from some stage on can see."""

    def __init__(self, problem: Problem, attempt: Attempt, views: tuple[WantView, ...]) -> None:
        self.relevant = 0
        for view in views:
            self.relevant |= view.candidates | view.raises
        self.admin = any(view.want.admin_access for view in views)
        self.constraints = tuple(sorted({number for view in views for number in view.scope}))
        self.pools = tuple(
            sorted({problem.seats[i].pool for i in bits(self.relevant & problem.partitions)})
        )
        numbers: dict[Hashable, int] = {}
        self.kinds = [-1] * len(problem.seats)
        masks: list[int] = []
        for device in bits(self.relevant):
            look = _look(problem, attempt, views, device)
            number = numbers.setdefault(look, len(numbers))
            if number == len(masks):
                masks.append(0)
            masks[number] |= 1 << device
            self.kinds[device] = number
        self.masks = tuple(masks)


def _turn(view: WantView, device: int) -> int:
    """Whether a device is one of all; and when, if one that comes before may end everything."""
    if device not in view.everything:
        return -1
    return view.everything.index(device) if view.raising else 0


def _look(problem: Problem, attempt: Attempt, views: tuple[WantView, ...], device: int) -> Hashable:
    seat = problem.seats[device]
    face = seat.face
    return (
        tuple([view.candidates >> device & 1 for view in views]),
        tuple([view.raises >> device & 1 for view in views]),
        tuple([view.viable >> device & 1 for view in views]),
        tuple([_turn(view, device) for view in views if view.want.all_devices]),
        tuple([face.values[number][view.want.index] for view in views for number in view.scope]),
        seat.allocated,
        (seat.pool, attempt.draws[device], tuple([d[::2] for d in face.counters]))
        if face.counters
        else None,
        (seat.charged, seat.consumed, tuple([face.draws[view.want.index] for view in views]))
        if face.shareable
        else None,
    )
