from __future__ import annotations

from dray.cel._failures import no_such_overload


def test_a_function_without_overload_names_the_types_it_met() -> None:
    text = str(no_such_overload("compareTo", "a", [1]))
    assert text == "no such overload: compareTo(string, list)"
