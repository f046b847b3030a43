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

from dray.cel._attributes import Step, go_type
from dray.cel._failures import Failure
from dray.cel._frame import UNSET, Frame
from dray.cel._values import LISTS, MAPS, MutableList, MutableMap, Value, decode_key

__all__ = ["accumulator_step", "fold_step"]

_LIST_TYPES: Final = frozenset(LISTS)
_MAP_TYPES: Final = frozenset(MAPS)
_MUTABLE: Final = frozenset({MutableList, MutableMap})


def accumulator_step(slot: int, initial: Step) -> Step:
    """Reads the accumulator, making it first if nobody has."""

    def read(frame: Frame) -> Value:
        value = frame.slots[slot]
        if value is UNSET:
            try:
                value = _fillable(initial(frame))
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
    first, second, accumulator = slots

    def fold(frame: Frame) -> Value:
        values = frame.slots
        values[accumulator] = UNSET
        ranged = over(frame)
        for one, other in _entries(ranged) if second is not None else _elements(ranged):
            values[first] = one
            if second is not None:
                values[second] = other
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


def _elements(ranged: Value) -> Iterable[tuple[Value, Value]]:
    kind = type(ranged)
    if kind in _LIST_TYPES:
        return ((element, None) for element in ranged)
    if kind in _MAP_TYPES:
        return ((decode_key(key), None) for key in ranged)
    raise Failure(f"got '{go_type(ranged)}', expected iterable type")


def _entries(ranged: Value) -> Iterable[tuple[Value, Value]]:
    kind = type(ranged)
    if kind in _LIST_TYPES:
        return enumerate(ranged)
    if kind in _MAP_TYPES:
        return ((decode_key(key), value) for key, value in ranged.items())
    raise Failure(f"unsupported comprehension range type: {go_type(ranged)}")
