from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.cel._failures import Failure
from dray.cel._library.optionals import FUNCTIONS, is_zero
from dray.cel._values import (
    NONE,
    ConcatenatedList,
    Duration,
    MapWithDefault,
    Optional,
    Timestamp,
    UInt,
    Value,
)


def call(function: str, *arguments: Value) -> Value:
    implementations = FUNCTIONS[function]
    kind = type(arguments[0]) if arguments else object
    return (implementations.get(kind) or implementations[object])(*arguments)


@pytest.mark.parametrize(
    "value",
    [
        False, 0, UInt(0), 0.0, -0.0, "", b"", None, [], ConcatenatedList(), {}, Duration(0),
        Timestamp(-62135596800, 0),
    ],
    ids=repr,
)  # fmt: skip
def test_zero_values_are_absent(value: Value) -> None:
    assert is_zero(value)
    assert call("optional.ofNonZeroValue", value) is NONE
    assert call("optional.of", value) == Optional(value)


@pytest.mark.parametrize(
    "value",
    [True, 1, float("nan"), "a", [0], Timestamp(0, 0), Quantity.parse("0"), NONE, MapWithDefault()],
    ids=repr,
)
def test_other_values_are_present(value: Value) -> None:
    made = call("optional.ofNonZeroValue", value)
    assert made is not NONE
    assert made.value is value


def test_a_value_is_there_or_not() -> None:
    assert call("value", Optional(1)) == 1
    assert call("hasValue", Optional(None)) is True
    assert call("hasValue", call("optional.none")) is False
    with pytest.raises(Failure, match=r"^optional.none\(\) dereference$"):
        call("value", NONE)


def test_an_alternative_stands_in_for_what_is_absent() -> None:
    assert call("or", Optional(1), Optional(2)) == Optional(1)
    assert call("or", NONE, Optional(2)) == Optional(2)
    assert call("or", NONE, 2) == 2
    assert call("orValue", Optional(1), 2) == 1
    assert call("orValue", NONE, 2) == 2


@pytest.mark.parametrize("function", ["or", "orValue"])
def test_only_optionals_have_alternatives(function: str) -> None:
    with pytest.raises(Failure, match=r"^no such overload$"):
        call(function, 1, Optional(1))


def test_the_ends_of_a_list_may_be_absent() -> None:
    assert call("first", [1, 2]) == Optional(1)
    assert call("last", ConcatenatedList([1, 2])) == Optional(2)
    assert call("first", []) is NONE
    assert call("last", []) is NONE


@pytest.mark.parametrize("function", ["optional.unwrap", "unwrapOpt"])
def test_a_list_of_optionals_becomes_one_of_values(function: str) -> None:
    assert call(function, [Optional(1), NONE, Optional(None)]) == [1, None]
    assert call(function, []) == []
    with pytest.raises(Failure, match=rf"^no such overload: {function}\(list\)$"):
        call(function, [1, Optional(1)])
    with pytest.raises(Failure, match=r"^value \[a\] is not optional$"):
        call(function, [Optional(1), ["a"]])
