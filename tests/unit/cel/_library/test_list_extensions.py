from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.cel._failures import Abort, Failure
from dray.cel._library.list_extensions import FUNCTIONS
from dray.cel._values import ConcatenatedList, Duration, Timestamp, UInt, Value


def call(function: str, *arguments: Value) -> Value:
    implementations = FUNCTIONS[function]
    return (implementations.get(type(arguments[0])) or implementations[object])(*arguments)


def test_a_slice_is_a_list_of_its_own() -> None:
    assert call("slice", [1, 2, 3], 1, 3) == [2, 3]
    assert call("slice", [1, 2, 3], 3, 3) == []
    assert type(call("slice", ConcatenatedList([1, 2]), 0, 2)) is list


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (-1, 1, "cannot slice(-1, 1), negative indexes not supported"),
        (2, 1, "cannot slice(2, 1), start index must be less than or equal to end index"),
        (0, 4, "cannot slice(0, 4), list is length 3"),
        ("a", 1, "no such overload: slice(list, string, int)"),
        (0, UInt(1), "no such overload: slice(list, int, uint)"),
    ],
)
def test_a_slice_stays_within_the_list(start: Value, end: Value, message: str) -> None:
    with pytest.raises(Failure) as caught:
        call("slice", [1, 2, 3], start, end)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("depth", "flat"),
    [
        ((), [1, 2, [3]]),
        ((0,), [1, [2, [3]]]),
        ((2,), [1, 2, 3]),
        ((2**63 - 1,), [1, 2, 3]),
    ],
)
def test_lists_in_lists_are_flattened_so_deep(depth: tuple[int, ...], flat: list[Value]) -> None:
    assert call("flatten", [1, [2, [3]]], *depth) == flat


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1], -1), "level must be non-negative"),
        ((1,), "no such overload: int.flatten()"),
        (({}, 1), "no such overload: map(dyn, dyn).flatten(int)"),
        (([1], "a"), "no such overload: list(dyn).flatten(string)"),
    ],
)
def test_what_cannot_be_flattened_is_refused(arguments: tuple[Value, ...], message: str) -> None:
    with pytest.raises(Failure) as caught:
        call("flatten", *arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("innermost", [["a"], []], ids=["elements", "nothing"])
def test_lists_that_share_their_parts_do_not_flatten_without_bound(innermost: Value) -> None:
    value = innermost
    for _ in range(40):
        value = [value, value]
    with pytest.raises(Abort, match="cost limit exceeded"):
        call("flatten", value, 100)


@pytest.mark.parametrize(
    ("items", "result"),
    [
        ([3, 1, 2], [1, 2, 3]),
        (["b", "é", "a"], ["a", "b", "é"]),
        ([True, False], [False, True]),
        ([b"b", b""], [b"", b"b"]),
        ([UInt(2), UInt(1)], [UInt(1), UInt(2)]),
        ([Duration(2), Duration(-1)], [Duration(-1), Duration(2)]),
        ([Timestamp(1, 2), Timestamp(1, 1)], [Timestamp(1, 1), Timestamp(1, 2)]),
        ([], []),
    ],
    ids=repr,
)
def test_values_of_one_type_are_sorted(items: list[Value], result: list[Value]) -> None:
    assert call("sort", items) == result


def test_elements_follow_their_keys() -> None:
    assert call("@sortByAssociatedKeys", ["a", "b", "c"], [2, 1, 1]) == ["b", "c", "a"]
    assert call("@sortByAssociatedKeys", [None], [1]) == [None]


@pytest.mark.parametrize(
    ("items", "keys", "message"),
    [
        ([1, 2], [1, "a"], "list elements must have the same type"),
        ([1, 2], [1, UInt(1)], "list elements must have the same type"),
        ([1], [None], "list elements must be comparable"),
        ([1], [Quantity.parse("1")], "list elements must be comparable"),
        ([1], 1, "no such overload: @sortByAssociatedKeys(list, int)"),
        (
            [1],
            [],
            (
                "@sortByAssociatedKeys() expected a list of the same size as the associated keys"
                " list, but got 1 and 0 elements respectively"
            ),
        ),
    ],
)
def test_keys_without_an_order_are_refused(items: list[Value], keys: Value, message: str) -> None:
    with pytest.raises(Failure) as caught:
        call("@sortByAssociatedKeys", items, keys)
    assert str(caught.value) == message


def test_distinct_keeps_the_first_of_equals() -> None:
    assert repr(call("distinct", [1, 1.0, UInt(1), True, "a", "a"])) == "[1, True, 'a']"
    assert len(call("distinct", [float("nan")] * 2)) == 2
    assert len(call("distinct", [Quantity.parse("1"), "a", Quantity.parse("1000m")])) == 2


def test_an_empty_list_is_its_own_answer() -> None:
    empty = ConcatenatedList()
    assert call("distinct", empty) is empty
    assert call("sort", empty) is empty


def test_a_list_is_reversed() -> None:
    assert call("reverse", ConcatenatedList([1, 2])) == [2, 1]


def test_a_range_counts_from_zero() -> None:
    assert call("lists.range", 3) == [0, 1, 2]
    with pytest.raises(Failure, match=r"^lists.range: size must be non-negative, got -1$"):
        call("lists.range", -1)
    message = r"^lists.range: size 1000001 exceeds maximum allowed \(1000000\)$"
    with pytest.raises(Failure, match=message):
        call("lists.range", 1_000_001)


@pytest.mark.parametrize("function", ["sort", "distinct"])
def test_more_pairs_than_any_budget_pays_for_are_not_compared(function: str) -> None:
    with pytest.raises(Abort, match="cost limit exceeded"):
        call(function, list(range(10_000)))
