"""`==` between any two values, as upstream has it.

Values of different types are not equal, except that numbers compare by value. The types that
Kubernetes adds answer with a Failure when the other side is something else. Lists and maps take
an element whose comparison fails for equal; only a concatenated list lets the failure show.

Upstream counterparts: Equal of the types in cel-go common/types and apiserver pkg/cel.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._failures import Failure
from dray.cel._trampoline import Steps, run
from dray.cel._types import Type
from dray.cel._values import (
    INT_MAX,
    INT_MIN,
    LISTS,
    MAPS,
    NONE,
    UINT_MAX,
    ConcatenatedList,
    DerivedQuantity,
    Duration,
    Key,
    KeyedList,
    MapWithDefault,
    Optional,
    SetList,
    TextMap,
    Timestamp,
    UInt,
    Value,
    decode_key,
    encode_key,
)

__all__ = ["comparable", "compare_numbers", "equal", "find", "same"]


def equal(left: Value, right: Value) -> bool:
    """Whether `left == right`; raises the Failure that upstream answers instead."""
    kind = type(left)
    if kind is type(right) and kind in _PLAIN:
        same: bool = left == right
        return same
    if left is None or right is None:
        return left is right
    if kind in _CONTAINERS:
        answer = run(_compared(left, right))
        if type(answer) is Failure:
            raise answer
        return answer is True
    return _answer(left, right)


def _answer(left: Value, right: Value) -> bool:
    """What the left side says, which is neither null nor a list, map or optional."""
    comparison = _COMPARISONS.get(type(left))
    if comparison is None:
        answer: bool = left.cel_equal(right)
        return answer
    return comparison(left, right)


_PLAIN: Final = frozenset({str, int, bool, float, UInt, bytes, Duration, Timestamp})
"""Types whose values Python compares as CEL does, among themselves."""


def same(left: Value, right: Value) -> bool:
    """Whether `left == right` and nothing else: a comparison that fails finds no equals."""
    try:
        return equal(left, right)
    except Failure:
        return False


# Lists, maps and optionals, which may nest deeper than the stack. A failure is an answer here: it
# may be of no consequence for what it is in.


def _compared(left: Value, right: Value) -> Steps[bool | Failure]:
    kind = type(left)
    if kind is Optional:
        held: bool | Failure = yield _optionals(left, right)
        return held
    others = LISTS if kind in _LIST_TYPES else MAPS
    if type(right) not in others or len(left) != len(right):
        return False
    if kind is SetList:
        return {comparable(item) for item in left} == {comparable(item) for item in right}
    failure: Failure | None = None
    for one, other in _pairs(left, right):
        answer = (yield _compared(one, other)) if type(one) in _CONTAINERS else _asked(one, other)
        if answer is False:
            return False
        if answer is not True:
            failure = failure or answer
    return failure if failure is not None and kind is ConcatenatedList else True


def _optionals(left: Optional, right: Value) -> Steps[bool | Failure]:
    if type(right) is not Optional:
        return False
    if left is NONE or right is NONE:
        return left is right
    one, other = left.value, right.value
    if type(one) in _CONTAINERS:
        answer: bool | Failure = yield _compared(one, other)
        return answer
    if other is None and one is not None:
        # In an optional, null is asked for like any other value, and some types refuse it.
        return _caught(_answer, one, None)
    return _asked(one, other)


def _pairs(left: Value, right: Value) -> Iterator[tuple[Value, Value]]:
    if type(left) is KeyedList:
        by_key = {left.key_of(item): item for item in right}
        for item in left:
            key = left.key_of(item)
            yield (item, by_key[key]) if key in by_key else (0, 1)
        return
    if type(left) in _LIST_TYPES:
        yield from zip(left, right, strict=True)
        return
    for key, value in left.items():
        other, found = find(right, decode_key(key))
        # A key that only one side has makes a pair that is never equal.
        yield (value, other) if found else (0, 1)


def comparable(value: Value) -> Hashable:
    """A value that Python compares as CEL would, for items of sets: scalars, and JSON of them."""
    if type(value) in MAPS:
        return frozenset((key, comparable(held)) for key, held in value.items())
    if type(value) in _LIST_TYPES:
        return tuple(comparable(item) for item in value)
    return (type(value) is bool, value)


def _asked(one: Value, other: Value) -> bool | Failure:
    return _caught(equal, one, other)


def _caught(ask: Callable[[Value, Value], bool], one: Value, other: Value) -> bool | Failure:
    try:
        return ask(one, other)
    except Failure as failure:
        return failure


_LIST_TYPES: Final = frozenset(LISTS)
_CONTAINERS: Final = frozenset({*LISTS, *MAPS, Optional})


def compare_numbers(left: Value, right: Value) -> int | None:
    """-1, 0 or 1 for any two of int, UInt and float; None if one is not a number (NaN)."""
    if left != left or right != right:
        return None
    if type(left) is float and type(right) is not float:
        return _compare_double(left, right)
    if type(right) is float and type(left) is not float:
        return -_compare_double(right, left)
    order: int = (left > right) - (left < right)
    return order


def _compare_double(left: float, right: int) -> int:
    """Beyond the other type's range by size, else as doubles: large integers lose digits."""
    least, most = (0, UINT_MAX) if type(right) is UInt else (INT_MIN, INT_MAX)
    if left < float(least):
        return -1
    if left > float(most):
        return 1
    other = float(right)
    return (left > other) - (left < other)


