from __future__ import annotations

import pytest

from dray.cel._source import Issues, Source
from dray.cel._syntax import report_syntax_errors


def reported(text: str) -> list[tuple[int, str]]:
    source = Source(text)
    issues = Issues(source)
    report_syntax_errors(source, issues)
    return [(issue.column, issue.message) for issue in issues.sorted()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + # 2", [(4, "Syntax error: token recognition error at: '#'")]),
        ("a & b", (2, "Syntax error: token recognition error at: '& '")),
        ('"abc', (0, "Syntax error: token recognition error at: '\"abc'")),
        (r"'a\q' == 1", (0, r"Syntax error: token recognition error at: ''a\q'")),
        ("`` == 1", (0, "Syntax error: token recognition error at: '``'")),
    ],
)
def test_characters_that_start_no_token_are_shown(
    text: str, expected: tuple[int, str] | list[tuple[int, str]]
) -> None:
    found = reported(text)
    assert found == expected if isinstance(expected, list) else found[0] == expected


def test_what_can_be_read_is_looked_at_too() -> None:
    assert reported("namespace b") == [
        (0, "reserved identifier: namespace"),
        (10, "Syntax error: extraneous input 'b' expecting <EOF>"),
    ]


def test_nobody_looks_into_a_call_that_cannot_be() -> None:
    assert [message for _, message in reported("if(while) b")] == [
        "reserved identifier: if",
        "Syntax error: extraneous input 'b' expecting <EOF>",
    ]


def test_a_missing_part_breaks_the_macro_around_it() -> None:
    assert reported("has(.")[0] == (-1, "invalid argument to has() macro")
