from __future__ import annotations

import math

import pytest

from dray.cel._failures import Abort, Failure
from dray.cel._library.arithmetic import FUNCTIONS
from dray.cel._library.bounds import SIZE_MAX
from dray.cel._values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    ConcatenatedList,
    Duration,
    MutableList,
    Timestamp,
    UInt,
    Value,
)

SECOND = 1_000_000_000
YEAR_1 = Timestamp(-62135596800, 0)
YEAR_9999 = Timestamp(253402300799, 999999999)


def call(function: str, *arguments: Value) -> Value:
    return FUNCTIONS[function][type(arguments[0])](*arguments)


@pytest.mark.parametrize(
    ("left", "function", "right", "result"),
    [
        (1, "_+_", 2, 3),
        (1, "_-_", 2, -1),
        (-3, "_*_", 4, -12),
        (-7, "_/_", 2, -3),
        (7, "_/_", -2, -3),
        (-7, "_%_", 2, -1),
        (7, "_%_", -2, 1),
        (1.5, "_+_", 2.0, 3.5),
        (-1.0, "_/_", 0.0, -math.inf),
        (1.0, "_/_", -0.0, -math.inf),
        (1e308, "_*_", 10.0, math.inf),
        ("é", "_+_", "a", "éa"),
        (b"a", "_+_", b"\xff", b"a\xff"),
        (Duration(1), "_+_", Duration(2), Duration(3)),
        (Duration(1), "_-_", Duration(2), Duration(-1)),
        (Timestamp(5, 0), "_+_", Duration(-1), Timestamp(4, 999999999)),
        (Duration(SECOND), "_+_", Timestamp(5, 7), Timestamp(6, 7)),
        (Timestamp(5, 0), "_-_", Duration(1), Timestamp(4, 999999999)),
        (Timestamp(5, 1), "_-_", Timestamp(4, 2), Duration(SECOND - 1)),
    ],
)
def test_two_values_make_a_third(left: Value, function: str, right: Value, result: Value) -> None:
    found = call(function, left, right)
    assert (type(found), found) == (type(result), result)


@pytest.mark.parametrize(("function", "result"), [("_+_", 9), ("_-_", 5), ("_*_", 14), ("_%_", 1)])
def test_unsigned_integers_stay_unsigned(function: str, result: int) -> None:
    found = call(function, UInt(7), UInt(2))
    assert (type(found), found) == (UInt, result)


def test_nothing_divided_by_nothing_is_not_a_number() -> None:
    assert math.isnan(call("_/_", 0.0, 0.0))
    assert math.isnan(call("_/_", math.nan, 0.0))


@pytest.mark.parametrize(
    ("left", "function", "right", "text"),
    [
        (INT_MAX, "_+_", 1, "integer overflow"),
        (INT_MIN, "_-_", 1, "integer overflow"),
        (INT_MIN, "_*_", -1, "integer overflow"),
        (INT_MIN, "_/_", -1, "integer overflow"),
        (INT_MIN, "_%_", -1, "integer overflow"),
        (1, "_/_", 0, "division by zero"),
        (1, "_%_", 0, "modulus by zero"),
        (UInt(1), "_/_", UInt(0), "division by zero"),
        (UInt(1), "_%_", UInt(0), "modulus by zero"),
        (UInt(1), "_-_", UInt(2), "unsigned integer overflow"),
        (UInt(UINT_MAX), "_+_", UInt(1), "unsigned integer overflow"),
        (Duration(INT_MAX), "_+_", Duration(1), "integer overflow"),
        (Timestamp(0, 0), "_-_", Duration(INT_MIN), "integer overflow"),
        (YEAR_9999, "_-_", YEAR_1, "integer overflow"),
        (Timestamp(-9223372037, 145224192), "_-_", Timestamp(0, 0), "integer overflow"),
        (YEAR_9999, "_+_", Duration(1), "timestamp overflow"),
        (YEAR_1, "_-_", Duration(1), "timestamp overflow"),
        (1, "_+_", UInt(1), "no such overload"),
        (1, "_+_", True, "no such overload"),
        (UInt(1), "_*_", 1, "no such overload"),
        (1.0, "_-_", 1, "no such overload"),
        ("a", "_+_", b"a", "no such overload"),
        (b"a", "_+_", "a", "no such overload"),
        ([1], "_+_", 1, "no such overload"),
        (MutableList(), "_+_", 1, "no such overload"),
        (Duration(1), "_+_", 1, "no such overload"),
        (Duration(1), "_-_", Timestamp(0, 0), "no such overload"),
        (Timestamp(0, 0), "_+_", Timestamp(0, 0), "no such overload"),
        (Timestamp(0, 0), "_-_", 1, "no such overload"),
    ],
)
def test_what_does_not_fit_fails(left: Value, function: str, right: Value, text: str) -> None:
    with pytest.raises(Failure) as caught:
        call(function, left, right)
    assert str(caught.value) == text


def test_the_sum_of_two_lists_is_one_that_shows_failures() -> None:
    found = call("_+_", [1], [2])
    assert (type(found), found) == (ConcatenatedList, [1, 2])


def test_adding_an_empty_list_answers_the_other_one() -> None:
    some: list[Value] = [1]
    assert call("_+_", some, []) is some
    assert call("_+_", [], some) is some


def test_adding_to_the_list_of_a_fold_fills_it() -> None:
    filled = MutableList([1])
    assert call("_+_", filled, [2]) is filled
    assert filled == [1, 2]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a" * SIZE_MAX, "a"),
        (b"a" * SIZE_MAX, b"a"),
        ([None] * SIZE_MAX, [1]),
        (MutableList([None] * SIZE_MAX), [1]),
    ],
    ids=["text", "bytes", "list", "fold"],
)
def test_a_sum_is_refused_before_it_is_made(left: Value, right: Value) -> None:
    with pytest.raises(Abort):
        call("_+_", left, right)


@pytest.mark.parametrize(
    ("value", "result"), [(5, -5), (-0.5, 0.5), (Duration(3), Duration(-3))], ids=str
)
def test_a_sign_turns_a_value_around(value: Value, result: Value) -> None:
    assert call("-_", value) == result


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (INT_MIN, "integer overflow"),
        (Duration(INT_MIN), "integer overflow"),
        (True, "no such overload"),
    ],
    ids=str,
)
def test_some_values_have_no_opposite(value: Value, text: str) -> None:
    with pytest.raises(Failure) as caught:
        call("-_", value)
    assert str(caught.value) == text


def test_only_truth_values_are_negated() -> None:
    assert call("!_", True) is False
    with pytest.raises(Failure, match=r"^no such overload$"):
        FUNCTIONS["!_"][object](1)
