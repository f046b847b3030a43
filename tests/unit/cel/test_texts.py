from __future__ import annotations

import pytest

from dray.cel.texts import fits_format, matches, pattern_problem


def test_a_pattern_is_found_anywhere_in_a_text() -> None:
    assert matches("xaay", "a+")
    assert not matches("xaay", "^a+$")


def test_a_pattern_that_does_not_compile_is_found_nowhere() -> None:
    assert not matches("(", "(")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("^[a-z]+$", None),
        ("(", "error parsing regexp: missing closing ): `(`"),
        ("(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
    ],
)
def test_go_says_what_is_wrong_with_a_pattern(pattern: str, problem: str | None) -> None:
    assert pattern_problem(pattern) == problem


def test_a_text_is_in_a_format_of_expressions() -> None:
    assert fits_format("2020-01-01", "date")
    assert not fits_format("yesterday", "date")
    assert not fits_format("x", "no such format")
