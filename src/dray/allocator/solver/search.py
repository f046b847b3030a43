"""The first solution in upstream's order, without upstream's exhaustive search.

Upstream tries claims, requests, alternatives and devices in a fixed order, depth first, and takes
the first combination that works. So does this search; what it leaves out are branches that hold
no solution, and those it recognises by the devices left, by branches like it that failed before,
and by requests that have nothing to do with each other. Errors are solutions of a kind: where
upstream would stop with one, that place must be found too, so a branch is left out only if it
cannot contain one. docs/designs/allocator.md says why each of this is sound.

No recursion: claims are many and Python's stack is small. Steps are counted and bounded.

Upstream counterpart: allocateOne.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from dray.allocator.faces import FAILED, Refusal
from dray.allocator.preparation import RESULTS_MAX
from dray.allocator.requests import Stage, Want
from dray.allocator.rules.constraints import UNKNOWN, constraint_of
from dray.allocator.solver.attempt import Attempt, Commitment, Fault, Stop
from dray.allocator.solver.bounds import Bounds
from dray.allocator.solver.components import components, parts
from dray.allocator.solver.problem import BadPool, Problem, WantView
from dray.allocator.solver.symmetry import Symmetry
from dray.allocator.solver.twins import twins
from dray.errors import AllocationError

__all__ = ["STEPS_MAX", "Exhausted", "Failed", "Found", "Outcome", "Undecided", "search"]

# A step is a device, a request or an alternative looked at. Requests that anybody would write need
# fewer than a hundred. So many take seconds, and with many devices and constraints more than ten,
# which is what upstream allows itself.
STEPS_MAX: Final = 50_000

# From so many on it may be worth to look whether some requests alone cannot be served, and how far.
DEAD_ENDS_BEFORE_PARTS: Final = 12
STEPS_PER_PART_MAX: Final = 1_000

# So many steps of the plain walk take as long as one that looks for reasons to fail.
PLAIN_STEPS_PER_STEP: Final = 20

# Until so many branches have failed, looking for reasons to fail earlier is not worth it.
DEAD_ENDS_BEFORE_PRUNING: Final = 3


@dataclass(frozen=True, slots=True)
class Found:
    """The devices chosen, in order: pairs of want and device, by number."""

    choices: tuple[tuple[int, int], ...]
    wants: tuple[int, ...]  # of each stage, the want that was served
    steps: int


@dataclass(frozen=True, slots=True)
class Exhausted:
    """There is no solution."""

    steps: int


@dataclass(frozen=True, slots=True)
class Undecided:
    """Too many steps."""

    steps: int


@dataclass(frozen=True, slots=True)
class Failed:
    """Upstream stops here with an error."""

    stop: Stop
    steps: int


Outcome: TypeAlias = Found | Exhausted | Undecided | Failed


def search(problem: Problem, *, lists: bool, steps_max: int = STEPS_MAX) -> Outcome:
    """The first solution, or what there is instead."""
    try:
        _settle(problem, lists=lists)
    except Stop as stop:
        return Failed(stop, 0)
    plain = _must_be_plain(problem)
    apart = components(problem) if not plain else [problem.preparation.stages]
    searches = [_Search(problem, stages, lists=lists, plain=plain) for stages in apart]
    if any(one.hopeless() for one in searches):
        return Exhausted(0)
    choices: list[tuple[int, int]] = []
    wants: dict[tuple[int, int], int] = {}
    steps = 0
    for one in searches:
        one.steps_max = steps_max - steps
        try:
            found = one.run()
        except Stop as stop:
            return Failed(stop, steps + one.steps)
        except _TooManySteps:
            return Undecided(steps + one.steps)
        steps += one.steps
        if not found:
            return Exhausted(steps)
        choices += one.choices()
        wants.update(one.served())
    # Devices are told in the order of wants, however the search was split.
    choices.sort(key=lambda choice: choice[0])
    served = tuple(
        wants[stage.claim_index, stage.request_index] for stage in problem.preparation.stages
    )
    return Found(tuple(choices), served, steps)


def _settle(problem: Problem, *, lists: bool) -> None:
    """Find out what "all devices" are, and check the claims; raises Stop."""

    def needed(want: Want) -> int:
        view = problem.views[want.index]
        if want.all_devices:
            everything = problem.everything(want)
            if isinstance(everything, BadPool):
                raise Stop(Fault.POOL, want=want.index, where=everything.place)
            if isinstance(everything, int):
                raise _stop(problem, want, everything)
            view.everything = everything
            view.needed = len(everything)
            view.must = _may_be_refused(problem, view, lists=lists)
        return view.needed

    try:
        problem.preparation.check(needed)
    except AllocationError as error:
        raise Stop(Fault.MESSAGE, message=str(error)) from None


def _stop(problem: Problem, want: Want, device: int) -> Stop:
    """What looking at a device ends in."""
    seat = problem.seats[device]
    selectable = seat.face.fits[want.index].refusal is not Refusal.SELECTOR_FAILS
    fault = Fault.SELECTION if seat.unreadable and selectable else Fault.FIT
    return Stop(fault, want=want.index, where=device)


def _may_be_refused(problem: Problem, view: WantView, *, lists: bool) -> bool:
    """Whether a constraint could refuse one of all devices, which is an error."""
    earlier = problem.views[: view.want.index]
    for number in view.scope:
        if any(number in other.scope for other in earlier):
            return True
        if any(problem.value(number, view.want, i) is FAILED for i in view.everything):
            return True
        state = constraint_of(problem.constraint(number), lists=lists)
        if not all(state.add(problem.value(number, view.want, i)) for i in view.everything):
            return True
    return False


def _must_be_plain(problem: Problem) -> bool:
    """Whether nothing may be left out.

    A claim that may ask for too many devices makes upstream give up branches of it that hold no
    solution, but may hold errors. Which ones is only known by going its way.
    """
    if any(view.raising and view.want.claim_index in problem.exceeding for view in problem.views):
        return True
    # The order of devices matters to a constraint for distinct values that cannot be compared.
    faces = {seat.face for seat in problem.seats}
    if any(
        constraint.match_attribute is None and any(UNKNOWN in face.values[number] for face in faces)
        for number, (_, constraint) in enumerate(problem.preparation.constraints)
    ):
        return True
    # Counters that grow when a device is taken are a driver's mistake, and void every bound.
    return any(amount < 0 for face in faces for draw in face.counters for _, amount in draw.amounts)


class _TooManySteps(Exception):
    pass


class _Difficult(Exception):
    """The first ways were dead ends: time to think before walking on."""


class _Hopeless(Exception):
    """It turned out that there is no solution at all."""


class _Result(Enum):
    NO = 0
    LIMIT = 1  # more devices than a claim may have
    FOUND = 2
    DEEPER = 3  # a frame was pushed


@dataclass(slots=True)
class _Frame:
    """A choice that can be made differently: of an alternative or of a device."""

    position: int  # of the stage
    view: WantView | None  # None: the choice of an alternative
    ordinal: int = 0  # which of the devices of the want
    cursor: int = 0  # where to go on: the next alternative, or the next device
    device: int = -1
    commitment: Commitment | None = None
    exceeded: bool = True  # whether all alternatives so far had too many devices
    failed: set[Hashable] | None = None  # kinds of devices that did not work here
    key: Hashable = None


class _Search:
    """Depth first over some of the stages."""

    def __init__(
        self, problem: Problem, stages: tuple[Stage, ...], *, lists: bool, plain: bool
    ) -> None:
        self.steps = 0
        self.steps_max = STEPS_MAX
        self._problem = problem
        self._stages = stages
        self._frames: list[_Frame] = []
        self._plain = plain
        self._lists = lists
        self._parts_tried = False
        self._dead_ends = 0
        self._limited_claim = -1
        self._symmetry: Symmetry | None = None
        self._twins = (
            *(twins(problem, stages) if not plain else [False] * len(stages)),
            False,
        )
        self._begin()

    def hopeless(self) -> bool:
        """Whether there is nothing to search: some request cannot be served at all."""
        return not self._plain and self._bounds.hopeless(0)

    def run(self) -> bool:
        try:
            return self._walk()
        except _Difficult:
            # From the top again: what is found out now would have spared most of the way here.
            self._begin()
            self._symmetry = Symmetry(self._problem, self._attempt, self._stages)
            if self._bounds.hopeless_together(0):
                return False
        try:
            return self._walk()
        except _Hopeless:
            return False

    def _begin(self) -> None:
        self._frames = []
        self._attempt = Attempt(self._problem, lists=self._lists)
        self._bounds = Bounds(self._problem, self._attempt, self._stages)

    def _walk(self) -> bool:
        result = self._enter_stage(0)
        while True:
            if result is _Result.FOUND:
                return True
            if result is _Result.DEEPER:
                result = self._advance(self._frames[-1])
                continue
            if not self._frames:
                return False
            frame = self._frames[-1]
            if (
                result is _Result.LIMIT
                and self._stages[frame.position].claim_index != self._limited_claim
            ):
                # Another choice here may leave the later claim an alternative with fewer devices.
                result = _Result.NO
            result = self._resume(frame, result)

    def choices(self) -> list[tuple[int, int]]:
        return [
            (frame.view.want.index, frame.device)
            for frame in self._frames
            if frame.view is not None
        ]

    def served(self) -> dict[tuple[int, int], int]:
        """The want that was served, by claim and request."""
        served = {
            (stage.claim_index, stage.request_index): stage.wants[0].index for stage in self._stages
        }
        for frame in self._frames:
            if frame.view is None:
                stage = self._stages[frame.position]
                served[stage.claim_index, stage.request_index] = stage.wants[frame.cursor].index
        return served

    # Going down --------------------------------------------------------------------------------

    def _enter_stage(self, position: int) -> _Result:
        self._count()
        if position == len(self._stages):
            return _Result.FOUND
        stage = self._stages[position]
        if stage.prioritized:
            self._frames.append(_Frame(position, None, cursor=-1))
            return _Result.DEEPER
        start = 0
        if self._twins[position]:
            before = self._frames[-1].device
            start = before if self._problem.shareable >> before & 1 else before + 1
        return self._enter_want(position, self._problem.views[stage.wants[0].index], 0, start)

    def _enter_want(self, position: int, view: WantView, ordinal: int, start: int) -> _Result:
        self._count()
        if view.want.all_devices and not view.everything:
            return _Result.NO
        remaining = view.needed - ordinal
        if remaining <= 0:
            return self._enter_stage(position + 1)
        if remaining > RESULTS_MAX - self._attempt.results[view.want.claim_index]:
            self._limited_claim = view.want.claim_index
            return _Result.LIMIT
        frame = _Frame(position, view, ordinal, start)
        if self._symmetry is not None:
            if self._dead_ends >= DEAD_ENDS_BEFORE_PARTS and not self._parts_tried:
                self._try_parts()
            frame.key = self._symmetry.key(position, view, ordinal, start)
            if self._symmetry.failed_before(frame.key):
                return _Result.NO
            if self._bounds.hopeless_after(position, view, ordinal, start):
                return self._dead_end(frame)
        elif not self._plain:
            if self._dead_ends >= DEAD_ENDS_BEFORE_PRUNING:
                raise _Difficult
            if self._bounds.short(view, ordinal, start):
                self._dead_ends += 1
                return _Result.NO
        self._frames.append(frame)
        return _Result.DEEPER

    def _try_parts(self) -> None:
        """Solve some requests without the others: if not even that works, nothing will."""
        self._parts_tried = True
        for stages in parts(self._problem, self._stages[: self._bounds.safe]):
            part = _Search(self._problem, stages, lists=self._lists, plain=False)
            part.steps_max = min(STEPS_PER_PART_MAX, self.steps_max - self.steps)
            try:
                solved = part.run()
            except _TooManySteps:
                solved = True
            self.steps += part.steps
            if not solved:
                raise _Hopeless

    def _count(self) -> None:
        self.steps += 1
        # Walking without thinking costs so little that it may go on for longer.
        steps = self.steps // PLAIN_STEPS_PER_STEP if self._plain else self.steps
        if steps > self.steps_max:
            raise _TooManySteps

    # Trying one choice after the other ---------------------------------------------------------

    def _resume(self, frame: _Frame, result: _Result) -> _Result:
        """Go on after a choice of this frame did not work out."""
        if frame.view is None:
            if result is _Result.NO:
                frame.exceeded = False
            return self._advance(frame)
        assert frame.commitment is not None
        self._attempt.undo(frame.view, frame.device, frame.commitment)
        frame.commitment = None
        if result is _Result.LIMIT:
            self._frames.pop()
            return result
        if frame.view.want.all_devices:
            # All devices are one choice: there is no other order to try.
            self._frames.pop()
            return self._dead_end(frame)
        if self._symmetry is not None:
            if frame.failed is None:
                frame.failed = set()
            frame.failed.add(self._kind(frame, frame.device))
        return self._advance(frame)

    def _advance(self, frame: _Frame) -> _Result:
        if frame.view is None:
            return self._next_alternative(frame)
        if frame.view.want.all_devices:
            device = frame.view.everything[frame.ordinal]
            if not self._take(frame, device):
                self._frames.pop()
                return self._dead_end(frame)
            return self._enter_want(frame.position, frame.view, frame.ordinal + 1, 0)
        return self._next_device(frame)

    def _next_alternative(self, frame: _Frame) -> _Result:
        wants = self._stages[frame.position].wants
        frame.cursor += 1
        if frame.cursor == len(wants):
            self._frames.pop()
            if frame.exceeded:
                self._limited_claim = wants[0].claim_index
                return _Result.LIMIT
            return _Result.NO
        view = self._problem.views[wants[frame.cursor].index]
        return self._enter_want(frame.position, view, 0, 0)

    def _next_device(self, frame: _Frame) -> _Result:
        view = frame.view
        assert view is not None
        blocked = self._attempt.blocked(view)
        open_ = (view.candidates | view.raises) & ~blocked & -(1 << frame.cursor)
        while open_:
            lowest = open_ & -open_
            device = lowest.bit_length() - 1
            open_ ^= lowest
            if lowest & view.raises:
                raise _stop(self._problem, view.want, device)
            if frame.failed and self._kind(frame, device) in frame.failed:
                continue
            if self._take(frame, device):
                frame.cursor = device + 1
                return self._enter_want(frame.position, view, frame.ordinal + 1, device + 1)
        self._frames.pop()
        return self._dead_end(frame)

    def _kind(self, frame: _Frame, device: int) -> Hashable:
        assert frame.view is not None
        assert self._symmetry is not None
        after = frame.position + 1
        last = frame.ordinal + 1 == frame.view.needed and not self._twins[after]
        return self._symmetry.kind(frame.position, frame.view, device, last=last)

    def _take(self, frame: _Frame, device: int) -> bool:
        assert frame.view is not None
        commitment = self._attempt.commit(frame.view, device)
        if commitment is None:
            return False
        frame.device, frame.commitment = device, commitment
        return True

    def _dead_end(self, frame: _Frame) -> _Result:
        self._dead_ends += 1
        if self._symmetry is not None and frame.key is not None:
            self._symmetry.remember(frame.key)
        return _Result.NO
