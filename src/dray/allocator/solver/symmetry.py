"""Devices and states of the search that make no difference, so that one of each is tried.

Two devices are of one kind, from some stage on, if every want that is still to be served sees the
same in them. Once a device did not lead to a solution, others of its kind will not at that place.
Two states are alike if as many devices of each kind are left and everything else that matters is
the same; a state like one that failed fails too. What no later want can see is left out of both.

Constraints compare values and never look into them, so the values of one attribute, the pivot, may
be exchanged for each other: eight groups of four devices are eight times the same group.
"""

from __future__ import annotations

from collections.abc import Hashable

from dray.allocator.faces import FAILED
from dray.allocator.requests import Stage
from dray.allocator.rules.constraints import ABSENT, UNKNOWN, Value
from dray.allocator.solver.attempt import Attempt
from dray.allocator.solver.problem import Problem, WantView, bits

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

    def kind(self, position: int, view: WantView, device: int, *, last: bool) -> Hashable:
        """What a device is, to the wants from a stage on and in the state the search is in.

        `last` says that what comes after this choice does not depend on where in the order the
        device is: then devices with different values of the pivot may be of one kind too.
        """
        rest = self._rest(position)
        kind = rest.kinds[device]
        taken = self._attempt.taken.get(device)
        if taken is not None:
            return (kind, *sorted(taken.items()))
        if rest.admin:
            held = self._attempt.chosen >> device & 1
            return (kind, held, self._attempt.chosen_for[view.want.claim_index] >> device & 1)
        group = rest.groups[device]
        if group < 0:
            return kind
        if not last:
            return (kind, group)
        return (kind, rest.group_key(group, self._attempt, rest.relevant & ~self._attempt.chosen))

    def key(self, position: int, view: WantView, ordinal: int, start: int) -> Hashable:
        """All that decides whether there is a solution from here on."""
        rest = self._rest(position)
        attempt = self._attempt
        free = rest.relevant & ~attempt.chosen
        ahead = free & view.ahead(ordinal, start)
        return (
            position,
            view.want.index,
            ordinal,
            rest.counts(attempt, free, ahead),
            self._shares(rest, ahead) if attempt.taken else (),
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

    def _shares(self, rest: _Remainder, ahead: int) -> Hashable:
        return tuple(
            sorted(
                (rest.kinds[device], ahead >> device & 1, *sorted(taken.items()))
                for device, taken in self._attempt.taken.items()
                if rest.relevant >> device & 1
            )
        )

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
        numbers = tuple(sorted({number for view in views for number in view.scope}))
        self.pools = tuple(
            sorted({problem.seats[i].pool for i in bits(self.relevant & problem.partitions)})
        )
        pivot = "" if self.admin else _pivot(problem, views, self.relevant)
        self._pivots = tuple(n for n in numbers if problem.attribute(n) == pivot)
        # Constraints of the pivot are told by the groups they have settled on.
        self.constraints = tuple(number for number in numbers if number not in self._pivots)
        kinds: dict[Hashable, int] = {}
        groups: dict[Value, int] = {}
        self.kinds = [-1] * len(problem.seats)
        self.groups = [-1] * len(problem.seats)  # by value of the pivot
        self._values: list[Value] = []
        self._plain: dict[int, int] = {}  # the devices of each kind that have no value
        self._grouped: list[dict[int, int]] = []  # and those that have one, by value
        compared = _compared(problem, views, self._pivots)
        looks: dict[Hashable, Hashable] = {}
        for device in bits(self.relevant):
            # Devices in equal seats look alike, unless it matters when their turn comes.
            turns = tuple([_turn(view, device) for view in views if view.want.all_devices])
            seat = (problem.seats[device], turns)
            look = looks.get(seat)
            if look is None:
                look = _look(problem, attempt, views, device, self._pivots, compared)
                look = looks[seat] = (look, turns)
            kind = self.kinds[device] = kinds.setdefault(look, len(kinds))
            value = _pivot_value(problem, views, device, self._pivots)
            if value is ABSENT or value is UNKNOWN:
                self._plain[kind] = self._plain.get(kind, 0) | 1 << device
                continue
            group = self.groups[device] = groups.setdefault(value, len(groups))
            if group == len(self._grouped):
                self._grouped.append({})
                self._values.append(value)
            members = self._grouped[group]
            members[kind] = members.get(kind, 0) | 1 << device
        self._grouped = [dict(sorted(members.items())) for members in self._grouped]

    def counts(self, attempt: Attempt, free: int, ahead: int) -> Hashable:
        """How many devices there are of each kind, and how many the current want may take."""
        plain = tuple(
            [
                ((free & mask).bit_count(), (ahead & mask).bit_count())
                for mask in self._plain.values()
            ]
        )
        if not self._grouped:
            return plain
        return (
            plain,
            tuple([bool(attempt.constraints[number].key()) for number in self._pivots]),
            tuple(
                sorted(
                    [
                        (self.group_key(group, attempt, free), self._counts_of(group, ahead))
                        for group in range(len(self._grouped))
                    ]
                )
            ),
        )

    def group_key(
        self, group: int, attempt: Attempt, free: int
    ) -> tuple[tuple[bool, ...], tuple[tuple[int, int], ...]]:
        """A group of devices with one value of the pivot: what is settled on it, what is left."""
        value = self._values[group]
        settled = tuple([_settled(attempt, number, value) for number in self._pivots])
        return settled, self._counts_of(group, free)

    def _counts_of(self, group: int, devices: int) -> tuple[tuple[int, int], ...]:
        return tuple(
            [(kind, (devices & mask).bit_count()) for kind, mask in self._grouped[group].items()]
        )


def _settled(attempt: Attempt, number: int, value: Value) -> bool:
    """Whether a match is for this value, or the value is taken where they must be distinct."""
    state = attempt.constraints[number].key()
    return value in state if isinstance(state, frozenset) else value == state


def _pivot(problem: Problem, views: tuple[WantView, ...], relevant: int) -> str:
    """An attribute whose values may be exchanged: each device has one, the same for all wants."""
    if relevant & problem.shareable:
        return ""
    derived = {name for view in views for name in view.want.derived_attributes}
    names = {problem.attribute(number): number for view in views for number in view.scope}
    faces = {problem.seats[device].face for device in bits(relevant)}
    for name in sorted(names.keys() - derived):
        if all(_single(face.values[names[name]][views[0].want.index]) for face in faces):
            return name
    return ""


def _single(value: Value) -> bool:
    return value is not FAILED and not (isinstance(value, frozenset) and len(value) > 1)


def _pivot_value(
    problem: Problem, views: tuple[WantView, ...], device: int, pivots: tuple[int, ...]
) -> Value:
    if not pivots:
        return ABSENT
    value = problem.value(pivots[0], views[0].want, device)
    if isinstance(value, frozenset):
        (value,) = value
    return value


def _compared(
    problem: Problem, views: tuple[WantView, ...], pivots: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    """The values that constraints compare, each once: a constraint, and a want that it looks at.

    What devices publish is the same for every want and every constraint on the attribute.
    """
    found: dict[Hashable, tuple[int, int]] = {}
    for view in views:
        want = view.want
        for number in view.scope:
            if number not in pivots:
                asking = want.index if want.derived_attributes else -1
                found.setdefault((problem.attribute(number), asking), (number, want.index))
    return tuple(found.values())


def _turn(view: WantView, device: int) -> int:
    """Whether a device is one of all; and when, if one that comes before may end everything."""
    if device not in view.everything:
        return -1
    return view.everything.index(device) if view.raising else 0


def _look(
    problem: Problem,
    attempt: Attempt,
    views: tuple[WantView, ...],
    device: int,
    pivots: tuple[int, ...],
    compared: tuple[tuple[int, int], ...],
) -> Hashable:
    seat = problem.seats[device]
    face = seat.face
    sets = tuple([draw.counter_set for draw in face.counters])
    return (
        tuple([view.candidates >> device & 1 for view in views]),
        tuple([view.raises >> device & 1 for view in views]),
        tuple([view.viable >> device & 1 for view in views]),
        tuple([face.values[number][want] for number, want in compared]),
        # Values that cannot be exchanged stay part of what the device is.
        pivots and _pivot_value(problem, views, device, pivots) in (ABSENT, UNKNOWN),
        pivots and _pivot_value(problem, views, device, pivots) is UNKNOWN,
        seat.allocated,
        (seat.pool, attempt.draws[device], tuple([d.groups for d in face.counters]), sets)
        if face.counters
        else None,
        (seat.shared, seat.consumed, tuple([face.draws[view.want.index] for view in views]))
        if face.shareable
        else None,
    )
