from __future__ import annotations

import pytest

from dray.cel._grammar import RULE_END, RULES, listed, next_tokens

OPERAND = {"[", "{", "(", ".", "-", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT"}
OPERAND |= {"STRING", "BYTES", "IDENTIFIER"}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("primary", OPERAND),
        ("unary", OPERAND | {"!"}),
        ("optExpr", OPERAND | {"!", "?"}),
        ("escapeIdent", {"IDENTIFIER", "ESC_IDENTIFIER"}),
    ],
)
def test_a_rule_begins_with_its_tokens(rule: str, expected: set[str]) -> None:
    assert next_tokens(RULES[rule].start) == expected


def test_where_a_rule_may_end_it_says_so() -> None:
    assert RULE_END in next_tokens(RULES["exprList"].body[1].state)


def test_one_token_is_listed_alone_and_several_in_grammar_order() -> None:
    assert listed([")"]) == "')'"
    assert listed(["IDENTIFIER", "]", "<EOF>"]) == "{<EOF>, ']', IDENTIFIER}"