def find(mapping: dict[Key, Value], key: Value) -> tuple[Value, bool]:
    """What a map has under a key, and whether it has it: numbers find their equals.

    Raises Unhashable for keys that upstream's maps cannot look for.
    """
    if type(mapping) is MapWithDefault:
        return mapping[key] if type(key) is str else mapping[""], True
    kind = type(key)
    if kind is str:
        return (mapping[key], True) if key in mapping else (None, False)
    if not mapping or type(mapping) is TextMap:
        return None, False
    encoded = encode_key(key)
    if encoded in mapping:
        return mapping[encoded], True
    for other in _ALSO_LOOKED_FOR.get(kind, ()):
        converted = _lossless(key, other)
        if converted is not None and (other, converted) in mapping:
            return mapping[(other, converted)], True
    return None, False


_NUMBERS: Final = (int, UInt, float)
_ALSO_LOOKED_FOR: Final[dict[type, tuple[type, ...]]] = {
    float: (int, UInt),
    int: (UInt,),
    UInt: (int,),
}
"""Under which other types a number is looked for. No number finds a key that is a double."""


def _lossless(number: Value, kind: type) -> Value:
    if type(number) is float and not number.is_integer():
        return None
    whole = int(number)
    least, most = (0, UINT_MAX) if kind is UInt else (INT_MIN, INT_MAX)
    return kind(whole) if least <= whole <= most else None


# By the type of the left side


def _unequal(_: Value, __: Value) -> bool:
    return False


def _numbers(left: Value, right: Value) -> bool:
    return type(right) in _NUMBERS and compare_numbers(left, right) == 0


def _types(left: Type, right: Value) -> bool:
    return type(right) is Type and left.name == right.name


def _quantities(left: Quantity, right: Value) -> bool:
    if type(right) is not Quantity:
        raise Failure("no such overload")
    return left == right


def _derived_quantities(left: DerivedQuantity, right: Value) -> bool:
    return _quantities(left.quantity, right)


def _semvers(left: Semver, right: Value) -> bool:
    if type(right) is not Semver:
        raise Failure("no such overload")
    return left == right


_COMPARISONS: Final[dict[type, Callable[[Value, Value], bool]]] = {
    **dict.fromkeys((bool, str, bytes, Duration, Timestamp), _unequal),
    **dict.fromkeys(_NUMBERS, _numbers),
    Type: _types,
    Quantity: _quantities,
    DerivedQuantity: _derived_quantities,
    Semver: _semvers,
}
