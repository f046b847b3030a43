from __future__ import annotations

from dray.cel._logic import And, Atom, Choice, Logic, Not, Or, take_apart
from tests.unit.cel.devices import selector


def logic(text: str) -> Logic:
    found = selector(text).logic
    assert found is not None
    return found


def shape(part: Logic) -> str:
    match part:
        case And(left, right):
            return f"({shape(left)} & {shape(right)})"
        case Or(left, right):
            return f"({shape(left)} | {shape(right)})"
        case Not(operand):
            return f"!{shape(operand)}"
        case Choice(condition, truthy, falsy):
            return f"({shape(condition)} ? {shape(truthy)} : {shape(falsy)})"
        case Atom():
            return ",".join(reference.name or reference.field for reference in part.references)


def test_a_selector_is_taken_apart_at_its_logic() -> None:
    assert shape(logic("$D.a == 1 && ($D.b == 2 || !($D.c == 3))")) == "(a & (b | !c))"
    assert shape(logic("$D.a == 1 ? $D.b == 2 : $D.c == 3")) == "(a ? b : c)"


def test_a_bound_map_is_put_around_each_part() -> None:
    assert shape(logic("cel.bind(d, $D, d.a == 1 && d.b == 2)")) == "(a & b)"


def test_a_bound_list_keeps_its_parts_together() -> None:
    """One part may fill an empty list that another reads."""
    assert shape(logic("cel.bind(l, $D.list, size(l + [1]) == 1 && size(l) == 1)")) == "list"


def test_a_bound_value_that_nothing_is_added_to_may_be_taken_apart() -> None:
    assert shape(logic("cel.bind(m, $D.model, m == 'a' || m == 'b')")) == "(model | model)"


def test_what_is_too_tall_stays_in_one_piece() -> None:
    assert isinstance(logic("!" * 100 + "($D.a == 1)"), Atom)


def test_a_selector_of_unknown_type_is_not_taken_apart() -> None:
    assert selector("$D.flag").logic is None


def test_an_atom_is_evaluated_by_itself() -> None:
    found = take_apart(selector("$D.a == 1")._checked)
    assert isinstance(found, Atom)
    assert found.code is not None
