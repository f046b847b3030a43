from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.semver import Semver
from dray.cel import _types as types
from dray.cel._failures import Failure
from dray.cel._library.equality import compare_numbers, equal, find, same
from dray.cel._values import (
    NONE,
    ConcatenatedList,
    DerivedQuantity,
    MapWithDefault,
    Optional,
    UInt,
    Value,
)

VERSION = Semver.parse("1.2.3")
ONE = Quantity.parse("1")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (UInt(1), 1),
        (2**53 + 1, float(2**53)),
        ([1, UInt(2)], [1.0, 2]),
        ({(float, 1.0): "a"}, {(int, 1): "a"}),
        (None, None),
        (NONE, NONE),
        (Optional(1), Optional(1.0)),
        (types.INT, types.INT),
        (VERSION, Semver.parse("1.2.3+build")),
        (DerivedQuantity(ONE), Quantity.parse("1000m")),
        ([VERSION], ["1.2.3"]),
        ({"a": {}}, MapWithDefault({"b": {}})),
    ],
)
def test_equal(left: Value, right: Value) -> None:
    assert equal(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        ("1", 1),
        (1, "1"),
        (-1, UInt(2**64 - 1)),
        (float("nan"), float("nan")),
        ([1], [1, 2]),
        ({"a": 1}, {"b": 1}),
        (Optional(1), NONE),
        ("1.2.3", VERSION),
        (None, 0),
        ([VERSION, 1], ["1.2.3", 2]),
    ],
)
def test_not_equal(left: Value, right: Value) -> None:
    assert not equal(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (VERSION, "1.2.3"),
        (ONE, 1),
        (ONE, DerivedQuantity(ONE)),
        (DerivedQuantity(ONE), DerivedQuantity(ONE)),
        (ConcatenatedList([VERSION]), ["1.2.3"]),
        (Optional(VERSION), Optional("1.2.3")),
        (Optional(VERSION), Optional(None)),
    ],
)
def test_kubernetes_types_have_no_answer_for_others(left: Value, right: Value) -> None:
    with pytest.raises(Failure, match="no such overload"):
        equal(left, right)


def test_a_comparison_that_fails_finds_no_equals() -> None:
    assert same(ONE, ONE)
    assert not same(ONE, 1)
    assert not same(1, 2)


def test_numbers_compare_across_types_and_nothing_compares_with_nan() -> None:
    assert compare_numbers(1, 1.5) == -1
    assert compare_numbers(UInt(2**64 - 1), -1) == 1
    assert compare_numbers(1e300, 2**63 - 1) == 1
    assert compare_numbers(float("nan"), 1) is None


def test_a_number_finds_its_equal_among_the_keys() -> None:
    assert find({(int, 1): "a"}, 1.0) == ("a", True)
    assert find({(int, 1): "a"}, 1.5) == (None, False)
    assert find({(int, 1): "a"}, True) == (None, False)
    assert find(MapWithDefault(), 1) == ({}, True)
