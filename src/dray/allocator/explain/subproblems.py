"""The same question with something left out: fewer requests, no constraints, no counters.

What makes the difference between "no" and "yes" is the reason. Subproblems are put to the search
itself, with a bound on the steps of all of them together: a reason that would take longer to find
than that is told as "no combination".
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from dray.allocator.faces import Face
from dray.allocator.requests import Stage
from dray.allocator.solver.problem import CountersLeft, Problem
from dray.allocator.solver.search import Exhausted, Found, Outcome, search

__all__ = ["ALL", "STEPS_MAX", "Rules", "Subproblems"]

STEPS_MAX: Final = 30_000
"""Of all subproblems of one report together: about a second. Most take a few steps each."""

_PLENTY: Final = 2**128
"""More than any number of devices draws from a counter, which are of 63 bits each."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Which rules are to be kept."""

    constraints: frozenset[int] | None = None  # by number; None: all
    counters: bool = True
    counters_kept: frozenset[tuple[int, int]] | None = None  # by pool and place; None: all
    groups: bool = True  # of devices that are compatible
    capacity: bool = True


ALL: Final = Rules()


class Subproblems:
    """Variations of one problem."""

    def __init__(self, problem: Problem, *, lists: bool, steps_max: int = STEPS_MAX) -> None:
        self._problem = problem
        self._lists = lists
        self._left = steps_max
        self._faces: dict[tuple[int, Rules], Face] = {}

    def outcome(self, stages: Collection[Stage], rules: Rules = ALL) -> Outcome:
        """What comes of serving these stages alone, by some of the rules."""
        problem = self._problem
        preparation = replace(problem.preparation, stages=tuple(stages))
        varied = Problem(
            preparation,
            tuple(
                replace(
                    seat,
                    face=self._face(seat.face, rules),
                    consumed=seat.consumed if rules.capacity else (),
                )
                for seat in problem.seats
            ),
            tuple(_counters(at, one, rules) for at, one in enumerate(problem.counters)),
            problem.bad_pools,
        )
        if rules.constraints is not None:
            for view in varied.views:
                view.scope = tuple(number for number in view.scope if number in rules.constraints)
                if not view.scope:
                    view.derives = 0
        came = search(varied, lists=self._lists, steps_max=max(self._left, 1))
        self._left -= came.steps
        return came

    def fits(self, stages: Collection[Stage], rules: Rules = ALL) -> bool:
        return isinstance(self.outcome(stages, rules), Found)

    def hopeless(self, stages: Collection[Stage], rules: Rules = ALL) -> bool:
        return isinstance(self.outcome(stages, rules), Exhausted)

    def core(self, stages: Collection[Stage]) -> tuple[Stage, ...]:
        """As few of the stages as cannot be served: without any of them there is a way."""
        core = list(stages)
        for stage in reversed(tuple(stages)):
            rest = [one for one in core if one is not stage]
            if rest and self.hopeless(rest):
                core = rest
        return tuple(core)

    def constraint_core(self, stages: Collection[Stage]) -> tuple[int, ...]:
        """As few of the constraints as are in the way."""
        core = list(range(len(self._problem.preparation.constraints)))
        for number in tuple(core):
            rest = [one for one in core if one != number]
            if self.hopeless(stages, Rules(constraints=frozenset(rest))):
                core = rest
        return tuple(core)

    def counter_core(
        self, stages: Collection[Stage], places: Collection[tuple[int, int]]
    ) -> tuple[tuple[int, int], ...]:
        """As few of these counters as are in the way; none if others are too."""
        core = list(places)
        if not self.hopeless(stages, Rules(counters_kept=frozenset(core))):
            return ()
        for place in tuple(core):
            rest = [one for one in core if one != place]
            if self.hopeless(stages, Rules(counters_kept=frozenset(rest))):
                core = rest
        return tuple(core)

    def _face(self, face: Face, rules: Rules) -> Face:
        if rules.counters and rules.groups and rules.capacity:
            return face
        key = (face.index, rules)
        found = self._faces.get(key)
        if found is None:
            drawn = face.counters if rules.counters else ()
            if not rules.groups:
                drawn = tuple(draw._replace(groups=frozenset()) for draw in drawn)
            draws = face.draws if rules.capacity else tuple(() for _ in face.draws)
            found = self._faces[key] = replace(face, counters=drawn, draws=draws)
        return found


def _counters(at_pool: int, pool: CountersLeft | None, rules: Rules) -> CountersLeft | None:
    if pool is None or not rules.counters:
        return None
    kept = rules.counters_kept
    if kept is not None:
        left = [one if (at_pool, at) in kept else _PLENTY for at, one in enumerate(pool.left)]
        pool = replace(pool, left=tuple(left))
    return pool if rules.groups else replace(pool, compatibility=())
