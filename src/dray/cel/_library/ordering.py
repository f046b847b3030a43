"""`< <= > >=`, `size` and `in`: which value comes first, how many there are, and is one there.

Numbers compare by value whatever their types; everything else only with its own kind. Texts order
by code point, which is also the order of their UTF-8.

Upstream counterparts: Compare, Size and Contains of the types in cel-go common/types, and
inAggregate in common/stdlib.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from dray.cel._failures import Abort, Failure
from dray.cel._library.equality import compare_numbers, equal, find
from dray.cel._library.go_types import go_type
from dray.cel._library.table import FunctionTable, Implementation, of_lists, of_maps, of_types
from dray.cel._values import (
    LISTS,
    MAPS,
    Duration,
    MapWithDefault,
    Timestamp,
    UInt,
    Unhashable,
    Value,
)

__all__ = ["FUNCTIONS", "is_in"]

_NO_OVERLOAD: Final = "no such overload"
_NOT_A_NUMBER: Final = "NaN values cannot be ordered"
_NUMBERS: Final = frozenset({int, UInt, float})

_Relation = Callable[[Value, Value], bool]


def _ordered(relation: _Relation) -> dict[type, Implementation]:
    """What an ordering operator does, by the type of the left side."""

    def numbers(left: Value, right: Value) -> Value:
        kind = type(right)
        if kind is not float and kind is type(left):
            return relation(left, right)
        if left != left:
            raise Failure(_NOT_A_NUMBER)
        if kind not in _NUMBERS:
            raise Failure(_NO_OVERLOAD)
        order = compare_numbers(left, right)
        if order is None:
            raise Failure(_NOT_A_NUMBER)
        return relation(order, 0)

    def plain(left: Value, right: Value) -> Value:
        if type(right) is not type(left):
            raise Failure(_NO_OVERLOAD)
        return relation(left, right)

    def durations(left: Value, right: Value) -> Value:
        if type(right) is not Duration:
            raise Failure(_NO_OVERLOAD)
        return relation(left.nanoseconds, right.nanoseconds)

    def timestamps(left: Value, right: Value) -> Value:
        if type(right) is not Timestamp:
            raise Failure(_NO_OVERLOAD)
        return relation((left.seconds, left.nanoseconds), (right.seconds, right.nanoseconds))

    return {
        **of_types(_NUMBERS, numbers),
        **of_types((str, bytes, bool), plain),
        Duration: durations,
        Timestamp: timestamps,
    }


def is_in(value: Value, container: Value) -> bool:
    """Whether a list has an element equal to the value, or a map has it as a key.

    An element that cannot be compared is not equal. A key that upstream's maps cannot hash ends the
    evaluation, because upstream does not survive looking for it.
    """
    kind = type(container)
    try:
        if kind in LISTS:
            return _is_element(value, container)
        if kind is MapWithDefault:
            # What `[]` finds there by default is not in it. Its keys are texts.
            return type(value) is str and value in container
        if kind in MAPS:
            return find(container, value)[1]
    except Unhashable as error:
        name = go_type(error.value)
        raise Abort(f"internal error: runtime error: hash of unhashable type {name}") from None
    raise Failure(_NO_OVERLOAD)


def _is_element(value: Value, elements: list[Value]) -> bool:
    for element in elements:
        try:
            if equal(value, element):
                return True
        except Failure:
            continue
    return False


FUNCTIONS: Final[FunctionTable] = {
    "_<_": _ordered(operator.lt),
    "_<=_": _ordered(operator.le),
    "_>_": _ordered(operator.gt),
    "_>=_": _ordered(operator.ge),
    "size": {**of_types((str, bytes), len), **of_lists(len), **of_maps(len)},
    "@in": {object: is_in},
}
