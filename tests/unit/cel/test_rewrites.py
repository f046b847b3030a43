from __future__ import annotations

import pytest

from dray.api.resource import Device, DeviceAttribute
from dray.cel import DeviceView, Environment, Reference, Selector, compile_selector, conjuncts
from dray.cel._rewrites import Edit, Rewriter, apply, environment_of, keeps_answers, places, verdict
from dray.cel._spans import Spans

A = 'device.attributes["d"]'
ONE = DeviceView.of("d", Device(attributes={"x": DeviceAttribute(int_value=1)}))
NONE = DeviceView.of("d", Device())


def selector(text: str) -> Selector:
    return Selector(compile_selector(text, Environment()))


def whole(text: str, instead: str) -> list[Edit]:
    return [Edit(0, len(text), instead)]


def test_edits_are_applied_from_left_to_right_and_do_not_overlap() -> None:
    edits = [Edit(4, 5, "y"), Edit(0, 1, "long"), Edit(0, 3, "not this")]
    assert apply("a = b", edits) == "long = y"
    assert apply("ab", [Edit(1, 1, "-")]) == "a-b"


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("true", Environment()),
        ("device.allowMultipleAllocations", Environment(consumable_capacity=False)),
        (f"{A}.x.includes('a')", Environment(stored=True)),
    ],
)
def test_an_environment_is_known_by_what_compiles_in_it(
    text: str, environment: Environment
) -> None:
    compilation = compile_selector(text, environment)
    again = compile_selector(text, environment_of(compilation))
    assert (again.error, again.max_cost) == (compilation.error, compilation.max_cost)


@pytest.mark.parametrize(
    ("instead", "held"),
    [
        (f"has({A}.x) && {A}.x > 0", True),
        (f"{A}.?x.orValue(0) > 0", True),
        (f"{A}.?x.orValue(1) > 0", False),  # matches where nothing is
        (f"has({A}.x) && {A}.x > 5", False),  # another answer elsewhere
        (f"{A}.x > 0 && true", False),  # still fails
        (f'has({A}.x) && {A}.x > 0 && quantity("lots").isInteger()', False),
        ("x", False),
    ],
)
def test_an_expression_is_given_only_if_it_holds(instead: str, held: bool) -> None:
    text = f"{A}.x > 0"
    rewriter = Rewriter(selector(text), [ONE, NONE])
    assert (rewriter.false_on(NONE, whole(text, instead)) == instead) is held


def test_answers_are_kept_or_not() -> None:
    before = selector(f"{A}.x > 0")
    assert (verdict(before, ONE), verdict(before, NONE)) == (True, "no such key: x")
    assert keeps_answers(before, selector(f"has({A}.x)"), [ONE, NONE])
    assert not keeps_answers(before, selector("true"), [ONE, NONE])


def test_an_answer_on_some_device_is_enough_for_another_name() -> None:
    text = f"{A}.y > 0"
    rewriter = Rewriter(selector(text), [])
    assert rewriter.answering([NONE, ONE], whole(text, f"{A}.x > 0")) == f"{A}.x > 0"
    assert rewriter.answering([NONE], whole(text, f"{A}.x > 0")) is None


def test_places_are_found_however_they_are_written() -> None:
    text = f"{A}.x == 1 || {A}['x'] == 1 || {A}.?x.hasValue() || has({A}.x) || {A}.y == 1"
    (conjunct,) = conjuncts(selector(text))
    spans = Spans(text)
    found = places(conjunct, spans, Reference("attributes", "d", "x"))
    assert [spans.text(one.low, one.high) for one in found] == [
        f"{A}.x",
        f"{A}['x']",
        f"{A}.?x",
        f"{A}.x",
    ]
