from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._failures import Failure
from dray.cel._library.lists import FUNCTIONS, OVERLOADS
from dray.cel._values import INT_MAX, UINT_MAX, DerivedQuantity, Duration, Timestamp, UInt, Value

NAN = float("nan")
ONE = Quantity.parse("1")


def call(function: str, *arguments: Value) -> Value:
    implementations = FUNCTIONS[function]
    return (implementations.get(type(arguments[0])) or implementations[object])(*arguments)


@pytest.mark.parametrize(
    ("items", "result"),
    [
        ([], True),
        ([1, 1, 2.5, UInt(3)], True),
        ([2, 1], False),
        (["b", "a"], False),
        ([False, True], True),
        ([Duration(1), Duration(2)], True),
        ([Timestamp(1, 1), Timestamp(1, 0)], False),
        ([2.0, NAN, 1.0], True),
        ([2, "a", 1], True),
    ],
    ids=repr,
)
def test_a_list_is_sorted_if_no_neighbour_is_less(items: list[Value], result: bool) -> None:
    assert call("isSorted", items) is result


@pytest.mark.parametrize(
    ("items", "least", "greatest"),
    [
        ([2, 1, 3], 1, 3),
        ([b"b", b"a"], b"a", b"b"),
        ([1, "a"], 1, 1),
        ([NAN, 1.0], None, None),
        ([True], True, True),
    ],
    ids=repr,
)
def test_the_least_and_the_greatest(items: list[Value], least: Value, greatest: Value) -> None:
    if least is None:
        assert call("min", items) is items[0]
        assert call("max", items) is items[0]
        return
    assert call("min", items) == least
    assert call("max", items) == greatest


def test_among_equals_the_first_is_the_least() -> None:
    assert type(call("min", [UInt(1), 1])) is UInt
    assert type(call("max", [1, UInt(1)])) is int


@pytest.mark.parametrize("function", ["min", "max"])
def test_an_empty_list_has_no_extremes(function: str) -> None:
    with pytest.raises(Failure, match=f"^{function} called on empty list$"):
        call(function, [])


@pytest.mark.parametrize("function", ["isSorted", "min", "max"])
def test_elements_need_an_order(function: str) -> None:
    with pytest.raises(Failure, match=rf"^no such overload: {function}\(list\)$"):
        call(function, [None, 1])
    with pytest.raises(Failure, match=r"^no such overload$"):
        call(function, [1, ONE])


@pytest.mark.parametrize(
    ("items", "total"),
    [
        ([1, 2], 3),
        ([UInt(1), UInt(2)], UInt(3)),
        ([0.5, 1.0], 1.5),
        ([Duration(1), Duration(2)], Duration(3)),
        ([Duration(1_500_000_000), Timestamp(1, 600_000_000)], Timestamp(3, 100_000_000)),
        ([Duration(0), Timestamp(1, 0), Duration(-1)], Timestamp(0, 999_999_999)),
    ],
    ids=repr,
)
def test_a_list_adds_up(items: list[Value], total: Value) -> None:
    result = call("sum", items)
    assert result == total
    assert type(result) is type(total)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([INT_MAX, 1], "integer overflow"),
        ([UInt(UINT_MAX), UInt(1)], "unsigned integer overflow"),
        ([Duration(INT_MAX), Duration(1)], "integer overflow"),
        ([Duration(10**9), Timestamp(253402300799, 0)], "timestamp overflow"),
        ([1, UInt(1)], "no such overload"),
        ([1, None], "no such overload"),
        (["a"], "no such overload: sum(list)"),
        ([Timestamp(0, 0)], "no such overload: sum(list)"),
    ],
    ids=repr,
)
def test_not_every_list_adds_up(items: list[Value], message: str) -> None:
    with pytest.raises(Failure) as caught:
        call("sum", items)
    assert str(caught.value) == message


def test_the_sum_of_nothing_is_the_zero_of_the_checked_type() -> None:
    assert type(call("sum", [])) is int
    assert type(OVERLOADS["list_int_sum_int"]([])) is int
    assert type(OVERLOADS["list_uint_sum_uint"]([])) is UInt
    assert type(OVERLOADS["list_double_sum_double"]([])) is float
    assert OVERLOADS["list_duration_sum_duration"]([]) == Duration(0)
    assert OVERLOADS["list_int_sum_int"]([1, 2]) == 3


def test_an_element_is_found_from_either_end() -> None:
    items = [1, "a", 1.0, None]
    assert call("indexOf", items, UInt(1)) == 0
    assert call("lastIndexOf", items, UInt(1)) == 2
    assert call("indexOf", items, None) == 3
    assert call("indexOf", items, "b") == -1
    assert call("lastIndexOf", items, "b") == -1


def test_the_element_is_asked_and_may_refuse() -> None:
    assert call("indexOf", [Semver.parse("1.2.3"), "1.2.3"], "1.2.3") == 1
    assert call("indexOf", [DerivedQuantity(ONE)], ONE) == 0
    assert call("indexOf", [ONE], DerivedQuantity(ONE)) == -1


@pytest.mark.parametrize("function", ["indexOf", "lastIndexOf"])
def test_a_list_is_not_searched_from_a_position(function: str) -> None:
    with pytest.raises(Failure, match=rf"^no such overload: {function}\(list, string, int\)$"):
        call(function, ["a"], "a", 0)


@pytest.mark.parametrize(
    ("target", "sought", "result"),
    [
        (["a", "b"], "b", True),
        (["a"], "b", False),
        ("a", "a", True),
        (1, 1.0, True),
        (ONE, "1", False),
        ([ONE], "1", False),
        ([], None, False),
        (None, None, True),
    ],
    ids=repr,
)
def test_one_value_includes_what_it_equals(target: Value, sought: Value, result: bool) -> None:
    assert call("includes", target, sought) is result
