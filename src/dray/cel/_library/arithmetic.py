"""`+ - * / %`, the sign and `!`: what numbers, texts, bytes, lists and times do with each other.

Integers have 64 bits and refuse to overflow; doubles follow IEEE 754, division by zero included.
Both sides must be of one type, times aside: CEL never converts by itself.

Upstream counterparts: Add, Subtract, Multiply, Divide, Modulo and Negate of the types in cel-go
common/types, and overflow.go there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from dray.cel._failures import Failure
from dray.cel._library.bounds import within
from dray.cel._library.equality import comparable
from dray.cel._library.table import FunctionTable, of_types
from dray.cel._values import (
    INT_MAX,
    INT_MIN,
    LISTS,
    UINT_MAX,
    ConcatenatedList,
    Duration,
    KeyedList,
    MutableList,
    SetList,
    Timestamp,
    UInt,
    Value,
)

__all__ = ["FUNCTIONS"]

_NO_OVERLOAD: Final = "no such overload"
_OVERFLOW: Final = "integer overflow"
_SECOND: Final = 1_000_000_000
_SECONDS_MIN: Final = -62135596800
_SECONDS_MAX: Final = 253402300799
"""Year 1 to year 9999, in seconds since 1970."""


# Integers


def _whole(number: int) -> int:
    if INT_MIN <= number <= INT_MAX:
        return number
    raise Failure(_OVERFLOW)


def _unsigned(number: int) -> UInt:
    if 0 <= number <= UINT_MAX:
        return UInt(number)
    raise Failure("unsigned integer overflow")


def _of_ints(operation: Callable[[int, int], int]) -> Callable[[Value, Value], Value]:
    def apply(left: Value, right: Value) -> Value:
        if type(right) is not int:
            raise Failure(_NO_OVERLOAD)
        result = operation(left, right)
        if INT_MIN <= result <= INT_MAX:
            return result
        raise Failure(_OVERFLOW)

    return apply


def _of_uints(operation: Callable[[int, int], int]) -> Callable[[Value, Value], Value]:
    def apply(left: Value, right: Value) -> Value:
        if type(right) is not UInt:
            raise Failure(_NO_OVERLOAD)
        return _unsigned(operation(left, right))

    return apply


def _quotient(left: int, right: int) -> int:
    """Towards zero, where Python's goes down."""
    if right == 0:
        raise Failure("division by zero")
    amount = abs(left) // abs(right)
    return amount if (left < 0) == (right < 0) else -amount


def _remainder(left: int, right: int) -> int:
    """Of the dividend's sign, where Python's has the divisor's."""
    if right == 0:
        raise Failure("modulus by zero")
    if left == INT_MIN and right == -1:
        # The quotient that upstream computes along with it does not fit.
        raise Failure(_OVERFLOW)
    amount = abs(left) % abs(right)
    return -amount if left < 0 else amount


def _negate_int(value: Value) -> Value:
    return _whole(-value)


# Doubles


def _of_doubles(operation: Callable[[float, float], float]) -> Callable[[Value, Value], Value]:
    def apply(left: Value, right: Value) -> Value:
        if type(right) is not float:
            raise Failure(_NO_OVERLOAD)
        return operation(left, right)

    return apply


