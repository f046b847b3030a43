"""Whatever is written, compiling ends, and what compiles gets one answer whichever way it is asked.

The texts are near the language: its pieces in any order, recorded expressions with changes, and
every way of nesting at and around the bounds. No time is measured; a bound that breaks makes this
module run for minutes, or run out of the memory it is given.
"""

from __future__ import annotations

import random
import resource
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.cel import EXPRESSION_LENGTH_MAX, DeviceView, compile_selector
from dray.cel._compiler import compile_any
from tests.fuzz.expressions import generated, mutated, soup, views
from tests.fuzz.properties import ENVIRONMENTS, STORED, examine, from_depth
from tests.unit.cel.devices import view
from tests.unit.cel.expressions import devices, selectors

MEMORY_BYTES = 3 * 1024**3
DEEP_FRAMES = 700
VIEWS = (view({"model": "a", "x": 1, "list": [1, 2]}, {"memory": "1Gi"}), view())


@pytest.fixture(autouse=True)
def _bounded_memory() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


seeds = st.integers(0, 2**32)
"""Of a source of its own for each text: changing what a seed gives must not cost hypothesis's
patience, and a failing text is shown as it is."""


@st.composite
def drawn(draw: st.DrawFn, make: Callable[[random.Random], str]) -> tuple[str, list[DeviceView]]:
    source = random.Random(draw(seeds))
    return make(source), views(source)


@pytest.mark.slow
@settings(max_examples=80)
@given(drawn(soup))
def test_pieces_of_the_grammar_in_any_order_never_raise(
    asked: tuple[str, list[DeviceView]],
) -> None:
    examine(*asked)


@pytest.mark.slow
@settings(max_examples=150)
@given(drawn(mutated))
def test_changed_expressions_get_one_answer(asked: tuple[str, list[DeviceView]]) -> None:
    examine(*asked)


@pytest.mark.slow
@settings(max_examples=60)
@given(drawn(generated))
def test_fresh_expressions_get_one_answer(asked: tuple[str, list[DeviceView]]) -> None:
    examine(*asked)


@pytest.mark.slow
@settings(max_examples=50)
@given(selectors, st.lists(devices(), max_size=4))
def test_selectors_get_one_answer_however_deep_the_caller(
    text: str, asked: list[DeviceView]
) -> None:
    assert from_depth(DEEP_FRAMES, lambda: examine(text, asked)) == examine(text, asked)


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_ends_in_a_compilation(text: str) -> None:
    for environment in ENVIRONMENTS:
        assert compile_selector(text, environment).expression == text


# Nesting ---------------------------------------------------------------------------------------

NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda depth: "(" * depth + "true" + ")" * depth,
    "lists": lambda depth: "[" * depth + "1" + "]" * depth + " == dyn(1)",
    "maps": lambda depth: "{1: " * depth + "1" + "}" * depth + " == dyn(1)",
    "keys": lambda depth: "{dyn(" * depth + "1" + "): 1}" * depth + " == dyn(1)",
    "messages": lambda depth: (
        "google.protobuf.Value{list_value: [" * depth + "1" + "]}" * depth + " == dyn(1)"
    ),
    "negations": lambda depth: "!(" * depth + "true" + ")" * depth,
    "signs": lambda depth: "-(" * depth + "1" + ")" * depth + " == 1",
    "bare-signs": lambda depth: "-" * depth + "1 == 1",
    "bare-negations": lambda depth: "!" * depth + "true",
    "sums": lambda depth: "+".join(["1"] * depth) + " == 1",
    "sums-on-the-right": lambda depth: "1+(" * depth + "1" + ")" * depth + " == 1",
    "products": lambda depth: "1+1*(" * depth + "1" + ")" * depth + " == 1",
    "comparisons": lambda depth: " == ".join(["true"] * depth),
    "conjunctions": lambda depth: " && ".join(["true"] * depth),
    "disjunctions-of-conjunctions": lambda depth: (
        "(false || (true && " * depth + "true" + "))" * depth
    ),
    "choices": lambda depth: "true ? true : " * depth + "true",
    "choices-in-conditions": lambda depth: "(" * depth + "true" + " ? true : false)" * depth,
    "fields": lambda depth: "dyn(1)" + ".a" * depth + " == 1",
    "indexes": lambda depth: "dyn(1)" + "[0]" * depth + " == 1",
    "indexes-in-indexes": lambda depth: "[0][" * depth + "0" + "]" * depth + " == 0",
    "optional-fields": lambda depth: "device" + ".?attributes" * depth + ".hasValue()",
    "optional-indexes": lambda depth: "dyn({})" + "[?1]" * depth + ".hasValue()",
    "methods": lambda depth: "'a'" + ".trim()" * depth + " == 'a'",
    "methods-in-arguments": lambda depth: (
        "'a'.replace('a', " * depth + "'b'" + ")" * depth + " != ''"
    ),
    "calls": lambda depth: "dyn(" * depth + "true" + ")" * depth,
    "conversions": lambda depth: "string(" * depth + "1" + ")" * depth + " == '1'",
    "loops": lambda depth: "[1].all(x, " * depth + "true" + ")" * depth,
    "loops-over-attributes": lambda depth: (
        "device.attributes.exists(x, " * depth + "false" + ")" * depth
    ),
    "ranges": lambda depth: "[1]" + ".map(x, x)" * depth + " == [1]",
    "ranges-of-ranges": lambda depth: "[1].map(x, " * depth + "1" + ")" * depth + " == dyn(1)",
    "binds": lambda depth: "cel.bind(x, device.driver, " * depth + "true" + ")" * depth,
    "binds-in-binds": lambda depth: "cel.bind(x, " * depth + "true" + ", x)" * depth,
    "optional-maps": lambda depth: (
        "optional.of(1).optMap(x, " * depth + "1" + ")" * depth + ".hasValue()"
    ),
    "presence": lambda depth: "has(device" + ".attributes" * depth + ")",
}
DEPTHS = (12, 124, 125, 249, 250, 251)
EXPLAINED_DEPTH = 124
"""Explaining evaluates the parts of a failing one by one; once for each shape is enough."""


