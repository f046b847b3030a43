from __future__ import annotations

import pytest

from dray.cel import _types as types
from dray.cel._call_cost import CallCost, Called, Operand, call_cost
from dray.cel._estimate import MAX, ONE, Range
from dray.cel._nodes import Literal
from dray.cel._types import Type
from dray.cel._values import Constant


def operand(type_: Type, size: int | None = None, value: Constant = None) -> Operand:
    known = None if size is None else Range(size, size)
    return Operand(Literal(1, 0, value), type_, known, lambda *_: None)


def text(size: int | None) -> Operand:
    return operand(types.STRING, size)


@pytest.mark.parametrize(
    ("function", "overload", "target", "arguments", "cost"),
    [
        ("quantity", "string_to_quantity", None, [text(25)], 3),
        ("add", "quantity_add", operand(types.QUANTITY), [operand(types.QUANTITY)], 1),
        ("_==_", "equals", None, [operand(types.QUANTITY)] * 2, 1),
        ("_!=_", "not_equals", None, [operand(types.QUANTITY)] * 2, 1844674407370955264),
        ("_==_", "equals", None, [text(64), text(4)], 1),
        ("contains", "contains_string", text(64), [text(11)], 14),
        ("matches", "matches_string", text(64), [text(6)], 14),
        ("@in", "in_list", None, [text(1), operand(types.list_of(types.STRING), 7)], 7),
        ("sort", "list_string_sort", operand(types.list_of(types.STRING), 10), [], 221),
        ("lists.range", "lists_range", None, [operand(types.INT, 1, 5)], 16),
        ("sets.equivalent", "list_sets_equivalent_list", None, [text(3), text(4)], 25),
        ("validate", "format-validate", operand(types.FORMAT), [text(20)], 64),
        ("containsIP", "cidr_contains_ip_string", operand(types.CIDR), [text(10)], 5),
        ("size", "string_size", text(None), [], 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_call_costs_what_upstream_says(
    function: str, overload: str, target: Operand | None, arguments: list[Operand], cost: int
) -> None:
    assert call_cost(Called(function, overload, target, arguments)).cost.max == cost


def test_a_slice_that_ends_before_it_starts_is_enormous() -> None:
    arguments = [operand(types.INT, 1, 2), operand(types.INT, 1, 1)]
    called = Called("slice", "list_slice", operand(types.list_of(types.INT), 5), arguments)
    assert call_cost(called).result_size == Range(MAX, MAX)


def test_a_function_without_a_rule_costs_one() -> None:
    assert call_cost(Called("getHours", "duration_to_hours", None, [])) == CallCost(ONE)
