from __future__ import annotations

from dray.cel import _types as types
from dray.cel._nodes import CheckedExpression, Literal, Node


def test_a_checked_expression_knows_the_type_of_its_nodes() -> None:
    node = Literal(7, 0, 1)
    checked = CheckedExpression(node, {7: types.INT}, {}, {})
    assert checked.type(node) == types.INT


def test_nodes_that_look_alike_are_not_the_same() -> None:
    first: Node = Literal(1, 0, 1)
    second: Node = Literal(1, 0, 1)
    assert len({first, second}) == 2
