from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cel import (
    COST_UNKNOWN,
    EXPRESSION_LENGTH_MAX,
    Environment,
    _unify,
    compile_derived_attribute,
    compile_selector,
)
from dray.cel._limits import TYPE_PARTS_MAX

Answer = TypeVar("Answer")

NEW = Environment()
STORED = Environment(stored=True)


def test_a_compilation_carries_all_that_is_known() -> None:
    compilation = compile_selector('device.driver == "x"', NEW)
    assert compilation.ok
    assert str(compilation.output_type) == "bool"
    assert compilation.max_cost == 3
    assert compilation.checked is not None


def test_an_error_carries_text_and_places() -> None:
    compilation = compile_selector("device.driver == nope", NEW)
    assert not compilation.ok
    assert compilation.max_cost == COST_UNKNOWN
    assert compilation.error is not None
    assert compilation.error.kind == "invalid"
    assert compilation.error.detail == (
        "compilation failed: ERROR: <input>:1:18: undeclared reference to 'nope' (in container '')"
        "\n | device.driver == nope\n | .................^"
    )
    [issue] = compilation.issues
    assert (issue.line, issue.column) == (1, 17)


@pytest.mark.parametrize(
    ("text", "environment", "shown"),
    [
        ("1", NEW, "int"),
        ("device.attributes", NEW, "map(string, map(string, google.protobuf.Any))"),
        ("dyn(true)", NEW, "dyn"),
        ('google.protobuf.Any{type_url: "x"}', STORED, "google.protobuf.Any"),
        ("optional.of(true)", NEW, "optional_type(bool)"),
    ],
)
def test_a_selector_must_be_a_bool_or_unknown(
    text: str, environment: Environment, shown: str
) -> None:
    error = compile_selector(text, environment).error
    assert error is not None
    assert error.detail == f"must evaluate to bool or the unknown type, not {shown}"


@pytest.mark.parametrize(
    ("text", "environment", "allowed"),
    [
        ("1", NEW, True),
        ("device.driver", NEW, True),
        ('semver("1.0.0")', NEW, True),
        ('device.attributes["d"].x', NEW, True),
        ("1u", NEW, False),
        ("1.5", NEW, False),
        ('quantity("1")', NEW, False),
        ("[1]", NEW, False),
        ("[1]", STORED, True),
        ("[[1]]", STORED, False),
        ("[1.5]", STORED, False),
    ],
)
def test_a_derived_attribute_is_a_scalar_or_where_allowed_a_list(
    text: str, environment: Environment, allowed: bool
) -> None:
    assert compile_derived_attribute(text, environment).ok is allowed


def test_the_rule_for_a_derived_attribute_mentions_lists_only_where_they_are_allowed() -> None:
    new = compile_derived_attribute("1u", NEW).error
    stored = compile_derived_attribute("1u", STORED).error
    assert new is not None
    assert stored is not None
    scalar = "must evaluate to a primitive scalar (string, integer, boolean, semver)"
    assert new.detail == f"{scalar}, not uint"
    assert stored.detail == f"{scalar} or a list of these scalars, not uint"


def test_a_text_is_compiled_once() -> None:
    assert compile_selector("true", NEW) is compile_selector("true", Environment())


@pytest.mark.parametrize(
    "text",
    ["[" + "1, " * 2000 + "1] == [1]", "[" + "x, " * 300 + "x] == [1]"],
    ids=["tree", "errors"],
)
def test_what_is_too_large_to_keep_is_compiled_again(text: str) -> None:
    first, second = compile_selector(text, NEW), compile_selector(text, NEW)
    assert first is not second
    assert (first.error, first.max_cost) == (second.error, second.max_cost)


def test_length_is_counted_in_bytes_before_anything_is_read() -> None:
    longest = "é" * (EXPRESSION_LENGTH_MAX // 2)
    at_most = compile_selector(longest, NEW).error
    beyond = compile_selector(longest + "x", NEW).error
    assert at_most is not None
    assert beyond is not None
    assert "Syntax error" in at_most.detail
    assert beyond.detail == "must not be longer than 10240 bytes, this is 10241"


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10240,
        "[" * 10240,
        "-" * 10240,
        '"' * 10240,
        "#" * 10240,
        "a" + ".a" * 5000,
        "1" + "+1" * 5000,
        "optional.of(1)" + ".optMap(x,x)" * 400,
        "'x'.matches('" + "(" * 5000 + "')",
        "a\0b",
        "'\ud800' == 1",
        "\udfff",
        "",
    ],
    ids=[
        "parens",
        "brackets",
        "minus",
        "quotes",
        "hashes",
        "members",
        "sum",
        "optMap",
        "pattern",
        "nul",
        "surrogate",
        "lone",
        "empty",
    ],
)
def test_a_hostile_text_is_refused_and_no_more(text: str) -> None:
    error = compile_selector(text, STORED).error
    assert error is not None
    assert error.detail


