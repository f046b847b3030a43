from __future__ import annotations

from dray.cel import _types as types
from dray.cel._unify import Substitution, most_general

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
    assert Substitution().apply(types.list_of(A), finish=True) == types.list_of(types.DYN)


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