@pytest.mark.slow
@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED.keys())
def test_nesting_ends_at_and_around_the_bounds(shape: Callable[[int], str]) -> None:
    for depth in DEPTHS:
        ask = partial(
            examine,
            shape(depth),
            VIEWS[:1],
            environments=[STORED],
            explained=depth == EXPLAINED_DEPTH,
        )
        from_depth(DEEP_FRAMES, ask)


# Length ----------------------------------------------------------------------------------------


def filled(before: str, piece: str, after: str = "") -> str:
    """As many pieces as fit into the longest expression; `$` is the number of a piece."""
    room = EXPRESSION_LENGTH_MAX - len((before + after).encode())
    pieces: list[str] = []
    while room > 0:
        made = piece.replace("$", str(len(pieces)))
        room -= len(made.encode())
        pieces.append(made)
    return before + "".join(pieces[:-1]) + after


LONG = {
    "a-name": filled("", "a"),
    "dots": filled("", "."),
    "spaces": filled("", " ", "true"),
    "comments": filled("", "//\n", "true"),
    "lines": filled("", "\n", "x"),
    "one-line-of-errors": filled("", "\\"),
    "wide-characters": filled('"', "世", '" == ""'),
    "stray-characters": filled("", "𝄞"),
    "an-integer": filled("", "9"),
    "a-hexadecimal": filled("0x", "f"),
    "a-double": filled("1.", "9", " == 1.0"),
    "an-exponent": filled("1e", "9", " == 1.0"),
    "a-text": filled('"', "a", '" == ""'),
    "escapes": filled('"', r"\u00e9", '" == ""'),
    "an-open-text": filled('"', "a"),
    "open-texts": filled("", '"""'),
    "quotes": filled("", "`"),
    "bytes": filled("b'", r"\xff", "' == b''"),
    "elements": filled("[", "1,", "1] == []"),
    "wide-membership": filled("dyn(1) in [", "'a$',", "1]"),
    "entries": filled("{", "$:1,", "} == {}"),
    "mixed-entries": filled("{", "'$':[],", "} == {}"),
    "conjunctions": filled("", "true&&", "true"),
    "attributes": filled("", "device.attributes.d.a$==1||", "false"),
    "comparisons": filled("", "1==", "1"),
    "sums": filled("", "1+", "1 == 1"),
    "differences": filled("", "1- -", "1 == 1"),
    "choices": filled("", "true?1:", "1"),
    "arguments": filled("math.greatest(", "1,", "1) == 1"),
    "too-many-arguments": filled("size(", "1,", "1) == 1"),
    "fields": filled("device", ".a"),
    "unknown-names": filled("", "a$ && ", "true"),
    "unknown-functions": filled("", "f$() && ", "true"),
    "message-fields": filled("google.protobuf.Value{", "a$:1,", "}"),
    "open-brackets": filled("", "["),
    "open-braces": filled("", "{"),
    "open-calls": filled("", "f("),
    "closing-brackets": filled("", ")"),
    "open-loops": filled("", "[1].all(x,"),
    "binds": filled("", "cel.bind(a$,1,"),
    "patterns": filled('"a".matches("', "(a*)*", '")'),
    "counted-patterns": filled('"a".matches("', "a{1000}", '")'),
    "alternatives": filled('"a".matches("', "a|", '")'),
    "templates": filled('"', "%s", '".format([1]) == ""'),
    "precision": filled('"%.', "9", 'f".format([1.0]) == ""'),
    "a-quantity": filled('quantity("', "9", '").isInteger()'),
    "a-quantity-exponent": filled('quantity("1e', "9", '").isInteger()'),
    "a-version": filled('semver("1.2.', "9", '") == semver("1.2.3")'),
    "a-duration": filled('duration("', "9h", '") == duration("1s")'),
    "a-timestamp": filled('timestamp("2024-01-01T00:00:00.', "9", 'Z") == timestamp(0)'),
    "an-address": filled('isIP("', "::1", '")'),
    "a-url": filled('url("http://a/?', "a=b&", '").getQuery() == {}'),
    "a-converted-integer": filled('int("', "9", '") == 1'),
    "a-converted-double": filled('double("', "9", '") == 1.0'),
    "split": filled('"', "a,", '".split(",").size() == 0'),
    "copies": filled("optional.of(1)", ".optMap(x,x)", ".hasValue()"),
    "two-sides": filled("[", "[1],", "[]].flatten() == [[1]].map(x, x)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_the_longest_expressions_end(text: str) -> None:
    assert len(text.encode()) <= EXPRESSION_LENGTH_MAX
    examine(text, VIEWS[:1], environments=[STORED])


def test_an_expression_that_is_longer_is_refused_by_its_length_alone() -> None:
    text = "(" * (EXPRESSION_LENGTH_MAX + 1)
    compilation = compile_any(text, STORED)
    assert compilation.error is not None
    assert compilation.error.detail == "must not be longer than 10240 bytes, this is 10241"
