from __future__ import annotations

from typing import Any

import pytest

from dray.server.custom.json_values import go_number, is_whole, same


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (0, False), ("1", 1), ({"a": 1}, {"a": True}), ([1], [1, 2]), ({"a": 1}, {"b": 1})],
)
def test_values_of_other_types_or_forms_are_not_the_same(one: Any, other: Any) -> None:
    assert not same(one, other)


def test_equal_values_are_the_same_in_any_order_of_members() -> None:
    assert same({"a": [1, {"b": None}], "c": "x"}, {"c": "x", "a": [1, {"b": None}]})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (0.0, "0"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (123456789.0, "1.23456789e+08"),
        (123456.789, "123456.789"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-0.5, "-0.5"),
        (1.5e-7, "1.5e-07"),
    ],
)
def test_numbers_are_written_as_go_writes_them(value: float, text: str) -> None:
    assert go_number(value) == text


@pytest.mark.parametrize(
    ("value", "whole"),
    [(2.0, True), (2.5, False), (0.1, False), (2.00000000001, True), (float("inf"), False)],
)
def test_a_float_may_be_an_integer(value: float, whole: bool) -> None:
    assert is_whole(value) is whole
