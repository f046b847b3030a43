from __future__ import annotations

import pytest

from dray.cel._builder import Builder, TooLarge, is_reserved
from dray.cel._lexer import INT, STRING, UINT, Token
from dray.cel._limits import NODES_MAX
from dray.cel._nodes import Broken, Literal
from dray.cel._source import Issues, Source


@pytest.fixture
def issues() -> Issues:
    return Issues(Source("a text that is long enough"))


@pytest.fixture
def build(issues: Issues) -> Builder:
    return Builder(issues)


@pytest.mark.parametrize(
    ("kind", "text", "sign", "message"),
    [
        (INT, "9223372036854775808", False, "invalid int literal"),
        (INT, "9" * 9000, True, "invalid int literal"),
        (UINT, "18446744073709551616u", False, "invalid uint literal"),
        ("NUM_FLOAT", "1e400", False, "invalid double literal"),
        (STRING, r"'\ud800'", False, "invalid unicode code point"),
    ],
)
def test_a_literal_out_of_range_is_reported(
    build: Builder, issues: Issues, kind: str, text: str, sign: bool, message: str
) -> None:
    build.literal(Token(kind, text, 3), Token("-", "-", 2) if sign else None)
    assert [(issue.message, issue.column) for issue in issues.sorted()] == [
        (message, 2 if sign else 3)
    ]


def test_the_smallest_integer_needs_its_sign(build: Builder) -> None:
    node = build.literal(Token(INT, "9223372036854775808", 1), Token("-", "-", 0))
    assert isinstance(node, Literal)
    assert node.value == -(2**63)


def test_a_reserved_word_is_no_variable(build: Builder, issues: Issues) -> None:
    node = build.identifier(None, Token("IDENTIFIER", "namespace", 0))
    assert isinstance(node, Broken)
    assert issues.sorted()[0].message == "reserved identifier: namespace"


def test_reserved_words_are_told_from_others() -> None:
    assert is_reserved(Token("IDENTIFIER", "while", 0))
    assert not is_reserved(Token("IDENTIFIER", "whilst", 0))


def test_an_even_number_of_signs_cancels_out(build: Builder) -> None:
    operand = build.identifier(None, Token("IDENTIFIER", "a", 2))
    minus = Token("-", "-", 0)
    assert build.unary([minus, minus], operand) is operand
    assert build.unary([minus], operand) is not operand


def test_a_tree_has_a_bounded_number_of_nodes(build: Builder) -> None:
    for _ in range(NODES_MAX):
        build.next_id()
    with pytest.raises(TooLarge):
        build.next_id()