def _ratio(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _negate_double(value: Value) -> Value:
    return -value


# Texts, bytes and lists


def _join_texts(left: Value, right: Value) -> Value:
    if type(right) is not str:
        raise Failure(_NO_OVERLOAD)
    within(len(left) + len(right))
    return left + right


def _join_bytes(left: Value, right: Value) -> Value:
    if type(right) is not bytes:
        raise Failure(_NO_OVERLOAD)
    within(len(left) + len(right))
    return left + right


def _join_lists(left: Value, right: Value) -> Value:
    if type(right) not in LISTS:
        raise Failure(_NO_OVERLOAD)
    if not left:
        return right
    if not right:
        return left
    within(len(left) + len(right))
    return ConcatenatedList([*left, *right])


def _unite(left: Value, right: Value) -> Value:
    """The set with what the other side has besides."""
    if type(right) not in LISTS:
        raise Failure(_NO_OVERLOAD)
    within(len(left) + len(right))
    known = {comparable(item) for item in left}
    return SetList([*left, *(item for item in right if comparable(item) not in known)])


def _merge(left: KeyedList, right: Value) -> Value:
    """The items of both sides; where both have one, the other side's in the place of this one's."""
    if type(right) not in LISTS:
        raise Failure(_NO_OVERLOAD)
    within(len(left) + len(right))
    items = {left.key_of(item): item for item in (*left, *right)}
    return KeyedList(items.values(), left.keys)


def _extend_list(left: Value, right: Value) -> Value:
    if type(right) not in LISTS:
        raise Failure(_NO_OVERLOAD)
    within(len(left) + len(right))
    left.extend(right)
    return left


# Times


def _add_to_duration(left: Value, right: Value) -> Value:
    if type(right) is Duration:
        return Duration(_whole(left.nanoseconds + right.nanoseconds))
    if type(right) is Timestamp:
        return _moved(right, left.nanoseconds)
    raise Failure(_NO_OVERLOAD)


def _add_to_timestamp(left: Value, right: Value) -> Value:
    if type(right) is not Duration:
        raise Failure(_NO_OVERLOAD)
    return _moved(left, right.nanoseconds)


def _subtract_from_duration(left: Value, right: Value) -> Value:
    if type(right) is not Duration:
        raise Failure(_NO_OVERLOAD)
    return Duration(_whole(left.nanoseconds - right.nanoseconds))


def _subtract_from_timestamp(left: Value, right: Value) -> Value:
    if type(right) is Duration:
        return _moved(left, _whole(-right.nanoseconds))
    if type(right) is not Timestamp:
        raise Failure(_NO_OVERLOAD)
    # The seconds must fit on their own, even if the nanoseconds would bring the sum back in range.
    seconds = _whole((left.seconds - right.seconds) * _SECOND)
    return Duration(_whole(seconds + left.nanoseconds - right.nanoseconds))


def _negate_duration(value: Value) -> Value:
    return Duration(_whole(-value.nanoseconds))


def _moved(moment: Timestamp, nanoseconds: int) -> Timestamp:
    seconds, rest = divmod(moment.nanoseconds + nanoseconds, _SECOND)
    seconds += moment.seconds
    if not _SECONDS_MIN <= seconds <= _SECONDS_MAX:
        raise Failure("timestamp overflow")
    return replace(moment, seconds=seconds, nanoseconds=rest)


# Truth


def _not(value: Value) -> Value:
    return not value


def _refuse(_: Value) -> Value:
    raise Failure(_NO_OVERLOAD)


FUNCTIONS: Final[FunctionTable] = {
    "_+_": {
        int: _of_ints(int.__add__),
        UInt: _of_uints(int.__add__),
        float: _of_doubles(float.__add__),
        str: _join_texts,
        bytes: _join_bytes,
        **of_types((list, ConcatenatedList), _join_lists),
        MutableList: _extend_list,
        SetList: _unite,
        KeyedList: _merge,
        Duration: _add_to_duration,
        Timestamp: _add_to_timestamp,
    },
    "_-_": {
        int: _of_ints(int.__sub__),
        UInt: _of_uints(int.__sub__),
        float: _of_doubles(float.__sub__),
        Duration: _subtract_from_duration,
        Timestamp: _subtract_from_timestamp,
    },
    "_*_": {
        int: _of_ints(int.__mul__),
        UInt: _of_uints(int.__mul__),
        float: _of_doubles(float.__mul__),
    },
    "_/_": {
        int: _of_ints(_quotient),
        UInt: _of_uints(_quotient),
        float: _of_doubles(_ratio),
    },
    "_%_": {int: _of_ints(_remainder), UInt: _of_uints(_remainder)},
    "-_": {
        int: _negate_int,
        float: _negate_double,
        Duration: _negate_duration,
        # A truth value can be negated, but not by this sign.
        bool: _refuse,
    },
    "!_": {bool: _not, object: _refuse},
}
