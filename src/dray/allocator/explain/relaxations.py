"""The smallest changes that would make claims fit on a node, each of them tried.

Suggestions are guesses; here they are put to the allocator itself, on claims, classes and an
occupancy that are changed accordingly. What is handed back was found to fit, except for what only
a driver can do, which is marked. Two changes at once are tried only where no single one helps.

Work is bounded by the number of trials and the steps of each: of an answer this is the part that
is asked for by a person who waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Final

from dray.allocator.allocator import Allocator
from dray.allocator.answers import Allocation
from dray.allocator.explain.bundles import covers, fewest, joined, merged, parts_of, worse
from dray.allocator.explain.changes import Change, ChangeKind, Place, Relaxation, Situation
from dray.allocator.explain.cores import Core
from dray.allocator.explain.obstacles import Inspector
from dray.allocator.explain.suggestions import (
    Suggestions,
    change_of,
    free,
    name_of,
    place_of,
)
from dray.allocator.requests import Stage, Want
from dray.allocator.solver.problem import WantView
from dray.allocator.solver.search import Exhausted, Undecided
from dray.api.core import Node
from dray.api.resource import ResourceClaim
from dray.errors import AllocationError

__all__ = ["Change", "ChangeKind", "Relaxation", "relaxations"]

TRIALS_MAX: Final = 240
"""Of one node. A trial takes about a millisecond where a node has ten devices."""

CONFIRMING_MAX: Final = 480
"""Trials to see that nothing of what fits can be spared; most changes need two or three, but of
claims that share a device hundreds may have to go, which takes about three times as many."""

STEPS_MAX: Final = 2_000
"""Of one trial. What fits is mostly found within a hundred steps."""

STEPS_ALTOGETHER_MAX: Final = 20_000
"""Of all trials of a node: about a second. Only claims that are hard to refuse get there."""

PAIRED_MAX: Final = 12
"""Changes that are tried two at a time: that makes 66 pairs."""

UNITS_MAX: Final = 24
"""Claims that are tried one by one to go; there may be hundreds that hold something of a pool."""

FREED_SHOWN_MAX: Final = 3
"""Claims told of which any single one would do."""

UNITS_PAIRED_MAX: Final = 8
"""Claims that are tried two at a time to go: that makes 28 pairs."""

PAIRS_SHOWN_MAX: Final = 3
"""Of those that help. Whoever has to change two things is helped by one way to do it."""


def relaxations(
    allocator: Allocator,
    node: Node,
    claims: Sequence[ResourceClaim],
    *,
    refused: bool = False,
) -> tuple[Relaxation, ...]:
    """What could be changed so that the claims fit on the node, the smallest changes first.

    Nothing for claims that fit, and for claims that cannot be judged. Whoever has an Unsatisfiable
    already says `refused`, and that is not found out again.
    """
    try:
        plan = allocator.plan(claims)
        layout = plan.layout(node)
    except AllocationError:
        return ()
    if not refused and not isinstance(plan.solve(layout), Exhausted | Undecided):
        return ()
    inspector = Inspector(
        layout, plan.preparation, plan.faces, allocator.selectors, allocator.features
    )
    trials = _Trials(allocator, node, claims)
    found = _Relaxing(inspector, trials, allocator).run()
    return tuple(sorted(found, key=lambda one: one.rank))


class _Trials:
    """Asks the allocator again, after changes."""

    def __init__(self, allocator: Allocator, node: Node, claims: Sequence[ResourceClaim]) -> None:
        self._allocator = allocator
        self._node = node
        self._situation = Situation(tuple(claims), allocator.classes)
        self._pools = allocator.inventory.gather(node)
        self._left = TRIALS_MAX
        self._confirming = CONFIRMING_MAX
        self._steps_left = STEPS_ALTOGETHER_MAX

    def fits(self, *changes: Change) -> bool:
        """Whether the search finds devices. No more trials: no."""
        if self._left <= 0:
            return False
        self._left -= 1
        return self._fits(changes)

    def confirms(self, *changes: Change) -> bool:
        """The same for less than what fits; what was found is not lost for want of trials."""
        if self._confirming <= 0:
            return False
        self._confirming -= 1
        return self._fits(changes)

    @property
    def spent(self) -> bool:
        """Whether an answer of no may be for want of trials."""
        return self._left <= 0 or self._confirming <= 0 or self._steps_left <= 0

    def _fits(self, changes: Sequence[Change]) -> bool:
        if self._steps_left <= 0:
            return False
        allocator = self._allocator
        situation = self._situation.changed(changes)
        changed = Allocator(
            allocator.inventory,
            situation.occupancy(allocator.occupancy, self._pools)
            if situation.gone
            else allocator.occupancy,
            situation.classes,
            share_id=str,  # nobody will have these shares
            steps_max=min(STEPS_MAX, self._steps_left),
        )
        changed.selectors = allocator.selectors  # expressions are compiled once
        try:
            answer = changed.allocate(self._node, situation.claims)
        except AllocationError:
            return False
        self._steps_left -= answer.steps
        return isinstance(answer, Allocation)


class _Relaxing:
    """One round of trials."""

    def __init__(self, inspector: Inspector, trials: _Trials, allocator: Allocator) -> None:
        self._inspector = inspector
        self._trials = trials
        self._selectors = allocator.selectors
        self._suggestions = Suggestions(inspector, allocator.selectors)
        self._prioritized = allocator.features.prioritized_list
        self._stages = inspector.problem.preparation.stages

    def run(self) -> list[Relaxation]:
        found: list[tuple[Change, ...]] = []
        for change in self._singles():
            # Of claims to free there are as few as have to go already.
            once = change.kind is ChangeKind.FREE
            _keep_best(found, (change,) if once else self._least((change,)))
        if not found:
            for pair in self._pairs():
                _keep_best(found, self._least(pair))
                if len(found) == PAIRS_SHOWN_MAX:
                    break
        return [Relaxation(changes) for changes in found] + [
            Relaxation((change,), checked=False) for change in self._suggestions.pools()
        ]

    def _least(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """Changes that fit without what can be spared of them."""
        parts = [part for change in changes for part in parts_of(change, self._wants)]
        if len(parts) > 1:
            parts = fewest(parts, lambda some: self._trials.confirms(*some))
        for at, part in enumerate(parts):
            if part.kind in (ChangeKind.SELECTOR, ChangeKind.CLASS_SELECTOR):
                for narrow in self._suggestions.narrower(self._wants[part.places[0]], part):
                    if self._trials.confirms(*parts[:at], narrow, *parts[at + 1 :]):
                        parts[at] = narrow
                        break
        return joined(parts, self._wants)

    @cached_property
    def _wants(self) -> dict[Place, Want]:
        return {place_of(want): want for stage in self._stages for want in stage.wants}

    # One change --------------------------------------------------------------------------------

    def _singles(self) -> Iterator[Change]:
        helpful: list[Change] = []
        for view in self._open_views:
            for change in self._of_want(view):
                if change.kind is not ChangeKind.CLASS_SELECTOR:
                    self._try(change, helpful)
        for change in (*self._suggestions.constraints(), *self._merged, *self._of_classes):
            self._try(change, helpful)
        yield from helpful
        yield from self._lowered()
        yield from self._fewer()
        yield from self._freed()

    def _try(self, change: Change, helpful: list[Change]) -> None:
        if not any(covers(other, change) for other in helpful) and self._trials.fits(change):
            helpful.append(change)

    @cached_property
    def _open_views(self) -> list[WantView]:
        """The wants whose change alone may be enough: others are stuck without it or not."""
        core = Core(self._inspector, self._stages)
        stuck = [
            stage
            for stage in self._stages
            if all(self._short(core, v) for v in core.servable(stage))
        ]
        if len(stuck) > 1:
            return []
        return [view for stage in stuck or self._stages for view in self._views(stage)]

    @staticmethod
    def _short(core: Core, view: WantView) -> bool:
        least = 1 if view.want.all_devices else 0
        return core.free(view).bit_count() < max(view.needed, least)

    def _views(self, stage: Stage) -> list[WantView]:
        return [self._inspector.problem.views[want.index] for want in stage.wants]

    @cached_property
    def _suggested(self) -> dict[int, tuple[Change, ...]]:
        return {
            view.want.index: tuple(self._suggestions.of(view))
            for view in self._inspector.problem.views
        }

    def _of_want(self, view: WantView) -> tuple[Change, ...]:
        return self._suggested[view.want.index]

    @cached_property
    def _of_classes(self) -> list[Change]:
        each = [change for changes in self._suggested.values() for change in changes]
        return [change for change in _once(each) if change.kind is ChangeKind.CLASS_SELECTOR]

    @cached_property
    def _merged(self) -> tuple[Change, ...]:
        return merged(change for changes in self._suggested.values() for change in changes)

    def _lowered(self) -> Iterator[Change]:
        """The most of each capacity that can be had for each request alone."""
        for view in self._open_views:
            for amounts in self._suggestions.amounts(view).values():
                # Where an amount fits, smaller ones do: it takes a few trials to find the largest.
                low, high = 0, len(amounts)
                while low < high:
                    middle = (low + high) // 2
                    if self._trials.fits(amounts[middle]):
                        high = middle
                    else:
                        low = middle + 1
                yield from amounts[low : low + 1]

    def _fewer(self) -> Iterator[Change]:
        """The most devices that can be had for each request alone."""
        for view in self._open_views:
            want = view.want
            low, high, best = 1, view.needed - 1, None
            while low <= high:
                middle = (low + high) // 2
                change = self._counted(view, middle)
                if self._trials.fits(change):
                    low, best = middle + 1, change
                else:
                    high = middle - 1
            if best is None:
                continue
            yield best
            if self._prioritized and want.alternative is None and not want.admin_access:
                text = (
                    f"accept {best.count} in {name_of(want)} where there are not {_wanted(view)} "
                    f"(firstAvailable)"
                )
                change = replace(best, kind=ChangeKind.ALTERNATIVE, text=text)
                if self._trials.fits(change):
                    yield change

    @staticmethod
    def _counted(view: WantView, count: int) -> Change:
        text = f"ask for {count} instead of {_wanted(view)} in {name_of(view.want)}"
        weight = view.needed - count
        return replace(change_of(view.want, ChangeKind.COUNT, text), count=count, weight=weight)

    # Devices in use ----------------------------------------------------------------------------

    def _freed(self) -> Iterator[Change]:
        """The fewest claims that have to go."""
        units = self._suggestions.units()
        if not units or not self._trials.fits(free(units)):
            return
        single = [unit for unit in units[:UNITS_MAX] if self._trials.fits(free([unit]))]
        if single:
            yield from (free([unit]) for unit in single[:FREED_SHOWN_MAX])
            return
        for pair in combinations(units[:UNITS_PAIRED_MAX], 2):
            if self._trials.fits(free(pair)):
                yield free(pair)
                return
        going = fewest(units[::-1], lambda some: self._trials.confirms(free(some)))
        change = free(going[::-1])
        yield replace(change, text=f"{change.text}; fewer may do") if self._trials.spent else change

    # Two changes -------------------------------------------------------------------------------

    def _pairs(self) -> Iterator[tuple[Change, Change]]:
        hidden = Suggestions(self._inspector, self._selectors, hidden=True)
        each = [
            change
            for view in self._inspector.problem.views
            for change in (*hidden.of(view), *hidden.shares(view))
        ]
        units = hidden.units()
        singles = [
            *merged(each),
            *self._suggestions.constraints(),
            *_once(each),
            *((free(units),) if units else ()),
        ]
        for one, other in combinations(_various(singles), 2):
            if _independent(one, other) and self._trials.fits(one, other):
                yield one, other


def _once(changes: Iterable[Change]) -> list[Change]:
    """The changes without those of a class that another request has led to already."""
    seen = set()
    kept = []
    for change in changes:
        if change.kind is ChangeKind.CLASS_SELECTOR:
            key = (change.device_class, change.selector, change.expression)
            if key in seen:
                continue
            seen.add(key)
        kept.append(change)
    return kept


def _wanted(view: WantView) -> str:
    return f"all {view.needed}" if view.want.all_devices else str(view.needed)


def _independent(one: Change, other: Change) -> bool:
    """Whether two changes do not undo each other."""
    if one.kind is not other.kind:
        return True
    if one.kind is ChangeKind.SELECTOR:
        return one.selector != other.selector or {*one.places}.isdisjoint(other.places)
    if one.kind is ChangeKind.CLASS_SELECTOR:
        return (one.device_class, one.selector) != (other.device_class, other.selector)
    if one.kind is ChangeKind.CAPACITY:
        return one.capacity != other.capacity or one.places != other.places
    return True


def _keep_best(found: list[tuple[Change, ...]], changes: tuple[Change, ...]) -> None:
    """Add changes, unless they are worse than others, which go where they are worse."""
    if not any(worse(changes, others) for others in found):
        found[:] = [others for others in found if not worse(others, changes)]
        found.append(changes)


def _various(changes: Iterable[Change]) -> list[Change]:
    """A few changes, of as many kinds as there are."""
    by_kind: dict[ChangeKind, list[Change]] = {}
    for change in changes:
        by_kind.setdefault(change.kind, []).append(change)
    chosen: list[Change] = []
    while len(chosen) < PAIRED_MAX and any(by_kind.values()):
        for waiting in by_kind.values():
            if waiting and len(chosen) < PAIRED_MAX:
                chosen.append(waiting.pop(0))
    return chosen
