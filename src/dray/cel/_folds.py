"""Loops: what `all`, `exists`, `map`, `filter`, `cel.bind` and their kin are once expanded.

A fold visits the elements of a list or the entries of a map and keeps an accumulator. The
accumulator is made when it is first read, in the scope around the fold, which is what makes
`cel.bind` lazy; an error is kept in it like a value, because a later element may absorb it. An
empty list or map becomes one that can be filled, so that `map` does not copy its result for
each element; `cel.bind(a, [], a + [1])` shows that it is changed in place, upstream too.

Each comprehension of an expression has slots of its own, so nothing is saved or restored.

Upstream counterpart: evalFold and folder in cel-go interpreter/interpretable.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dray.cel._attributes import Step
from dray.cel._failures import Failure
from dray.cel._frame import UNSET, Frame
from dray.cel._library.go_types import go_type
from dray.cel._stack import is_deep, on_fresh_stack
from dray.cel._values import LISTS, MAPS, MutableList, MutableMap, Value, decode_key

__all__ = ["accumulator_step", "fold_step", "quantifier_step"]

_LIST_TYPES: Final = frozenset(LISTS)
_MAP_TYPES: Final = frozenset(MAPS)
_MUTABLE: Final = frozenset({MutableList, MutableMap})


def accumulator_step(slot: int, initial: Step, *, tall: bool) -> Step:
    """Reads the accumulator, making it first if nobody has.

    Each `cel.bind` may read the one before it, so that making the last makes all. In a tree that is
    `tall` enough for that to matter, making goes on elsewhere before the stack is used up.
    """
    elsewhere = on_fresh_stack(initial)

    def read(frame: Frame) -> Value:
        value = frame.slots[slot]
        if value is UNSET:
            try:
                value = _fillable((elsewhere if tall and is_deep() else initial)(frame))
            except Failure as error:
                frame.slots[slot] = error
                raise
            frame.slots[slot] = value
        elif type(value) is Failure:
            raise value
        return value

    return read


def _fillable(value: Value) -> Value:
    kind = type(value)
    if kind in _LIST_TYPES and not value:
        return MutableList()
    if kind in _MAP_TYPES and not value:
        return MutableMap()
    return value


def fold_step(
    over: Step,
    slots: tuple[int, int | None, int],
    condition: Step,
    step: Step,
    result: Step,
) -> Step:
    """The general fold; `slots` are those of the variables and the accumulator."""
    first, second, accumulator = slots

    def fold(frame: Frame) -> Value:
        values = frame.slots
        values[accumulator] = UNSET
        ranged = over(frame)
        for one in _elements(ranged) if second is None else _entries(ranged):
            if second is None:
                values[first] = one
            else:
                values[first], values[second] = one
            try:
                if condition(frame) is False:
                    break
            except Failure:
                pass
            try:
                values[accumulator] = step(frame)
            except Failure as error:
                values[accumulator] = error
            frame.iterate()
        folded = result(frame)
        if type(folded) in _MUTABLE and folded is values[accumulator]:
            return list(folded) if type(folded) is MutableList else dict(folded)
        return folded

    return fold


def quantifier_step(
    over: Step, slots: tuple[int, int | None], predicate: Step, *, dominant: bool
) -> Step:
    """`all` and `exists`: the fold they are, with the accumulator kept at hand.

    Each round costs what reading and testing the accumulator would.
    """
    first, second = slots
    submissive = not dominant
    round_cost = (_EXISTS_COST if dominant else _ALL_COST) + 1

    def quantify(frame: Frame) -> Value:
        values = frame.slots
        ranged = over(frame)
        decided = False
        failure: Failure | None = None
        for one in _elements(ranged) if second is None else _entries(ranged):
            if decided:
                frame.cost += round_cost - 1
                break
            if second is None:
                values[first] = one
            else:
                values[first], values[second] = one
            frame.cost += round_cost
            try:
                value = predicate(frame)
                if value is dominant:
                    decided = True
                elif value is not submissive and failure is None:
                    failure = Failure("no such overload")
            except Failure as error:
                failure = failure or error
            frame.iterate()
        frame.cost += 1
        if decided:
            return dominant
        if failure is not None:
            try:
                raise failure
            finally:
                # Its traceback holds this frame: a name for it here would be a cycle.
                del failure
        return submissive

    return quantify


_ALL_COST: Final = 2
_EXISTS_COST: Final = 3
"""What it costs to see whether to go on: the accumulator is read, for `exists` negated, tested."""


def _elements(ranged: Value) -> Iterable[Value]:
    kind = type(ranged)
    if kind in _LIST_TYPES:
        # What is added to a list while it is walked is not part of the walk.
        elements: list[Value] = list(ranged) if kind is MutableList else ranged
        return elements
    if kind in _MAP_TYPES:
        return map(decode_key, ranged)
    raise Failure(f"got '{go_type(ranged)}', expected iterable type")


def _entries(ranged: Value) -> Iterable[tuple[Value, Value]]:
    kind = type(ranged)
    if kind in _LIST_TYPES:
        return enumerate(list(ranged) if kind is MutableList else ranged)
    if kind in _MAP_TYPES:
        return ((decode_key(key), value) for key, value in ranged.items())
    raise Failure(f"unsupported comprehension range type: {go_type(ranged)}")