@pytest.mark.parametrize("depth", [33, 100, 249])
@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("[1].all(x, ", ")"), ("dyn(", ")")])
def test_an_expression_may_nest_as_deep_as_upstream_allows(
    opening: str, closing: str, depth: int
) -> None:
    assert compile_selector(opening * depth + "true" + closing * depth, STORED).ok


def doubling(levels: int, result: str) -> str:
    """Every `{a: a}` has a type twice as large as the one of `a`."""
    bindings = "".join(f"cel.bind(a{n + 1}, {{a{n}: a{n}}}, " for n in range(levels))
    return f"cel.bind(a0, 1, {bindings}{result})" + ")" * levels


@pytest.mark.parametrize("levels", [24, 200])
@pytest.mark.parametrize("result", ["true", "a9 == 1", "[1].all(x, [] == [a9])"])
def test_a_type_that_doubles_with_every_level_is_refused(levels: int, result: str) -> None:
    error = compile_selector(doubling(levels, result), NEW).error
    assert error is not None
    assert error.kind == "invalid"
    assert error.detail == (
        "compilation failed: ERROR: <input>:-1:0:"
        f" expression has a type of more than {TYPE_PARTS_MAX} parts"
    )


def test_a_type_that_doubles_a_few_times_is_as_good_as_any() -> None:
    assert compile_selector(doubling(8, "a8 == {}"), NEW).ok
    error = compile_selector(doubling(8, "a8 == 1"), NEW).error
    assert error is not None
    assert "found no matching overload for '_==_' applied to '(map(map(" in error.detail


def test_types_that_take_too_long_to_compare_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_unify, "TYPE_STEPS_MAX", 10)
    error = compile_selector("[[[[[1]]]]] == [[[[[2]]]]] && [[1]] == [[3]]", NEW).error
    assert error is not None
    assert error.kind == "invalid"
    assert "expression needs more than" in error.detail


def called_deep(frames: int, function: Callable[[], Answer]) -> Answer:
    return called_deep(frames - 1, function) if frames else function()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 245 + "1" + "]" * 245 + " == " + "[" * 245 + "1u" + "]" * 245,
        "[" * 245 + "1" + "]" * 245 + " == " + "[" * 245 + "]" * 245,
        "{1:" * 245 + "1" + "}" * 245 + " == " + "{2:" * 245 + "dyn(1)" + "}" * 245,
        "[" * 200 + "1" + "]" * 200,
        doubling(200, "true"),
    ],
    ids=["mismatch", "variables", "dyn", "result", "doubling"],
)
def test_the_answer_does_not_depend_on_the_stack_of_the_caller(text: str) -> None:
    # The spaces keep the cache from giving both the same answer.
    shallow = compile_selector(text + " ", NEW)
    deep = called_deep(800, lambda: compile_selector(text + "  ", NEW))
    assert deep.max_cost == shallow.max_cost
    assert [issue.message for issue in deep.issues] == [issue.message for issue in shallow.issues]
    assert deep.ok is shallow.ok


def test_a_deep_mismatch_is_told_in_full() -> None:
    text = "[" * 245 + "1" + "]" * 245 + " == " + "[" * 245 + "1u" + "]" * 245
    error = compile_selector(text, NEW).error
    assert error is not None
    assert error.kind == "invalid"
    first, second = ("list(" * 245 + name + ")" * 245 for name in ("int", "uint"))
    assert f"found no matching overload for '_==_' applied to '({first}, {second})'" in error.detail


@given(st.text(alphabet="(){}[].,?:!-+*/%<>=&|\"'`\\ \n\tabxr01uédevice in has all", max_size=60))
def test_compiling_never_raises(text: str) -> None:
    compilation = compile_selector(text, STORED)
    assert compilation.ok is (compilation.checked is not None)
