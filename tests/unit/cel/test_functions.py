from __future__ import annotations

from dray.cel import _types as types
from dray.cel._functions import functions


def test_a_signature_is_read_with_its_receiver_and_type_parameters() -> None:
    [overload] = functions(includes=False)["orValue"].overloads
    value = types.parameter("V")
    assert overload.member
    assert overload.arguments == (types.optional_of(value), value)
    assert overload.result == value
    assert overload.type_parameters == ("V",)


def test_a_function_in_several_tables_has_all_its_overloads() -> None:
    ids = [overload.id for overload in functions(includes=False)["compareTo"].overloads]
    assert ids == ["quantity_compare_to", "semver_compare_to"]


def test_includes_is_there_only_when_asked_for() -> None:
    assert "includes" in functions(includes=True)
    assert "includes" not in functions(includes=False)
