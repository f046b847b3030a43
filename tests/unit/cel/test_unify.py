from __future__ import annotations

import pytest

from dray.cel import _types as types
from dray.cel import _unify
from dray.cel._types import TypeTooLarge
from dray.cel._unify import Substitution, TooManySteps, most_general

A, B = types.parameter("A"), types.parameter("B")


def test_a_variable_becomes_what_it_is_used_for() -> None:
    known = Substitution()
    assert known.assign(types.list_of(A), types.list_of(types.INT))
    assert known.apply(types.map_of(A, B)) == types.map_of(types.INT, B)


def test_a_variable_cannot_be_two_things() -> None:
    known = Substitution()
    assert not known.assign_all((A, A), (types.INT, types.STRING))


def test_a_question_answered_no_teaches_nothing() -> None:
    known = Substitution()
    assert known.assign(A, types.INT)
    assert not known.assign_all((B, A), (types.STRING, types.STRING))
    assert known.apply(types.map_of(A, B)) == types.map_of(types.INT, B)


def test_what_is_still_unknown_at_the_end_is_dyn() -> None:
    assert Substitution().finish({7: types.list_of(A)}) == {7: types.list_of(types.DYN)}


def test_a_variable_is_never_bound_to_something_it_is_part_of() -> None:
    assert not Substitution().assign(A, types.list_of(A))


def test_dyn_and_error_agree_with_everything() -> None:
    assert Substitution().assign(types.DYN, types.INT)
    assert Substitution().assign(types.QUANTITY, types.ANY)
    assert Substitution().assign(types.ERROR, types.STRING)


def test_null_agrees_with_messages_only() -> None:
    assert Substitution().assign(types.SEMVER, types.NULL)
    assert not Substitution().assign(types.STRING, types.NULL)


def test_of_two_types_that_agree_the_one_that_says_less_is_kept() -> None:
    dynamic, exact = types.list_of(types.DYN), types.list_of(types.INT)
    assert most_general(exact, dynamic) == dynamic
    assert most_general(dynamic, exact) == dynamic


def test_a_variable_that_stands_for_too_large_a_type_is_not_replaced() -> None:
    known = Substitution()
    for level in range(100):
        inner = types.parameter(f"V{level + 1}")
        assert known.assign(types.parameter(f"V{level}"), types.map_of(inner, inner))
    with pytest.raises(TypeTooLarge):
        known.apply(types.parameter("V0"))


def test_the_types_of_one_expression_share_what_they_are_made_of() -> None:
    known = Substitution()
    assert known.assign(A, types.INT)
    inner = types.list_of(A)
    finished = known.finish({1: inner, 2: types.list_of(inner)})
    assert finished[2].parameters[0] is finished[1]


def test_a_comparison_that_grows_with_every_level_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Each level is met twice by the level above, and of the two leaves, int and dyn, one says
    # less on the left and the other on the right: no variable is ever settled.
    monkeypatch.setattr(_unify, "TYPE_STEPS_MAX", 50_000)
    known = Substitution()
    left, right = types.INT, types.INT
    for level in range(40):
        first, second = types.parameter(f"V{level}"), types.parameter(f"W{level}")
        inner = types.map_of(types.map_of(left, left), types.INT)
        assert known.assign(first, types.map_of(inner, types.DYN))
        assert known.assign(second, types.map_of(types.map_of(right, right), types.DYN))
        left, right = first, types.map_of(second, types.INT)
    with pytest.raises(TooManySteps):
        known.assign(left, right)


def test_types_nest_deeper_than_the_stack() -> None:
    unknown, deep = A, types.INT
    for _ in range(900):
        unknown, deep = types.list_of(unknown), types.list_of(deep)
    known = Substitution()
    assert known.assign(unknown, deep)
    assert known.apply(unknown).is_exactly(deep)
    assert most_general(types.list_of(types.DYN), deep) == types.list_of(types.DYN)
    assert most_general(deep, unknown).is_exactly(unknown)
