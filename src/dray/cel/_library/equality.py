"""`==` between any two values, as upstream has it.

Values of different types are not equal, except that numbers compare by value. The types that
Kubernetes adds answer with a Failure when the other side is something else. Lists and maps take
an element whose comparison fails for equal; only a concatenated list lets the failure show.

Upstream counterparts: Equal of the types in cel-go common/types and apiserver pkg/cel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._failures import Failure
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
    MapWithDefault,
    Optional,
    TextMap,
    Timestamp,
    UInt,
    Value,
    encode_key,
)

__all__ = ["compare_numbers", "equal", "find", "same"]


def equal(left: Value, right: Value) -> bool:
    """Whether `left == right`; raises the Failure that upstream answers instead."""
    kind = type(left)
    if kind is type(right) and kind in _PLAIN:
        same: bool = left == right
        return same
    if left is None or right is None:
        return left is right
    return _answer(left, right)


def _answer(left: Value, right: Value) -> bool:
    """What the left side says, which is not null."""
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


def _lists(left: list[Value], right: Value) -> bool:
    if type(right) not in LISTS or len(left) != len(right):
        return False
    failure: Failure | None = None
    for one, other in zip(left, right, strict=True):
        try:
            if not equal(one, other):
                return False
        except Failure as error:
            failure = failure or error
    if failure is not None and type(left) is ConcatenatedList:
        raise failure
    return True


def _maps(left: dict[Key, Value], right: Value) -> bool:
    if type(right) not in MAPS or len(left) != len(right):
        return False
    for key, value in left.items():
        other, found = find(right, key if type(key) is str else key[1])
        if not found:
            return False
        try:
            if not equal(value, other):
                return False
        except Failure:
            continue
    return True


def _optionals(left: Optional, right: Value) -> bool:
    if type(right) is not Optional:
        return False
    if left is NONE or right is NONE:
        return left is right
    if right.value is None and left.value is not None:
        # In an optional, null is asked for like any other value, and some types refuse it.
        return _answer(left.value, None)
    return equal(left.value, right.value)


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
    **dict.fromkeys(LISTS, _lists),
    **dict.fromkeys(MAPS, _maps),
    Optional: _optionals,
    Type: _types,
    Quantity: _quantities,
    DerivedQuantity: _derived_quantities,
    Semver: _semvers,
}
