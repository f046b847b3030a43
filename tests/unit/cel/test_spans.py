from __future__ import annotations

import pytest

from dray.cel._spans import Spans, one_line


@pytest.mark.parametrize(
    ("text", "operator", "left", "right"),
    [
        ("a == b", "==", "a", "b"),
        ("x && f(a, b).c >= 1 + 2 || y", ">=", "f(a, b).c", "1 + 2"),
        ("(a.?b == c)", "==", "a.?b", "c"),
        ("f(1, a[?0] != b, 2)", "!=", "a[?0]", "b"),
        ("c ? a < b : d", "<", "a", "b"),
    ],
)
def test_a_comparison_has_a_left_and_a_right(
    text: str, operator: str, left: str, right: str
) -> None:
    spans = Spans(text)
    (index,) = [at for at, token in enumerate(spans.tokens) if token.kind == operator]
    assert spans.operands(index) == (left, right)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("x && a.b.c(", "a.b.c"),
        ('device.attributes["d"].x.f(', 'device.attributes["d"].x.f'),
        ("1 + a.?b[?0].c(", "a.?b[?0].c"),
        ("!(a)(", "(a)"),
        ("quantity(a).f(", "quantity(a).f"),
    ],
)
def test_a_path_is_found_from_its_end(text: str, path: str) -> None:
    spans = Spans(text)
    last = len(spans.tokens) - 1
    assert spans.text(spans.path_before(last), last) == path


def test_parentheses_around_all_are_trimmed_and_no_others() -> None:
    spans = Spans("((a) && (b))")
    assert spans.text(*spans.trimmed(0, len(spans.tokens))) == "(a) && (b)"


def test_the_arguments_of_a_call_are_split_at_its_own_commas() -> None:
    spans = Spans("f(a, g(b, c), [d, e])")
    assert [spans.text(*one) for one in spans.arguments(1)] == ["a", "g(b, c)", "[d, e]"]
    assert Spans("f()").arguments(1) == []


@pytest.mark.parametrize("text", ["'open", "", "a ~ b"])
def test_what_has_no_tokens_has_no_parts(text: str) -> None:
    assert Spans(text).tokens == []
    assert Spans(text).at(0) is None


@pytest.mark.parametrize("text", ["((a", "a))", "f(a, (b]", "[{("])
def test_brackets_that_do_not_match_have_no_partner(text: str) -> None:
    spans = Spans(text)
    for index in range(len(spans.tokens)):
        assert spans.arguments(index) == []
        spans.operands(index)
        assert 0 <= spans.path_before(index) <= index


def test_a_text_goes_on_one_line() -> None:
    assert one_line("a\n  &&\tb ") == "a && b"


@pytest.mark.parametrize(
    ("text", "token", "found"),
    [
        ("a && b || c", "b", ["b", "a && b || c"]),
        ("a && (b || c)", "b", ["b", "b || c", "(b || c)", "a && (b || c)"]),
        ("a ? b.?c : d", "b", ["b.?c", "a ? b.?c : d"]),
        ("a && f(x, b) > 1", "b", ["f(x, b) > 1", "a && f(x, b) > 1"]),
        ("cel.bind(x, a, b && c)", "b", ["b", "b && c", "cel.bind(x, a, b && c)"]),
        ("cel.bind(x, a, b)", "a", ["cel.bind(x, a, b)"]),
    ],
)
def test_conditions_are_found_from_the_inside(text: str, token: str, found: list[str]) -> None:
    spans = Spans(text)
    index = [one.text for one in spans.tokens].index(token)
    assert [spans.text(*one) for one in spans.conditions(index)] == found


@pytest.mark.parametrize(
    ("text", "chooses"),
    [("a || b", True), ("(a || b) && c", False), ("a ? b : c", True), ("a.?b", False)],
)
def test_alternatives_are_seen_outside_of_brackets(text: str, chooses: bool) -> None:
    spans = Spans(text)
    assert spans.chooses(0, len(spans.tokens)) is chooses
