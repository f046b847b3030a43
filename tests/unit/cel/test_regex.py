from __future__ import annotations

import pytest

from dray.cel._regex import PatternError, validate_pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^a.*z$",
        "a{2,3}?",
        "(?i:a)(?-s)b",
        "(?P<name>a)(?<other>b)",
        r"\pL\p{Greek}[[:alpha:]\d-]",
        r"\x{10FFFF}\012\Qa*b\E",
        "a{,2}",
        "[]a]",
        "(a{100}){10}",
        "(" * 400 + ")" * 400,
    ],
)
def test_a_pattern_of_gos_language_passes(pattern: str) -> None:
    validate_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[", "missing closing ]: `[`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("((a{100}){11})", "invalid repeat count: `{11}`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        (r"\pX", r"invalid character class range: `\pX`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
        ("(?P<a b>c)", "invalid named capture: `(?P<a b>`"),
    ],
)
def test_a_pattern_go_refuses_is_refused_in_gos_words(pattern: str, message: str) -> None:
    with pytest.raises(PatternError) as refused:
        validate_pattern(pattern)
    assert str(refused.value) == f"error parsing regexp: {message}"


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(" * 1001 + ")" * 1001, "expression nests too deeply"),
        ("(" + "a" * 4000 + "){1000}", "expression too large"),
    ],
    ids=["height", "size"],
)
def test_a_pattern_has_bounds(pattern: str, problem: str) -> None:
    with pytest.raises(PatternError, match=problem):
        validate_pattern(pattern)
