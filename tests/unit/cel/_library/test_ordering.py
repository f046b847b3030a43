from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel._failures import Abort, Failure
from dray.cel._library.ordering import FUNCTIONS, is_in
from dray.cel._values import (
    ConcatenatedList,
    Duration,
    MapWithDefault,
    Timestamp,
    UInt,
    Value,
    encode_key,
)

NAN = float("nan")
VERSION = Semver.parse("1.2.3")


def call(function: str, *arguments: Value) -> Value:
    return FUNCTIONS[function][type(arguments[0])](*arguments)


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        (1, 2),
        (1, UInt(2)),
        (UInt(1), 1.5),
        (-0.5, 0),
        (False, True),
        ("a", "b"),
        ("\uffff", "\U0001f600"),
        (b"a", b"a\x00"),
        (Duration(-1), Duration(1)),
        (Timestamp(1, 2), Timestamp(1, 3)),
        (Timestamp(-1, 9), Timestamp(0, 0)),
    ],
)
def test_the_smaller_value_comes_first(smaller: Value, larger: Value) -> None:
    assert call("_<_", smaller, larger) is True
    assert call("_<=_", smaller, larger) is True
    assert call("_>_", smaller, larger) is False
    assert call("_>=_", smaller, larger) is False
    assert call("_>=_", larger, smaller) is True
    assert call("_<_", smaller, smaller) is False
    assert call("_<=_", smaller, smaller) is True


@pytest.mark.parametrize(
    ("left", "right", "text"),
    [
        (NAN, 1, "NaN values cannot be ordered"),
        (1, NAN, "NaN values cannot be ordered"),
        (NAN, NAN, "NaN values cannot be ordered"),
        (NAN, "a", "NaN values cannot be ordered"),
        (1, "a", "no such overload"),
        (1, True, "no such overload"),
        ("a", b"a", "no such overload"),
        (Duration(1), 1, "no such overload"),
        (Timestamp(0, 0), Duration(0), "no such overload"),
    ],
)
def test_values_without_an_order_fail(left: Value, right: Value, text: str) -> None:
    with pytest.raises(Failure) as caught:
        call("_<_", left, right)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("value", "size"), [("é日\U0001f600", 3), (b"\xff\x00", 2), ([1, 2], 2), ({"a": 1}, 1)], ids=str
)
def test_a_size_counts_characters_bytes_elements_or_entries(value: Value, size: int) -> None:
    assert call("size", value) == size


@pytest.mark.parametrize(
    ("value", "container", "found"),
    [
        (1, [1.0], True),
        (1, [UInt(1)], True),
        ("1", [1], False),
        (NAN, [NAN], False),
        (2, ConcatenatedList([1, 2]), True),
        (VERSION, ["1.2.3", VERSION], True),
        (VERSION, ["1.2.3"], False),
        ("a", {"a": 1}, True),
        (1.0, {encode_key(1): "x"}, True),
        (True, {encode_key(1): "x"}, False),
        (Quantity.parse("1"), {"a": 1}, False),
        (b"a", {}, False),
        ("a", MapWithDefault({"a": {}}), True),
        ("b", MapWithDefault({"a": {}}), False),
        (b"a", MapWithDefault({"a": {}}), False),
    ],
)
def test_a_value_is_looked_for_by_equality(value: Value, container: Value, found: bool) -> None:
    assert is_in(value, container) is found


def test_only_lists_and_maps_have_something_in_them() -> None:
    with pytest.raises(Failure, match=r"^no such overload$"):
        is_in("a", "abc")


@pytest.mark.parametrize(
    ("key", "name"), [(b"a", "types.Bytes"), (VERSION, "cel.Semver")], ids=["bytes", "semver"]
)
def test_a_key_that_cannot_be_hashed_ends_the_evaluation(key: Value, name: str) -> None:
    with pytest.raises(Abort) as caught:
        is_in(key, {"a": 1})
    assert str(caught.value) == f"internal error: runtime error: hash of unhashable type {name}"
