from __future__ import annotations

import pytest

from dray.cel._lexer import tokens
from dray.cel._limits import SYNTAX_ERRORS_MAX
from dray.cel._parser import TooDeep
from dray.cel._recovery import GaveUp, Reader, limited

OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING,"
    " BYTES, IDENTIFIER}"
)


def errors(text: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    lexed = tokens(text)
    assert lexed is not None
    Reader(iter(lexed), lambda offset, message: found.append((offset, message))).read()
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", [(2, "extraneous input 'b' expecting <EOF>")]),
        ("1 +", [(3, f"mismatched input '<EOF>' expecting {OPERAND}")]),
        ("{1 2}", [(3, "missing ':' at '2'")]),
        ("f(1 2)", [(4, "extraneous input '2' expecting ')'")]),
        ("a.", [(2, "no viable alternative at input '.'")]),
        ("[1 2]", [(3, "extraneous input '2' expecting {']', ','}")]),
        ("a.true", [(2, "mismatched input 'true' expecting IDENTIFIER")]),
        ("!-x", [(2, "no viable alternative at input '-x'")]),
        ("a ? b", [(5, "mismatched input '<EOF>' expecting ':'")]),
    ],
)
def test_a_mistake_is_worded_as_the_generated_parser_words_it(
    text: str, expected: list[tuple[int, str]]
) -> None:
    assert errors(text)[:1] == expected


def test_reading_goes_on_after_a_mistake() -> None:
    assert [offset for offset, _ in errors("a ? : c")] == [4, 7]


def test_an_expression_has_no_mistakes() -> None:
    assert errors("a.b[1] ? -1 : {1: [2]}.c(x{y: 1})") == []


def test_depth_is_bounded_while_recovering_too() -> None:
    with pytest.raises(TooDeep):
        errors("(" * 300)


def test_skipping_is_bounded() -> None:
    with pytest.raises(GaveUp, match="lookahead limit exceeded: 256"):
        errors(")" * 300)


def test_syntax_errors_are_bounded() -> None:
    reported: list[str] = []
    report = limited(lambda _, message: reported.append(message))
    for _ in range(SYNTAX_ERRORS_MAX):
        report(0, "wrong")
    with pytest.raises(GaveUp):
        report(0, "wrong")
    assert reported[-1] == "Syntax error: More than 100 syntax errors"
