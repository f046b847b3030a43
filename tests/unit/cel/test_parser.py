from __future__ import annotations

import pytest

from dray.cel._builder import Builder
from dray.cel._lexer import tokens
from dray.cel._limits import RECURSION_MAX
from dray.cel._nodes import (
    Call,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    Node,
    Select,
)
from dray.cel._parser import TooDeep, parse
from dray.cel._source import Issues, Source


def tree(text: str) -> Node | None:
    found = tokens(text)
    assert found is not None
    return parse(found, Builder(Issues(Source(text))))


def shown(node: Node | None) -> str:
    """The tree with every operator written as a call."""
    match node:
        case Literal():
            return repr(node.value)
        case Identifier():
            return node.name
        case Select():
            return f"{shown(node.operand)}.{node.field}"
        case Call():
            target = f"{shown(node.target)}." if node.target else ""
            return f"{target}{node.function}({', '.join(map(shown, node.arguments))})"
        case ListLiteral():
            return f"[{', '.join(map(shown, node.elements))}]"
        case MapLiteral():
            pairs = [f"{shown(entry.key)}: {shown(entry.value)}" for entry in node.entries]
            return f"{{{', '.join(pairs)}}}"
        case MessageLiteral():
            fields = [f"{field.name}: {shown(field.value)}" for field in node.fields]
            return f"{node.name}{{{', '.join(fields)}}}"
    return repr(node)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 4", "_-_(_+_(1, _*_(2, 3)), 4)"),
        ("a == b < c", "_<_(_==_(a, b), c)"),
        ("a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"),
        ("a && b && c && d", "_&&_(_&&_(a, b), _&&_(c, d))"),
        ("a || b && c", "_||_(a, _&&_(b, c))"),
        ("!!a", "a"),
        ("!a.b", "!_(a.b)"),
        ("-1", "-1"),
        ("--1", "1"),
        ("-a", "-_(a)"),
        ("1 -1", "_-_(1, 1)"),
        ("a.b[c].d(e)", "_[_](a.b, c).d(e)"),
        ("a.?b[?c]", "_[?_](_?._(a, 'b'), c)"),
        ("a.`b/c`", "a.b/c"),
        (".a.b", ".a.b"),
        ("[1, ?a,]", "[1, a]"),
        ("[,]", "[]"),
        ("{1: 2u, ?a: b}", "{1: 2u, a: b}"),
        ("a.b{c: 1}", "a.b{c: 1}"),
        ("x in [1]", "@in(x, [1])"),
    ],
)
def test_an_expression_is_read_by_precedence(text: str, expected: str) -> None:
    assert shown(tree(text)) == expected


@pytest.mark.parametrize(
    "text", ["", "1 +", "a b", "(", "a ? b ? c : d : e", "-!a", "a.in", "[1,,]"]
)
def test_what_is_not_one_expression_has_no_tree(text: str) -> None:
    assert tree(text) is None


def test_a_node_stands_at_its_operator() -> None:
    node = tree("abc  ==  d")
    assert node is not None
    assert node.offset == 5


def test_nesting_is_bounded() -> None:
    assert tree("(" * (RECURSION_MAX - 1) + "1" + ")" * (RECURSION_MAX - 1)) is not None
    with pytest.raises(TooDeep):
        tree("(" * RECURSION_MAX + "1" + ")" * RECURSION_MAX)
